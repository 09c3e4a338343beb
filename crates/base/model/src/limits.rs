//! How much an offer's fields may hold. The feed's schema, unify, the API's validation and the docs all say what stands
//! here, so that what a feed brings can always be edited by hand, and the other way round.

use crate::fields::FIELDS;

/// Of all that a seller writes of one offer, encoded.
pub const MAX_CONTENT_BYTES: usize = 102_400;

pub const MAX_TITLE_CHARS: usize = 300;
pub const MAX_DESCRIPTION_CHARS: usize = 50_000;
pub const MAX_VENDOR_CHARS: usize = 256;
pub const MAX_BARCODE_CHARS: usize = 200;
pub const MAX_CONTACT_NAME_CHARS: usize = 256;
pub const MAX_EMAIL_CHARS: usize = 254;
pub const MAX_ADDRESS_CHARS: usize = 512;
/// Of a place's name, which comes from the gazetteer.
pub const MAX_PLACE_CHARS: usize = 256;
pub const MAX_GEO_ID_CHARS: usize = 64;
/// Addresses are ASCII when they are kept, so these are bytes, too.
pub const MAX_URL_CHARS: usize = 2_048;
/// Of a value that an open list of options does not name.
pub const MAX_OPTION_CHARS: usize = 256;

pub const MAX_PHOTOS: usize = 30;
pub const MAX_PHONES: usize = 10;
pub const MAX_ATTRIBUTES: usize = 200;
pub const MAX_VALUES: usize = 50;
/// A hundred tonnes.
pub const MAX_GRAMS: i64 = 100_000_000;
/// A kilometre.
pub const MAX_MM: i64 = 1_000_000;
/// A number beyond it in either direction is no attribute's.
pub const MAX_NUMBER: f64 = 1e15;

/// The texts of the content by their paths, with the characters that each may have.
pub fn texts() -> impl Iterator<Item = (&'static str, usize)> {
    let plain = FIELDS.iter().filter_map(|field| Some((field.path, field.max_chars()?)));
    let parts = [
        ("contacts.name", MAX_CONTACT_NAME_CHARS),
        ("contacts.email", MAX_EMAIL_CHARS),
        ("location.address", MAX_ADDRESS_CHARS),
    ];
    plain.chain(parts)
}
