//! Offers as JSON, exactly as the conventions of the API have it, both ways.

mod content;
mod draft;
mod offer;
mod patch;

pub use content::{
    AttributeJson, CategoryJson, ConditionJson, ContactsJson, ContentJson, DimensionsJson, LocationJson,
    MediaErrorJson, MoneyJson, PhotoJson, SizeJson, ValueJson, ValuesJson,
};
pub use draft::DraftJson;
pub use offer::{EventJson, FieldChangeJson, OfferJson, OriginJson, StatusJson, WhoJson};
pub use patch::{merge, patched};

use catalog::Catalog;
use web::Language;

/// What a message needs to become words.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    pub catalog: &'a Catalog,
    pub language: Language,
}
