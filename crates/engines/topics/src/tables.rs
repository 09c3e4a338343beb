//! The tables of system `topics`, in all shards.
//!
//! Partition `p` of every embedded topic lives in shard `p`; the rows of a topic itself in the shard of its name; the
//! outbox and `applied` in the shard of whoever writes or applies; dead letters in shard `partition mod 1,024`.

use bytes::Bytes;
use kit::Timestamp;
use prost::Message;
use serde::Serialize;
use store::{Space, Table, TableSpec};

use crate::Record;
use crate::outbox::header_rows;

const SYSTEM: &str = "topics";

/// What waits to be sent, by number within the shard.
pub(crate) const OUTBOX: Table<(i64,), OutboxRow> = Table::new(SYSTEM, "outbox", &["seq"], Space::Queue);
/// Both ends of the shard's outbox, so that a scan does not begin among deleted rows.
pub(crate) const OUTBOX_ENDS: Table<(String,), i64> =
    Table::new(SYSTEM, "outbox_ends", &["name"], Space::Small);
/// The topics of the embedded backend.
pub(crate) const TOPICS: Table<(String,), TopicRow> = Table::new(SYSTEM, "topics", &["topic"], Space::Small);
/// Groups that have read a topic, on every backend, so that people can list them.
pub(crate) const GROUPS: Table<(String, String), GroupRow> =
    Table::new(SYSTEM, "groups", &["topic", "reader_group"], Space::Small);
/// Both ends of an embedded partition.
pub(crate) const PARTITIONS: Table<(String,), PartitionRow> =
    Table::new(SYSTEM, "partitions", &["topic"], Space::Small);
/// The records of an embedded partition.
pub(crate) const RECORDS: Table<(String, i64), RecordRow> =
    Table::new(SYSTEM, "records", &["topic", "position"], Space::Queue);
/// How far a group has come in an embedded partition.
pub(crate) const POSITIONS: Table<(String, String), PositionRow> =
    Table::new(SYSTEM, "positions", &["topic", "reader_group"], Space::Small);
/// The last outbox row of a source shard that an embedded partition holds.
pub(crate) const RELAYED: Table<(String, u32), i64> =
    Table::new(SYSTEM, "relayed", &["topic", "source"], Space::Small);
/// The next offset whose effect this shard does not have yet, by group, topic incarnation and partition.
pub(crate) const APPLIED: Table<(String, String, u32), AppliedRow> =
    Table::new(SYSTEM, "applied", &["reader_group", "incarnation", "partition"], Space::Small);
/// How far a group has come as a whole, where the broker keeps positions of its own; in the group's shard.
pub(crate) const CHECKPOINTS: Table<(String, String, u32), AppliedRow> =
    Table::new(SYSTEM, "checkpoints", &["reader_group", "incarnation", "partition"], Space::Small);
/// Records that could not be applied: why, and what they are.
pub(crate) const DEAD_LETTERS: Table<LetterKey, DeadLetterRow> =
    Table::new(SYSTEM, "dead_letters", LETTER_COLUMNS, Space::Small);
pub(crate) const DEAD_LETTER_BODIES: Table<LetterKey, RecordRow> =
    Table::new(SYSTEM, "dead_letter_bodies", LETTER_COLUMNS, Space::Large);
/// Dead letters that somebody wants to be tried again.
pub(crate) const RETRIES: Table<LetterKey, ()> = Table::new(SYSTEM, "retries", LETTER_COLUMNS, Space::Queue);
/// Dead letters that were applied after all, in the shard of their effect. A mark outlives its letter: a process that is
/// about to apply the letter may know of it from before.
pub(crate) const RETRIED: Table<LetterKey, RetriedRow> =
    Table::new(SYSTEM, "retried", LETTER_COLUMNS, Space::Small);

/// Group, topic, incarnation, partition, offset.
pub(crate) type LetterKey = (String, String, String, u32, i64);
const LETTER_COLUMNS: &[&str] = &["reader_group", "topic", "incarnation", "partition", "position"];

