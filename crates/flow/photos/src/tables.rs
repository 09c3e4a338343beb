//! The rows of photos. All live in the shard of the seller.
//!
//! A url can be longer than a key, so its place in a key is taken by the first 16 bytes of its BLAKE3; the row has it.

use store::{Space, Table, TableSpec};
use wire::model::{Issue, Photo, PhotoSize, PhotoState};
use wire::photos::PhotoRequest;

/// Requests not answered yet.
pub const REQUESTS: Table<(String, i64, String), RequestRow> =
    Table::new("photos", "requests", &["seller", "offer", "request"], Space::Queue);

/// What is known of a seller's url.
pub const PHOTO_URLS: Table<(String, Vec<u8>), UrlRow> =
    Table::new("photos", "photo_urls", &["seller", "url_hash"], Space::Small);

/// Which offers use it.
pub const PHOTO_USES: Table<(String, Vec<u8>, i64), ()> =
    Table::new("photos", "photo_uses", &["seller", "url_hash", "offer"], Space::Small);

/// Urls that failed when they were last tried.
pub const PHOTO_ERRORS: Table<(String, Vec<u8>), ErrorRow> =
    Table::new("photos", "photo_errors", &["seller", "url_hash"], Space::Small);

/// (moment, seller, url): when it is looked whether an upload is used.
pub const UPLOADS_DUE: Table<(i64, String, Vec<u8>), ()> =
    Table::new("photos", "uploads_due", &["due_at", "seller", "url_hash"], Space::Queue);

/// What a seller has uploaded in an hour.
pub const UPLOAD_QUOTAS: Table<(String,), QuotaRow> =
    Table::new("photos", "upload_quotas", &["seller"], Space::Small);

pub fn tables() -> Vec<TableSpec> {
    vec![
        REQUESTS.spec(),
        PHOTO_URLS.spec(),
        PHOTO_USES.spec(),
        PHOTO_ERRORS.spec(),
        UPLOADS_DUE.spec(),
        UPLOAD_QUOTAS.spec(),
    ]
}

/// A url's place in keys.
pub fn url_hash(url: &str) -> Vec<u8> {
    blake3::hash(url.as_bytes()).as_bytes()[..16].to_vec()
}

#[derive(Clone, PartialEq, prost::Message, serde::Serialize)]
pub struct RequestRow {
    #[prost(message, optional, tag = "1")]
    pub request: Option<PhotoRequest>,
    /// Urls that the offer has let go since.
    #[prost(string, repeated, tag = "2")]
    pub released_urls: Vec<String>,
    #[prost(int64, tag = "3")]
    pub received_at: i64,
}

#[derive(Clone, PartialEq, prost::Message, serde::Serialize)]
pub struct UrlRow {
    #[prost(string, tag = "1")]
    pub url: String,
    /// Of the photo's file.
    #[prost(bytes = "vec", tag = "2")]
    pub hash: Vec<u8>,
    /// Under which the file is held.
    #[prost(string, tag = "3")]
    pub referrer: String,
    #[prost(uint32, tag = "4")]
    pub width: u32,
    #[prost(uint32, tag = "5")]
    pub height: u32,
    #[prost(message, repeated, tag = "6")]
    pub sizes: Vec<PhotoSize>,
    #[prost(fixed64, tag = "7")]
    pub likeness: u64,
    #[prost(int64, tag = "8")]
    pub stored_at: i64,
    #[prost(uint32, tag = "9")]
    pub sharpness: u32,
    #[prost(uint32, tag = "10")]
    pub exposure: u32,
}

#[derive(Clone, PartialEq, prost::Message, serde::Serialize)]
pub struct QuotaRow {
    #[prost(int64, tag = "1")]
    pub hour: i64,
    #[prost(int64, tag = "2")]
    pub uploads: i64,
    #[prost(int64, tag = "3")]
    pub bytes: i64,
}

#[derive(Clone, PartialEq, prost::Message, serde::Serialize)]
pub struct ErrorRow {
    #[prost(string, tag = "1")]
    pub url: String,
    #[prost(message, optional, tag = "2")]
    pub issue: Option<Issue>,
    #[prost(int64, tag = "3")]
    pub failed_at: i64,
}

impl UrlRow {
    pub fn file_hash(&self) -> Option<files::Hash> {
        Some(files::Hash::from_bytes(self.hash.as_slice().try_into().ok()?))
    }

    /// As offers know it.
    pub fn photo(&self) -> Photo {
        Photo {
            url: self.url.clone(),
            state: PhotoState::Ready.into(),
            hash: self.file_hash().map_or_else(String::new, |hash| hash.to_string()),
            width: self.width,
            height: self.height,
            sizes: self.sizes.clone(),
            error: None,
            likeness: self.likeness,
            sharpness: self.sharpness,
            exposure: self.exposure,
        }
    }
}
