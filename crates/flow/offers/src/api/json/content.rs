//! What the seller writes. Reading and writing have the same form, so that what was read can be sent back; what Dvor
//! adds to it (names, sizes of photos) is ignored on the way in.

use std::collections::BTreeMap;

use model::fields::FIELDS;
use model::{
    Attribute, Condition, Contacts, Content, Dimensions, Issue, Level, Location, Money, Photo, PhotoState,
    Value, money,
};
use serde::{Deserialize, Serialize};
use serde_json::Map;
use web::{FieldError, Problem};
use wire::model::value::Kind;

use super::Reader;
use crate::api::body::typed;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct ContentJson {
    pub category: Option<CategoryJson>,
    pub title: Option<String>,
    pub description: Option<String>,
    pub price: Option<MoneyJson>,
    pub condition: Option<ConditionJson>,
    pub attributes: Vec<AttributeJson>,
    pub photos: Vec<PhotoJson>,
    pub video_url: Option<String>,
    pub location: Option<LocationJson>,
    pub contacts: Option<ContactsJson>,
    pub vendor: Option<String>,
    pub barcode: Option<String>,
    #[schema(minimum = 0, maximum = 100_000_000)]
    pub weight_grams: Option<i64>,
    pub dimensions: Option<DimensionsJson>,
    pub url: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CategoryJson {
    pub id: String,
    /// Names from the root down; ignored when written.
    #[serde(default)]
    pub path: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MoneyJson {
    /// A decimal number such as `1299.00`.
    pub amount: String,
    /// Three letters of ISO 4217.
    pub currency: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConditionJson {
    New,
    Used,
    Refurbished,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AttributeJson {
    pub id: String,
    /// In the reader's language; ignored when written.
    #[serde(default)]
    pub name: Option<String>,
    /// Of an enum: the id (or the name) of its value. Several values are a list.
    pub value: ValuesJson,
    /// The value of an enum in the reader's language; ignored when written.
    #[serde(default)]
    pub label: Option<String>,
    /// Of a number; without it the attribute's own unit.
    #[serde(default)]
    pub unit: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum ValuesJson {
    One(ValueJson),
    Several(Vec<ValueJson>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum ValueJson {
    Flag(bool),
    #[serde(serialize_with = "number")]
    Number(f64),
    Text(String),
}

/// A whole number has no point: `128`, not `128.0`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn number<S: serde::Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if !number.is_finite() || number.fract().abs() > 0.0 || number.abs() >= 1e15 {
        serializer.serialize_f64(*number)
    } else {
        serializer.serialize_i64(*number as i64)
    }
}

/// Only the url is written; the rest tells how far its photo is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PhotoJson {
    #[schema(required)]
    pub url: String,
    /// `waiting`, `ready` or `failed`.
    pub state: Option<String>,
    /// By the length of the long side.
    #[schema(read_only)]
    pub sizes: BTreeMap<String, SizeJson>,
    pub error: Option<MediaErrorJson>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeJson {
    pub url: String,
    pub width: u32,
    pub height: u32,
}

/// What is wrong with a photo or a video.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MediaErrorJson {
    pub code: String,
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LocationJson {
    #[schema(minimum = -90, maximum = 90)]
    pub lat: Option<f64>,
    #[schema(minimum = -180, maximum = 180)]
    pub lon: Option<f64>,
    pub address: Option<String>,
    pub geo_id: Option<String>,
    pub name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ContactsJson {
    pub name: Option<String>,
    pub phones: Vec<String>,
    pub email: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DimensionsJson {
    #[schema(minimum = 0, maximum = 1_000_000)]
    pub length_mm: i64,
    #[schema(minimum = 0, maximum = 1_000_000)]
    pub width_mm: i64,
    #[schema(minimum = 0, maximum = 1_000_000)]
    pub height_mm: i64,
}

impl ContentJson {
    /// Reads what was written. Unknown fields are refused here and not by the derive, since the description of the API
    /// lays these fields out among others, and there a closed object would refuse its neighbours.
    pub fn parse(fields: Map<String, serde_json::Value>) -> web::Result<Self> {
        let is_known = |name: &str| FIELDS.iter().any(|field| field.json == Some(name));
        let unknown: Vec<_> = fields
            .keys()
            .filter(|field| !is_known(field))
            .map(|field| FieldError {
                field: field.clone(),
                code: "unknown_field".to_owned(),
                message: format!("there is no field {field:?} that can be written"),
            })
            .collect();
        if unknown.is_empty() {
            typed(serde_json::Value::Object(fields))
        } else {
            Err(Problem::fields(unknown))
        }
    }

    /// The content as it is read, with the states of its photos.
    pub fn read(content: &Content, photos: &[Photo], reader: Reader<'_>) -> Self {
        let category = (!content.category_id.is_empty()).then(|| CategoryJson {
            id: content.category_id.clone(),
            path: reader
                .catalog
                .path(&content.category_id, reader.language)
                .into_iter()
                .map(str::to_owned)
                .collect(),
        });
        Self {
            category,
            title: text(&content.title),
            description: text(&content.description),
            price: content.price.as_ref().map(MoneyJson::of),
            condition: condition(content.condition()),
            attributes: content
                .attributes
                .iter()
                .map(|attribute| attribute_json(attribute, reader))
                .collect(),
            photos: content.photo_urls.iter().map(|url| photo_json(url, photos, reader)).collect(),
            video_url: text(&content.video_url),
            location: content.location.as_ref().map(location_json),
            contacts: content.contacts.as_ref().map(|contacts| ContactsJson {
                name: text(&contacts.name),
                phones: contacts.phones.clone(),
                email: text(&contacts.email),
            }),
            vendor: text(&content.vendor),
            barcode: text(&content.barcode),
            weight_grams: (content.weight_grams != 0).then_some(content.weight_grams),
            dimensions: content.dimensions.map(|size| DimensionsJson {
                length_mm: size.length_mm,
                width_mm: size.width_mm,
                height_mm: size.height_mm,
            }),
            url: text(&content.url),
        }
    }

    /// The content that was written. Amounts that are none are issues.
    pub fn write(self) -> Result<Content, Vec<Issue>> {
        let mut issues = Vec::new();
        let price = self.price.and_then(|price| price.write(&mut issues));
        let value = |value: ValueJson| Value {
            kind: Some(match value {
                ValueJson::Flag(flag) => Kind::Flag(flag),
                ValueJson::Number(number) => Kind::Number(number),
                ValueJson::Text(text) => Kind::Text(text),
            }),
        };
        let attribute = |attribute: AttributeJson| Attribute {
            id: attribute.id,
            values: match attribute.value {
                ValuesJson::One(one) => vec![value(one)],
                ValuesJson::Several(several) => several.into_iter().map(value).collect(),
            },
            unit: attribute.unit.unwrap_or_default(),
        };
        let content = Content {
            category_id: self.category.map(|category| category.id).unwrap_or_default(),
            catalog_version: 0,
            title: self.title.unwrap_or_default(),
            description: self.description.unwrap_or_default(),
            price,
            condition: self.condition.map_or(Condition::Unspecified, ConditionJson::write).into(),
            attributes: self.attributes.into_iter().map(attribute).collect(),
            photo_urls: self.photos.into_iter().map(|photo| photo.url).collect(),
            video_url: self.video_url.unwrap_or_default(),
            location: self.location.map(LocationJson::write),
            contacts: self.contacts.map(|contacts| Contacts {
                name: contacts.name.unwrap_or_default(),
                phones: contacts.phones,
                email: contacts.email.unwrap_or_default(),
            }),
            vendor: self.vendor.unwrap_or_default(),
            barcode: self.barcode.unwrap_or_default(),
            weight_grams: self.weight_grams.unwrap_or_default(),
            dimensions: self.dimensions.map(|size| Dimensions {
                length_mm: size.length_mm,
                width_mm: size.width_mm,
                height_mm: size.height_mm,
            }),
            url: self.url.unwrap_or_default(),
        };
        if issues.is_empty() { Ok(content) } else { Err(issues) }
    }
}

impl MoneyJson {
    pub fn of(money: &Money) -> Self {
        Self { amount: money::amount(money), currency: money.currency.clone() }
    }

    fn write(&self, issues: &mut Vec<Issue>) -> Option<Money> {
        let (code, field, value) = match money::parse(&self.amount, &self.currency) {
            Ok(money) => return Some(money),
            Err(money::BadMoney::Currency) => ("bad_currency", "price.currency", &self.currency),
            Err(_) => ("bad_amount", "price.amount", &self.amount),
        };
        issues.push(Issue {
            level: Level::Error.into(),
            code: code.to_owned(),
            field: field.to_owned(),
            value: value.chars().take(100).collect(),
            ..Issue::default()
        });
        None
    }
}

impl MediaErrorJson {
    pub fn of(error: &Issue, reader: Reader<'_>) -> Self {
        Self { code: error.code.clone(), message: model::message::render(error, reader.language) }
    }
}

impl ConditionJson {
    fn write(self) -> Condition {
        match self {
            Self::New => Condition::New,
            Self::Used => Condition::Used,
            Self::Refurbished => Condition::Refurbished,
        }
    }
}

impl LocationJson {
    fn write(self) -> Location {
        Location {
            lat: self.lat,
            lon: self.lon,
            address: self.address.unwrap_or_default(),
            geo_id: self.geo_id.unwrap_or_default(),
            name: self.name.unwrap_or_default(),
        }
    }
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn condition(condition: Condition) -> Option<ConditionJson> {
    match condition {
        Condition::Unspecified => None,
        Condition::New => Some(ConditionJson::New),
        Condition::Used => Some(ConditionJson::Used),
        Condition::Refurbished => Some(ConditionJson::Refurbished),
    }
}

fn location_json(location: &Location) -> LocationJson {
    LocationJson {
        lat: location.lat,
        lon: location.lon,
        address: text(&location.address),
        geo_id: text(&location.geo_id),
        name: text(&location.name),
    }
}

fn attribute_json(attribute: &Attribute, reader: Reader<'_>) -> AttributeJson {
    let known = reader.catalog.attribute(&attribute.id);
    let language = reader.language;
    let label = |id: &str| match known.map(|known| &known.kind) {
        Some(catalog::AttributeKind::Enum { values, .. }) => {
            values.iter().find(|value| value.id == id).map(|value| value.names.get(language).to_owned())
        }
        _ => None,
    };
    let labels: Vec<_> = attribute
        .values
        .iter()
        .filter_map(|value| match &value.kind {
            Some(Kind::Option(id)) => label(id),
            _ => None,
        })
        .collect();
    let mut values: Vec<_> = attribute.values.iter().filter_map(value_json).collect();
    let value =
        if values.len() == 1 { ValuesJson::One(values.remove(0)) } else { ValuesJson::Several(values) };
    AttributeJson {
        id: attribute.id.clone(),
        name: known.map(|known| known.names.get(language).to_owned()),
        value,
        label: (!labels.is_empty()).then(|| labels.join(", ")),
        unit: text(&attribute.unit),
    }
}

fn value_json(value: &Value) -> Option<ValueJson> {
    Some(match value.kind.as_ref()? {
        Kind::Flag(flag) => ValueJson::Flag(*flag),
        Kind::Number(number) => ValueJson::Number(*number),
        Kind::Text(text) | Kind::Option(text) => ValueJson::Text(text.clone()),
    })
}

fn photo_json(url: &str, photos: &[Photo], reader: Reader<'_>) -> PhotoJson {
    let Some(photo) = photos.iter().find(|photo| photo.url == url) else {
        return PhotoJson { url: url.to_owned(), ..PhotoJson::default() };
    };
    let state = match photo.state() {
        PhotoState::Unspecified => None,
        PhotoState::Waiting => Some("waiting"),
        PhotoState::Ready => Some("ready"),
        PhotoState::Failed => Some("failed"),
    };
    let size = |size: &model::PhotoSize| {
        let address = format!("/photos/{}/{}", photo.hash, size.size);
        (size.size.to_string(), SizeJson { url: address, width: size.width, height: size.height })
    };
    PhotoJson {
        url: url.to_owned(),
        state: state.map(str::to_owned),
        sizes: photo.sizes.iter().map(size).collect(),
        error: photo.error.as_ref().map(|error| MediaErrorJson::of(error, reader)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_the_api_are_those_of_the_table() {
        let json = serde_json::to_value(ContentJson::default()).unwrap();
        let mut table: Vec<_> = FIELDS.iter().filter_map(|field| field.json).collect();
        table.sort_unstable();
        let mut own: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
        own.sort_unstable();
        assert_eq!(own, table);
    }
}
