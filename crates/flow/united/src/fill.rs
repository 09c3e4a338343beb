//! A seller's offer becomes a shop's part of a united offer: pure.

use catalog::{AttributeKind, Catalog};
use model::names::DEFAULT_NAMESPACE;
use model::{Attribute, Content, OfferId, Status, value};
use wire::united::{
    DataSource, Flag, Offer, OfferContent, OfferMeta, OfferPrice, OfferStatus, OriginalSpecification,
    PartnerContent, PreciseDimensions, PreciseWeight, StringListValue, StringValue, UpdateMeta,
};

/// An offer as united knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Filled {
    pub shop_sku: String,
    /// The seller has it no longer, or will not have it again under this id.
    pub removed: bool,
    pub data: Offer,
}

pub fn fill(catalog: &Catalog, offer: &model::Offer) -> Filled {
    let nothing = Content::default();
    let content = offer.content.as_ref().unwrap_or(&nothing);
    let is_from_feed = offer.origin.as_ref().is_some_and(|origin| !origin.namespace.is_empty());
    let source = if is_from_feed { DataSource::PartnerFeed } else { DataSource::PartnerOffice };
    let meta = UpdateMeta { source: Some(source.into()), timestamp: Some(offer.updated_at) };
    let original = specification(catalog, content, meta);
    let partner = PartnerContent { original: Some(original), original_terms: None };
    let price = content.price.as_ref();
    let published = Flag { meta: None, flag: Some(offer.status() == Status::Active) };
    let data = Offer {
        identifiers: None,
        meta: Some(OfferMeta { version: None, rgb: None, updated_at: Some(offer.updated_at) }),
        status: Some(OfferStatus { published: Some(published), ..OfferStatus::default() }),
        content: Some(OfferContent { partner: Some(partner), master_data: None }),
        price: price
            .map(|price| OfferPrice { minor: Some(price.minor), currency: Some(price.currency.clone()) }),
    };
    Filled { shop_sku: shop_sku(offer), removed: is_over(offer.status()), data }
}

/// Whether the offer ends up in the archive: followers are not told of that move.
fn is_over(status: Status) -> bool {
    matches!(status, Status::Deleted | Status::Expired | Status::SoldHere | Status::SoldElsewhere)
}

/// The shop's id of an offer: the seller's own where there is one, the offer's id where it was made by hand. Two offers of
/// a seller never share one.
pub fn shop_sku(offer: &model::Offer) -> String {
    let origin = offer.origin.clone().unwrap_or_default();
    let id = origin.external_id;
    if origin.namespace.is_empty() {
        return OfferId::from_raw(offer.id).map_or_else(|| offer.id.to_string(), |id| id.to_string());
    }
    let is_ambiguous = id.contains(':') || id.parse::<OfferId>().is_ok();
    if origin.namespace == DEFAULT_NAMESPACE && !is_ambiguous {
        return id;
    }
    format!("{}:{id}", origin.namespace)
}

fn specification(catalog: &Catalog, content: &Content, meta: UpdateMeta) -> OriginalSpecification {
    let text = |text: &str| {
        let said = StringValue { meta: Some(meta), value: Some(text.to_owned()) };
        (!text.is_empty()).then_some(said)
    };
    let list = |texts: &[String]| {
        let said = StringListValue { meta: Some(meta), value: texts.to_vec() };
        (!texts.is_empty()).then_some(said)
    };
    let barcodes: Vec<String> =
        content.barcode.split([',', ';', ' ']).filter(|code| !code.is_empty()).map(str::to_owned).collect();
    let mut original = OriginalSpecification {
        name: text(&content.title),
        description: text(&content.description),
        vendor: text(&content.vendor),
        barcode: list(&barcodes),
        url: text(&content.url),
        pictures: list(&content.photo_urls),
        category: text(&content.category_id),
        ..OriginalSpecification::default()
    };
    let mut measures = Measures::of(content);
    for attribute in &content.attributes {
        let Some(known) = catalog.attribute(&attribute.id) else { continue };
        let Some(parameter) = &known.ssku_parameter else { continue };
        match parameter.id.as_str() {
            "color" => original.color = text(&words(&known.kind, attribute)),
            name => measures.take(name, parameter.unit.as_deref(), attribute),
        }
    }
    original.weight =
        measures.weight_mg.map(|value_mg| PreciseWeight { meta: Some(meta), value_mg: Some(value_mg) });
    original.dimensions = measures.sides().map(|[length, width, height]| PreciseDimensions {
        meta: Some(meta),
        length_mkm: Some(length),
        width_mkm: Some(width),
        height_mkm: Some(height),
    });
    original
}

/// The values of an attribute in words: an option by its Russian name, as sellers write it.
fn words(kind: &AttributeKind, attribute: &Attribute) -> String {
    let word = |value: &model::Value| match &value.kind {
        Some(value::Kind::Text(text)) => Some(text.clone()),
        Some(value::Kind::Option(id)) => match kind {
            AttributeKind::Enum { values, .. } => {
                values.iter().find(|value| value.id == *id).map(|value| value.names.ru.clone())
            }
            _ => Some(id.clone()),
        },
        _ => None,
    };
    attribute.values.iter().filter_map(word).collect::<Vec<_>>().join(", ")
}

/// Sizes from the offer's own fields, and where these are silent from its attributes.
#[derive(Default)]
struct Measures {
    weight_mg: Option<i64>,
    length: Option<i64>,
    width: Option<i64>,
    height: Option<i64>,
    own_sides: bool,
}

impl Measures {
    fn of(content: &Content) -> Self {
        let mut measures = Self::default();
        if content.weight_grams > 0 {
            measures.weight_mg = content.weight_grams.checked_mul(1_000);
        }
        if let Some(sides) = &content.dimensions {
            let side = |mm: i64| if mm > 0 { mm.checked_mul(1_000) } else { None };
            (measures.length, measures.width) = (side(sides.length_mm), side(sides.width_mm));
            measures.height = side(sides.height_mm);
            measures.own_sides = true;
        }
        measures
    }

    fn take(&mut self, parameter: &str, unit: Option<&str>, attribute: &Attribute) {
        let number = attribute.values.iter().find_map(|value| match value.kind {
            Some(value::Kind::Number(number)) => Some(number),
            _ => None,
        });
        let Some(measured) = number.zip(unit).and_then(|(number, unit)| measured(number, unit)) else {
            return;
        };
        let place = match parameter {
            "weight" => &mut self.weight_mg,
            "length" | "depth" if !self.own_sides => &mut self.length,
            "width" if !self.own_sides => &mut self.width,
            "height" if !self.own_sides => &mut self.height,
            _ => return,
        };
        place.get_or_insert(measured);
    }

    /// A box has three sides.
    fn sides(&self) -> Option<[i64; 3]> {
        Some([self.length?, self.width?, self.height?])
    }
}

/// A number in milligrams or micrometres.
fn measured(number: f64, unit: &str) -> Option<i64> {
    let factor = match unit {
        "kg" | "m" => 1_000_000.0,
        "g" | "mm" => 1_000.0,
        "cm" => 10_000.0,
        "mg" => 1.0,
        _ => return None,
    };
    let measured = (number * factor).round();
    (1.0..=1e15).contains(&measured).then_some(measured as i64)
}

#[cfg(test)]
mod tests;
