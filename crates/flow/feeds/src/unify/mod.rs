//! From an offer as the seller wrote it to the one that is published: one file per part of it.

mod category;
mod contacts;
mod html;
mod links;
mod measures;
mod place;
mod price;

use catalog::{Catalog, Recogniser};
use geo::Places;
use model::limits::{
    MAX_BARCODE_CHARS, MAX_CONTENT_BYTES, MAX_DESCRIPTION_CHARS, MAX_PHOTOS, MAX_TITLE_CHARS,
    MAX_VENDOR_CHARS,
};
use model::{Content, Issue};
use prost::Message as _;

use crate::issue;
use crate::offer::FeedOffer;
use crate::survey::CategoryDecision;

/// What offers are understood by: built once, then only read.
pub struct Knowledge {
    pub recogniser: Recogniser,
    pub places: Places,
}

impl Knowledge {
    pub fn new(catalog: &Catalog, places: Places) -> Self {
        Self { recogniser: catalog.recogniser(), places }
    }

    /// What comes with the program.
    pub fn shipped() -> Self {
        Self::new(&Catalog::shipped(), Places::shipped())
    }
}

/// What the feed's owner has set for offers that do not say it themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub currency: String,
    pub address: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { currency: "RUB".into(), address: String::new() }
    }
}

/// The same offer, knowledge and settings give the same content, byte for byte.
pub fn unify(offer: &FeedOffer, knowledge: &Knowledge, settings: &Settings) -> (Content, Vec<Issue>) {
    unify_decided(offer, knowledge, settings, None)
}

/// The same, where a survey has decided what the offer's category path means.
pub fn unify_decided(
    offer: &FeedOffer,
    knowledge: &Knowledge,
    settings: &Settings,
    decided: Option<&CategoryDecision>,
) -> (Content, Vec<Issue>) {
    let mut issues = Vec::new();
    let title = limited(html::line(&offer.title), "title", MAX_TITLE_CHARS, &mut issues);
    if title.is_empty() {
        issues.push(issue::error("required", "title", ""));
    }
    let category_id = category::recognise(offer, &title, knowledge, decided, &mut issues);
    let attributes = match category_id.as_str() {
        "" => Vec::new(),
        category => category::attributes(offer, category, &title, knowledge, &mut issues),
    };
    let mut images: Vec<String> = Vec::new();
    for image in &offer.images {
        let link = links::image(image, &mut issues);
        if !link.is_empty() && !images.contains(&link) {
            images.push(link);
        }
    }
    if images.len() > MAX_PHOTOS {
        let numbers = [images.len().to_string(), MAX_PHOTOS.to_string()];
        issues.push(issue::with(issue::warning("too_many", "images", ""), &[&numbers[0], &numbers[1]]));
        images.truncate(MAX_PHOTOS);
    }
    let content = Content {
        category_id,
        catalog_version: knowledge.recogniser.catalog().version(),
        title,
        description: limited(
            html::text(&offer.description),
            "description",
            MAX_DESCRIPTION_CHARS,
            &mut issues,
        ),
        price: price::price(offer, settings, &mut issues),
        condition: price::condition(&offer.condition, &mut issues).into(),
        attributes,
        photo_urls: images,
        video_url: links::link("video", &offer.video, &mut issues),
        location: place::location(offer, knowledge, settings, &mut issues),
        contacts: contacts::contacts(offer, &mut issues),
        vendor: limited(html::line(&offer.vendor), "vendor", MAX_VENDOR_CHARS, &mut issues),
        barcode: limited(html::line(&offer.barcode), "barcode", MAX_BARCODE_CHARS, &mut issues),
        weight_grams: measures::grams(offer, &mut issues),
        dimensions: measures::dimensions(offer, &mut issues),
        url: links::link("url", &offer.url, &mut issues),
    };
    let bytes = content.encoded_len();
    if bytes > MAX_CONTENT_BYTES {
        let numbers = [bytes.to_string(), MAX_CONTENT_BYTES.to_string()];
        issues.push(issue::with(issue::error("too_large", "", ""), &[&numbers[0], &numbers[1]]));
    }
    (content, issues)
}

/// Sixteen bytes by which a content is known again.
pub fn fingerprint(content: &Content) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&blake3::hash(&content.encode_to_vec()).as_bytes()[..16]);
    bytes
}

/// A longer text is cut, and a warning says so.
fn limited(text: String, field: &str, most: usize, issues: &mut Vec<Issue>) -> String {
    // Few texts have more bytes than they may have characters.
    if text.len() <= most {
        return text;
    }
    let Some((end, _)) = text.char_indices().nth(most) else { return text };
    let numbers = [text.chars().count().to_string(), most.to_string()];
    issues.push(issue::with(issue::warning("shortened", field, &text), &[&numbers[0], &numbers[1]]));
    text[..end].trim_end().to_owned()
}
