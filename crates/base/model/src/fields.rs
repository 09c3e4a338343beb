//! The fields of what a seller writes of an offer, each described once. History, patches of the API and of stages,
//! validation and the console's page go by this table, so that a new plain field is a line in the proto and a line here.
//!
//! What cannot be said in a line (an attribute, a price, a place) stands here by its names, with [`Form::Special`], and
//! has code of its own where it is checked and shown.

use std::borrow::Cow;

use wire::model::{Condition, Contacts, Content, Dimensions, Location, Money};

use crate::limits::{
    MAX_BARCODE_CHARS, MAX_DESCRIPTION_CHARS, MAX_GRAMS, MAX_TITLE_CHARS, MAX_URL_CHARS, MAX_VENDOR_CHARS,
};
use crate::money;

/// A field of the content.
pub struct Field {
    /// Its name in the proto: in changes, masks and patches.
    pub path: &'static str,
    /// Its name in the API; `None`: nobody writes it there.
    pub json: Option<&'static str>,
    /// On the console's page of an offer, in English and Russian; `None`: the page shows it in a way of its own.
    pub label: Option<(&'static str, &'static str)>,
    pub form: Form,
    /// Takes the field of the second content over into the first.
    pub copy: fn(&mut Content, &Content),
}

/// What a field holds, and how much of it.
pub enum Form {
    /// A text of one line.
    Line { max_chars: usize, get: fn(&Content) -> &str },
    /// A text of several lines.
    Text { max_chars: usize, get: fn(&Content) -> &str },
    /// A web address.
    Link { get: fn(&Content) -> &str },
    /// From 0, which means that it is not known, to `max`.
    Number { max: i64, get: fn(&Content) -> i64 },
    /// Has parts or rules of its own; as one text for the history.
    Special(fn(&Content) -> String),
    /// Every attribute changes under its own id.
    Attributes,
    /// Never a change that is told: a new catalog would be a change of every offer.
    Untold,
}

impl Field {
    /// The value as one text.
    pub fn text<'a>(&self, content: &'a Content) -> Cow<'a, str> {
        match &self.form {
            Form::Line { get, .. } | Form::Text { get, .. } | Form::Link { get } => get(content).into(),
            Form::Number { get, .. } => get(content).to_string().into(),
            Form::Special(text) => text(content).into(),
            Form::Attributes | Form::Untold => "".into(),
        }
    }

    /// How many characters a plain text may have.
    pub const fn max_chars(&self) -> Option<usize> {
        match &self.form {
            Form::Line { max_chars, .. } | Form::Text { max_chars, .. } => Some(*max_chars),
            Form::Link { .. } => Some(MAX_URL_CHARS),
            _ => None,
        }
    }
}

/// In the order of the proto.
pub static FIELDS: [Field; 16] = [
    Field {
        path: "category_id",
        json: Some("category"),
        label: None,
        form: Form::Special(|content| content.category_id.clone()),
        copy: |to, from| to.category_id.clone_from(&from.category_id),
    },
    Field {
        path: "catalog_version",
        json: None,
        label: None,
        form: Form::Untold,
        copy: |to, from| to.catalog_version = from.catalog_version,
    },
    Field {
        path: "title",
        json: Some("title"),
        label: None,
        form: Form::Line { max_chars: MAX_TITLE_CHARS, get: |content| &content.title },
        copy: |to, from| to.title.clone_from(&from.title),
    },
    Field {
        path: "description",
        json: Some("description"),
        label: None,
        form: Form::Text { max_chars: MAX_DESCRIPTION_CHARS, get: |content| &content.description },
        copy: |to, from| to.description.clone_from(&from.description),
    },
    Field {
        path: "price",
        json: Some("price"),
        label: None,
        form: Form::Special(|content| price_text(content.price.as_ref())),
        copy: |to, from| to.price.clone_from(&from.price),
    },
    Field {
        path: "condition",
        json: Some("condition"),
        label: None,
        form: Form::Special(|content| condition_text(content.condition())),
        copy: |to, from| to.condition = from.condition,
    },
    Field {
        path: "attributes",
        json: Some("attributes"),
        label: None,
        form: Form::Attributes,
        copy: |to, from| to.attributes.clone_from(&from.attributes),
    },
    Field {
        path: "photo_urls",
        json: Some("photos"),
        label: None,
        form: Form::Special(|content| content.photo_urls.join(" ")),
        copy: |to, from| to.photo_urls.clone_from(&from.photo_urls),
    },
    Field {
        path: "video_url",
        json: Some("video_url"),
        label: Some(("Video", "Видео")),
        form: Form::Link { get: |content| &content.video_url },
        copy: |to, from| to.video_url.clone_from(&from.video_url),
    },
    Field {
        path: "location",
        json: Some("location"),
        label: None,
        form: Form::Special(|content| content.location.as_ref().map(place_text).unwrap_or_default()),
        copy: |to, from| to.location.clone_from(&from.location),
    },
    Field {
        path: "contacts",
        json: Some("contacts"),
        label: None,
        form: Form::Special(|content| content.contacts.as_ref().map(contacts_text).unwrap_or_default()),
        copy: |to, from| to.contacts.clone_from(&from.contacts),
    },
    Field {
        path: "vendor",
        json: Some("vendor"),
        label: Some(("Maker", "Производитель")),
        form: Form::Line { max_chars: MAX_VENDOR_CHARS, get: |content| &content.vendor },
        copy: |to, from| to.vendor.clone_from(&from.vendor),
    },
    Field {
        path: "barcode",
        json: Some("barcode"),
        label: Some(("Barcode", "Штрихкод")),
        form: Form::Line { max_chars: MAX_BARCODE_CHARS, get: |content| &content.barcode },
        copy: |to, from| to.barcode.clone_from(&from.barcode),
    },
    Field {
        path: "weight_grams",
        json: Some("weight_grams"),
        label: Some(("Weight, g", "Вес, г")),
        form: Form::Number { max: MAX_GRAMS, get: |content| content.weight_grams },
        copy: |to, from| to.weight_grams = from.weight_grams,
    },
    Field {
        path: "dimensions",
        json: Some("dimensions"),
        label: Some(("Dimensions", "Размеры")),
        form: Form::Special(|content| content.dimensions.as_ref().map(size_text).unwrap_or_default()),
        copy: |to, from| to.dimensions.clone_from(&from.dimensions),
    },
    Field {
        path: "url",
        json: Some("url"),
        label: Some(("Page", "Страница")),
        form: Form::Link { get: |content| &content.url },
        copy: |to, from| to.url.clone_from(&from.url),
    },
];

