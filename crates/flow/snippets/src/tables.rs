//! The tables of system `snippets`. Documents, retries and dead letters live in the shard of the key; the map of key
//! prefixes in one shard of its own.

use bytes::Bytes;
use kit::Timestamp;
use prost::Message;
use serde::Serialize;
use store::{Space, Table, TableSpec};
use topics::RecordRow;

use crate::Format;

const SYSTEM: &str = "snippets";

/// Service, key prefix, key, language.
pub(crate) type DocumentKey = (String, u32, String, String);

/// The documents, and for a while the tombstones of those that a topic deleted.
pub(crate) const DOCUMENTS: Table<DocumentKey, DocumentRow> =
    Table::new(SYSTEM, "documents", &["service", "prefix", "key", "language"], Space::Small);
/// What ends when.
pub(crate) const EXPIRIES: Table<(Timestamp, String, u32, String, String), ()> =
    Table::new(SYSTEM, "expiries", &["expires_at", "service", "prefix", "key", "language"], Space::Queue);
/// Messages that could not be stored yet, or for good: key, topic, partition, offset, section.
pub(crate) const LETTERS: Table<LetterKey, LetterRow> =
    Table::new(SYSTEM, "letters", LETTER_COLUMNS, Space::Small);
pub(crate) const LETTER_BODIES: Table<LetterKey, BodyRow> =
    Table::new(SYSTEM, "letter_bodies", LETTER_COLUMNS, Space::Large);
/// The keys that have letters.
pub(crate) const LETTER_KEYS: Table<(String,), LetterKeyRow> =
    Table::new(SYSTEM, "letter_keys", &["key"], Space::Small);
/// Key, snippet, language: up to which of the key's letters this document is the newer one.
pub(crate) const NEWER: Table<(String, String, String), i64> =
    Table::new(SYSTEM, "newer", &["key", "snippet", "language"], Space::Small);
/// Moment, key, topic, partition, offset, section.
pub(crate) type RetryKey = (Timestamp, String, String, u32, i64, String);
/// Messages to be tried again, by time.
pub(crate) const RETRIES: Table<RetryKey, ()> = Table::new(
    SYSTEM,
    "retries",
    &["not_before", "key", "topic", "partition", "position", "section"],
    Space::Queue,
);
/// The key prefixes as this installation knows them.
pub(crate) const PREFIXES: Table<(String,), PrefixRow> =
    Table::new(SYSTEM, "prefixes", &["name"], Space::Small);
/// Numbers that were given back, and never come again.
pub(crate) const RETIRED: Table<(u32,), RetiredRow> =
    Table::new(SYSTEM, "retired", &["prefix"], Space::Small);
/// Which configuration each process works by.
pub(crate) const LOADED: Table<(String,), LoadedRow> =
    Table::new(SYSTEM, "loaded", &["member"], Space::Small);

pub(crate) type LetterKey = (String, String, u32, i64, String);
const LETTER_COLUMNS: &[&str] = &["key", "topic", "partition", "position", "section"];

/// The tables to declare in the schema of every process.
pub fn tables() -> Vec<TableSpec> {
    vec![
        DOCUMENTS.spec(),
        EXPIRIES.spec(),
        LETTERS.spec(),
        LETTER_BODIES.spec(),
        LETTER_KEYS.spec(),
        NEWER.spec(),
        RETRIES.spec(),
        PREFIXES.spec(),
        RETIRED.spec(),
        LOADED.spec(),
    ]
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct DocumentRow {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) content: Bytes,
    /// The version that the source gave to what this was made of.
    #[prost(int64, optional, tag = "2")]
    pub(crate) source_version: Option<i64>,
    #[prost(int64, tag = "3")]
    pub(crate) written_at: i64,
    #[prost(int64, optional, tag = "4")]
    pub(crate) expires_at: Option<i64>,
    /// A tombstone: there is no document, only the version that it had.
    #[prost(bool, tag = "5")]
    pub(crate) deleted: bool,
    /// Whether a topic wrote it last, not a request.
    #[prost(bool, tag = "6")]
    pub(crate) by_topic: bool,
    /// What the content is written in: the snippet may have another `Output` by now.
    #[prost(enumeration = "Format", tag = "7")]
    pub(crate) format: i32,
}

impl DocumentRow {
    pub(crate) fn is_alive(&self, now: Timestamp) -> bool {
        !self.deleted && self.expires_at.is_none_or(|at| at > now.0)
    }
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct LetterRow {
    #[prost(string, tag = "1")]
    pub(crate) reason: String,
    #[prost(int64, tag = "2")]
    pub(crate) failed_at: i64,
    #[prost(uint32, tag = "3")]
    pub(crate) attempts: u32,
    /// When it is tried again; none for a dead letter.
    #[prost(int64, optional, tag = "4")]
    pub(crate) not_before: Option<i64>,
    /// Letters of one key in the order of their messages.
    #[prost(int64, tag = "5")]
    pub(crate) order: i64,
    /// As the message says it; it may be none.
    #[prost(string, tag = "7")]
    pub(crate) language: String,
    #[prost(uint64, tag = "9")]
    pub(crate) size: u64,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct LetterKeyRow {
    /// How many there are; with the last one the row goes, and with it what stands in `newer`.
    #[prost(int64, tag = "1")]
    pub(crate) letters: i64,
    /// The order of the last one that came.
    #[prost(int64, tag = "2")]
    pub(crate) last: i64,
}

/// The message of a letter, whole: what is tried again is looked at as it was the first time.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct BodyRow {
    /// What it was read as.
    #[prost(string, tag = "2")]
    pub(crate) format: String,
    #[prost(message, required, tag = "3")]
    pub(crate) record: RecordRow,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct PrefixRow {
    #[prost(uint32, tag = "1")]
    pub(crate) number: u32,
    /// Where its documents may lie: a snippet can have been moved. The last one is where it is now.
    #[prost(string, repeated, tag = "2")]
    pub(crate) services: Vec<String>,
}

/// A number that never comes again.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct RetiredRow {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    /// Where its documents were.
    #[prost(string, repeated, tag = "2")]
    pub(crate) services: Vec<String>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct LoadedRow {
    #[prost(string, tag = "1")]
    pub(crate) hash: String,
    #[prost(int64, tag = "2")]
    pub(crate) loaded_at: i64,
}
