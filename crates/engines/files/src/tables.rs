//! The rows of files. All live in the shard of the hash.

use kit::Timestamp;
use serde::Serializer;
use store::{Space, Table, TableSpec};

/// What is known of a content: at most one row per hash.
pub const BLOBS: Table<(Vec<u8>,), Blob> = Table::new("files", "blobs", &["hash"], Space::Small);

/// Who holds it, or wants to.
pub const FILE_REFS: Table<(Vec<u8>, String), FileRef> =
    Table::new("files", "file_refs", &["hash", "referrer"], Space::Small);

/// The pending references in the order of their age: how the sweep finds them.
pub const PENDINGS: Table<(Timestamp, Vec<u8>, String), ()> =
    Table::new("files", "pendings", &["since", "hash", "referrer"], Space::Queue);

/// Objects that must go, by when they may: how a deletion that was begun is found.
pub const DELETIONS: Table<(Timestamp, Vec<u8>, i64), ()> =
    Table::new("files", "deletions", &["due", "hash", "generation"], Space::Queue);

/// The last generation given in the shard (one row, named `last`). It only grows, so no object's name comes back.
pub const GENERATIONS: Table<(String,), u64> = Table::new("files", "generations", &["name"], Space::Small);

pub fn tables() -> Vec<TableSpec> {
    vec![BLOBS.spec(), FILE_REFS.spec(), PENDINGS.spec(), DELETIONS.spec(), GENERATIONS.spec()]
}

#[derive(Clone, PartialEq, prost::Message, serde::Serialize)]
pub struct Blob {
    #[prost(enumeration = "BlobState", tag = "1")]
    #[serde(serialize_with = "blob_state_name")]
    pub state: i32,
    #[prost(uint64, tag = "2")]
    pub generation: u64,
    #[prost(uint64, tag = "3")]
    pub size: u64,
    /// Until when a write of this generation that was begun may still arrive, in microseconds since 1970.
    #[prost(int64, tag = "4")]
    pub writes_until: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum BlobState {
    /// An upload has begun; the object may be there.
    Uploading = 0,
    /// The object is there, whole.
    Present = 1,
    /// Nobody holds it; the object is going or gone, and its generation never comes back.
    Deleting = 2,
}

#[derive(Clone, PartialEq, prost::Message, serde::Serialize)]
pub struct FileRef {
    #[prost(enumeration = "RefState", tag = "1")]
    #[serde(serialize_with = "ref_state_name")]
    pub state: i32,
    /// When it came into this state, in microseconds since 1970.
    #[prost(int64, tag = "2")]
    pub since: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum RefState {
    /// Its owner has not said yet that it keeps the file.
    Pending = 0,
    Held = 1,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn blob_state_name<S: Serializer>(state: &i32, serializer: S) -> Result<S::Ok, S::Error> {
    name_or_number(BlobState::try_from(*state).ok(), *state, serializer)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn ref_state_name<S: Serializer>(state: &i32, serializer: S) -> Result<S::Ok, S::Error> {
    name_or_number(RefState::try_from(*state).ok(), *state, serializer)
}

/// People read names; a state of a newer version stays a number.
fn name_or_number<S: Serializer>(
    state: Option<impl std::fmt::Debug>,
    number: i32,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match state {
        Some(state) => serializer.collect_str(&format!("{state:?}").to_lowercase()),
        None => serializer.serialize_i32(number),
    }
}
