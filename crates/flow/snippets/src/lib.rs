//! Small documents that are up at once: uploaded by HTTP or from topics, validated, converted, found by key.
//!
//! A snippet is not in the search index; it is glued to results when they are served. So a write must be visible to the
//! next read, and a read must cost next to nothing. Both are one transaction or one question of the store, in the shard of
//! the key.
//!
//! What a snippet is, is configured, not programmed ([`config`]): a tree of sections in protobuf text format, each
//! inheriting from the one around it. A section can be a snippet, a group, or both; a write to a group makes every snippet
//! that its `Recursive` names, of the same content and in one transaction, so a reader sees all of them or none.
//!
//! The way of content, the same for HTTP and topics: `content.rs` (is it in its format?) → [`Validator`]s → [`Convertor`]
//! (a document per language) → the schema of the output → `put.rs`. Over HTTP everything up to `put.rs` happens before
//! the transaction begins; messages of a topic that meet in a shard share one. New validators and convertors are added in `registry.rs`, or need no program at all: a JSON
//! schema, a description of messages, or a jq file beside the configuration (`jq/`, within limits).
//!
//! Guarantees:
//! - an acknowledged PUT is durable and what the next GET gives; all documents of a request change together;
//! - what has expired is never served: expiry is checked at every read, and `sweep.rs` only gives the space back;
//! - a message of a topic has its effect once. One that cannot be stored waits in the lane of retries (`retry.rs`) and ends
//!   as a dead letter (`letters.rs`), never in silence;
//! - nothing late overwrites what is newer: letters know what was written since they failed, rows know the version of their
//!   source, and a topic's delete leaves a tombstone for a day;
//! - a key prefix belongs to one snippet for ever (`prefixes.rs`, and `agree.rs` for the store's copy of the map).
//!
//! Not here: listening, access tokens and limits (the server's), and what a snippet means (the searcher's).

mod address;
mod agree;
pub mod api;
mod by_hand;
mod condition;
pub mod config;
mod consume;
mod content;
mod convertors;
mod defaults;
mod delete;
mod descriptors;
mod error;
mod extractors;
mod format;
pub mod fuzzing;
mod get;
mod hashes;
mod jq;
mod json;
mod letters;
mod lookup;
mod metrics;
pub mod prefixes;
mod prepare;
mod put;
mod registry;
mod representation;
mod retry;
mod settings;
mod snippets;
mod start;
mod sweep;
mod tables;
mod validators;

pub use by_hand::Shown;
pub use config::Config;
pub use consume::GROUP;
pub use content::Content;
pub use convertors::{Convertor, Document};
pub use error::{ConfigError, Error, Invalid, Refusal, Result};
pub use extractors::Extractor;
pub use format::Format;
pub use letters::{Letter, LetterId};
pub use registry::{Making, Registry};
pub use settings::Settings;
pub use snippets::{ROLE, Snippets, drop_snippet, read, write_prefixes};
pub use tables::tables;
pub use validators::Validator;
