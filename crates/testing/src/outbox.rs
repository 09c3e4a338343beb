//! The outbox as it is stored: what was sent is read here, without a relay.

use store::{Space, Table};

#[derive(Clone, PartialEq, prost::Message, serde::Serialize)]
pub struct OutboxRow {
    #[prost(string, tag = "1")]
    pub topic: String,
    #[prost(message, repeated, tag = "2")]
    pub messages: Vec<OutboxMessage>,
}

#[derive(Clone, PartialEq, prost::Message, serde::Serialize)]
pub struct OutboxMessage {
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub payload: Vec<u8>,
}

pub const OUTBOX: Table<(i64,), OutboxRow> = Table::new("topics", "outbox", &["seq"], Space::Queue);