/// The tables to declare in the schema of every process.
pub fn tables() -> Vec<TableSpec> {
    vec![
        OUTBOX.spec(),
        OUTBOX_ENDS.spec(),
        TOPICS.spec(),
        GROUPS.spec(),
        PARTITIONS.spec(),
        RECORDS.spec(),
        POSITIONS.spec(),
        RELAYED.spec(),
        APPLIED.spec(),
        CHECKPOINTS.spec(),
        DEAD_LETTERS.spec(),
        DEAD_LETTER_BODIES.spec(),
        RETRIES.spec(),
        RETRIED.spec(),
    ]
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct HeaderRow {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct OutboxRow {
    #[prost(string, tag = "1")]
    pub(crate) topic: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) messages: Vec<MessageRow>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct MessageRow {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) key: Vec<u8>,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) payload: Bytes,
    #[prost(message, repeated, tag = "3")]
    pub(crate) headers: Vec<HeaderRow>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct TopicRow {
    #[prost(uint32, tag = "1")]
    pub(crate) partitions: u32,
    #[prost(string, tag = "2")]
    pub(crate) incarnation: String,
    #[prost(int64, tag = "3")]
    pub(crate) created_at: i64,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct GroupRow {
    #[prost(int64, tag = "1")]
    pub(crate) first_seen_at: i64,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct PartitionRow {
    /// The offset of the first record that is kept.
    #[prost(int64, tag = "1")]
    pub(crate) low: i64,
    /// The offset of the next record to come.
    #[prost(int64, tag = "2")]
    pub(crate) high: i64,
    #[prost(uint64, tag = "3")]
    pub(crate) bytes: u64,
    /// When the first record that is kept was appended; retention looks at nothing else.
    #[prost(int64, tag = "4")]
    pub(crate) oldest_at: i64,
}

/// A record as rows keep it, without its place; systems that keep a message of their own keep it so, too.
#[derive(Clone, PartialEq, Message, Serialize)]
pub struct RecordRow {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) key: Vec<u8>,
    #[prost(bytes = "bytes", tag = "2")]
    pub(crate) payload: Bytes,
    #[prost(message, repeated, tag = "3")]
    pub(crate) headers: Vec<HeaderRow>,
    #[prost(int64, tag = "4")]
    pub(crate) timestamp: i64,
}

impl RecordRow {
    /// The record, back in its place.
    pub fn at(self, partition: u32, offset: i64) -> Record {
        let Self { key, payload, headers, timestamp } = self;
        let headers = headers.into_iter().map(|HeaderRow { name, value }| (name, value)).collect();
        Record { partition, offset, key, payload, headers, timestamp: Timestamp(timestamp) }
    }
}

impl From<Record> for RecordRow {
    fn from(Record { key, payload, headers, timestamp, .. }: Record) -> Self {
        Self { key, payload, headers: header_rows(headers), timestamp: timestamp.0 }
    }
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct PositionRow {
    #[prost(int64, tag = "1")]
    pub(crate) next: i64,
    /// Grows when somebody else than the reader moves the position; the reader then starts anew from it.
    #[prost(uint64, tag = "2")]
    pub(crate) moves: u64,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct AppliedRow {
    #[prost(int64, tag = "1")]
    pub(crate) next: i64,
    /// For people: the key holds only the incarnation.
    #[prost(string, tag = "2")]
    pub(crate) topic: String,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct DeadLetterRow {
    #[prost(string, tag = "1")]
    pub(crate) reason: String,
    #[prost(int64, tag = "2")]
    pub(crate) failed_at: i64,
    #[prost(uint32, tag = "3")]
    pub(crate) attempts: u32,
    /// Bytes of key, payload and headers.
    #[prost(uint64, tag = "4")]
    pub(crate) size: u64,
    /// When the letter was made. Of one record there may be another later, when its group was rewound.
    #[prost(int64, tag = "5")]
    pub(crate) buried_at: i64,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(crate) struct RetriedRow {
    /// Which of the record's letters it was.
    #[prost(int64, tag = "1")]
    pub(crate) buried_at: i64,
    #[prost(int64, tag = "2")]
    pub(crate) applied_at: i64,
}
