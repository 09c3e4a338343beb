//! Logs of records by which the systems talk: append, read in order, commit a position.
//!
//! A topic is a number of partitions, a partition a sequence of records at growing offsets. Records of one key share a
//! partition ([`partition`], the function of Kafka's Java client) and so keep their order. Two backends stand behind
//! one trait ([`backend::Backend`]) and one conformance suite: `embedded:` keeps records in tables of the store,
//! `kafka://…` in Kafka. What they have in common is [`Topics`].
//!
//! The way of a change, and what holds at each step:
//! - **[`outbox::send`]** writes a message in the transaction that makes the change, so both happen or none.
//! - **[`relay::run`]** sends the outbox of each shard in order, under the shard's work token: *at least once, in order
//!   per key*. At most one row of a key is unacknowledged; after a failure everything in flight is waited for, and
//!   it begins again at the first row. The embedded backend notes in the append's own transaction how far the source
//!   has come, so there nothing is appended twice. Rows are deleted once acknowledged, by whoever still holds the
//!   token.
//! - **[`consume::run`]** applies records: *effects once*. Each shard that records touch gets one transaction, which
//!   also writes `applied`, the next offset of that group, topic incarnation and partition; what lies below is skipped.
//!   So a consumer may die anywhere and a partition may have two readers for a while. Positions are committed only
//!   behind what is durable, and may lag. A repeat of the relay comes at a new offset: each topic names the key by
//!   which its consumers know it.
//! - **[`dead_letters`]** take what cannot be decoded, or has failed alone ten times for a reason of its own; a failing
//!   group of records is retried one by one. A failure that may pass stops its partition, nothing else.
//!
//! A topic made anew under its name has another *incarnation* (Kafka's topic id), so its records are not taken for old
//! ones; `applied` beyond a partition's end stops with a sentence, and [`Topics::rewind`] is the way on.
//!
//! Nothing waits for a clock: appends wake readers, sends wake the relay, and a poll every 30 s finds what a lost
//! wake-up left. Both ends of every queue are rows, so nobody scans what was deleted.
//!
//! What is not done here: encoding of payloads (systems do that), HTTP (the server does), and changing the number of
//! partitions, which would tear keys apart and is refused.

pub mod backend;
mod browse;
pub mod conformance;
pub mod consume;
mod embedded;
pub mod failures;
mod kafka;
mod metrics;
pub mod outbox;
pub mod partition;
mod record;
pub mod relay;
mod retention;
mod subscription;
mod tables;
mod tokens;
mod topics;

pub use backend::{Description, Ends};
pub use browse::{Lag, TopicInfo};
pub use failures::dead_letters;
pub use kit::{Error, Kind, Result};
pub use record::{Headers, Message, Placed, Position, Record};
pub use subscription::Subscription;
pub use tables::{RecordRow, tables};
pub use topics::{Options, To, Topics, check_name};

/// Largest message: key, payload and headers. Kafka's topics are made for 4 MiB, of which it needs some for itself.
pub const MAX_MESSAGE_BYTES: usize = (4 << 20) - (64 << 10);