/// The field of this path.
pub fn by_path(path: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.path == path)
}

/// Whose an offer's field beside the content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Stages may change it.
    Stages,
    /// Sellers, moderators, photos or time change it by ways of their own.
    Others,
}

/// The fields beside the content that a change can have, in the order in which it has them.
pub const BESIDE: [(&str, Owner); 9] = [
    ("status", Owner::Stages),
    ("ban_reasons", Owner::Others),
    ("ban_text", Owner::Others),
    ("origin", Owner::Others),
    ("expires_at", Owner::Others),
    ("predicted_price", Owner::Stages),
    ("photos", Owner::Others),
    ("photo_order", Owner::Stages),
    ("video_error", Owner::Stages),
];

/// `1299.00 RUB`.
pub fn price_text(price: Option<&Money>) -> String {
    price.map(|price| format!("{} {}", money::amount(price), price.currency)).unwrap_or_default()
}

fn condition_text(condition: Condition) -> String {
    condition.as_str_name().to_lowercase()
}

fn place_text(location: &Location) -> String {
    let Location { lat, lon, address, geo_id, name } = location;
    let coordinates = match (lat, lon) {
        (Some(lat), Some(lon)) => format!("{lat},{lon}"),
        _ => String::new(),
    };
    let parts = [address, name, geo_id, &coordinates].into_iter().filter(|part| !part.is_empty());
    parts.cloned().collect::<Vec<_>>().join("; ")
}

fn contacts_text(contacts: &Contacts) -> String {
    format!("{} {} {}", contacts.name, contacts.phones.join(", "), contacts.email).trim().to_owned()
}

fn size_text(size: &Dimensions) -> String {
    format!("{} × {} × {} mm", size.length_mm, size.width_mm, size.height_mm)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use wire::model::{Attribute, Offer};

    use super::*;

    fn names_of(message: impl serde::Serialize) -> BTreeSet<String> {
        let json = serde_json::to_value(message).unwrap();
        json.as_object().unwrap().keys().cloned().collect()
    }

    fn full() -> Content {
        Content {
            category_id: "a".into(),
            catalog_version: 1,
            title: "a".into(),
            description: "a".into(),
            price: Some(Money { minor: 100, currency: "RUB".into() }),
            condition: 1,
            attributes: vec![Attribute { id: "color".into(), ..Attribute::default() }],
            photo_urls: vec!["a".into()],
            video_url: "a".into(),
            location: Some(Location { address: "a".into(), ..Location::default() }),
            contacts: Some(Contacts { name: "a".into(), ..Contacts::default() }),
            vendor: "a".into(),
            barcode: "a".into(),
            weight_grams: 1,
            dimensions: Some(Dimensions::default()),
            url: "a".into(),
        }
    }

    #[test]
    fn every_field_of_the_proto_is_in_the_table() {
        let table: BTreeSet<_> = FIELDS.iter().map(|field| field.path.to_owned()).collect();
        assert_eq!(table, names_of(Content::default()));
        assert_eq!(table.len(), FIELDS.len(), "a field is in the table once");
        // What is neither told as a change nor the seller's is bookkeeping, and stands here by name.
        let kept = [
            "id",
            "seller_id",
            "version",
            "status_before_ban",
            "content",
            "created_at",
            "updated_at",
            "status_at",
            "predicted_from",
            "was_sold",
            "feed_problems",
            "waits_for_photo",
            "due_at",
            "created_by",
            "archived",
        ];
        let mut known: BTreeSet<_> = BESIDE.iter().map(|(path, _)| (*path).to_owned()).collect();
        known.extend(kept.map(str::to_owned));
        assert_eq!(known, names_of(Offer::default()));
    }

    #[test]
    fn a_copied_field_is_that_field_alone() {
        let (none, full) = (Content::default(), full());
        let mut whole = Content::default();
        for field in &FIELDS {
            let mut one = Content::default();
            (field.copy)(&mut one, &full);
            assert_ne!(one, none, "{} is not copied", field.path);
            let others = FIELDS.iter().filter(|other| other.path != field.path);
            for other in others {
                assert_eq!(other.text(&one), other.text(&none), "{} changes {}", field.path, other.path);
            }
            let told = !matches!(field.form, Form::Attributes | Form::Untold);
            assert_eq!(field.text(&one) != field.text(&none), told, "{}", field.path);
            (field.copy)(&mut whole, &full);
        }
        assert_eq!(whole, full);
    }
}
