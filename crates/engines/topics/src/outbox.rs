//! What a transaction wants to send, kept with what it changed.

use store::{Read as _, Tx};

use crate::tables::{HeaderRow, MessageRow, OUTBOX, OUTBOX_ENDS, OutboxRow};
use crate::topics::check_name;
use crate::{Message, Result};

/// Most bytes of one row, and so of one message that goes through the outbox.
pub const MAX_ROW_BYTES: usize = 1 << 20;
/// Room for lengths and tags around a message and each of its headers in their row.
const OVERHEAD_BYTES: usize = 32;

pub(crate) const NEXT: &str = "next";
pub(crate) const FIRST: &str = "first";

/// Sends messages once the transaction has committed: each of a key in the order of the calls, at least once. Many
/// messages of one call share rows.
pub async fn send(tx: &mut Tx, topic: &str, messages: Vec<Message>) -> Result<()> {
    send_numbered(tx, topic, messages).await.map(drop)
}

/// The same, and gives the number of the first row: it grows from call to call of the shard, and none comes twice.
/// `None`: there was nothing to send.
pub async fn send_numbered(tx: &mut Tx, topic: &str, messages: Vec<Message>) -> Result<Option<i64>> {
    check_name("topic", topic)?;
    if messages.is_empty() {
        return Ok(None);
    }
    let mut seq = tx.get(&OUTBOX_ENDS, (NEXT,)).await?.unwrap_or(0);
    let first = seq;
    let mut row = OutboxRow { topic: topic.to_owned(), messages: Vec::new() };
    let mut bytes = 0;
    let trace = kit::trace::current();
    for message in messages {
        let message = message.traced(trace.as_deref(), MAX_ROW_BYTES / 2);
        let overhead = OVERHEAD_BYTES * (2 + message.headers.len());
        message.check_size(MAX_ROW_BYTES.saturating_sub(overhead))?;
        let size = message.size() + overhead;
        if bytes + size > MAX_ROW_BYTES {
            tx.put(&OUTBOX, (seq,), &row)?;
            row.messages.clear();
            (seq, bytes) = (seq + 1, 0);
        }
        bytes += size;
        row.messages.push(message.into());
    }
    tx.put(&OUTBOX, (seq,), &row)?;
    tx.put(&OUTBOX_ENDS, (NEXT,), &(seq + 1))?;
    tx.wake("relay");
    Ok(Some(first))
}

/// Rows that wait to be sent. Whoever sends much in the background waits while there are many.
pub async fn backlog(tx: &Tx) -> Result<i64> {
    let ends = tx.get_many(&OUTBOX_ENDS, [(FIRST,), (NEXT,)]).await?;
    let at = |index: usize| ends.get(index).copied().flatten().unwrap_or(0);
    Ok((at(1) - at(0)).max(0))
}

impl From<Message> for MessageRow {
    fn from(message: Message) -> Self {
        let Message { key, payload, headers } = message;
        Self { key, payload, headers: header_rows(headers) }
    }
}

impl From<MessageRow> for Message {
    fn from(row: MessageRow) -> Self {
        let MessageRow { key, payload, headers } = row;
        Self {
            key,
            payload,
            headers: headers.into_iter().map(|HeaderRow { name, value }| (name, value)).collect(),
        }
    }
}

pub(crate) fn header_rows(headers: crate::Headers) -> Vec<HeaderRow> {
    headers.into_iter().map(|(name, value)| HeaderRow { name, value }).collect()
}
