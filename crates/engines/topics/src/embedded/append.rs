//! Appending: one transaction per partition touched.

use std::collections::BTreeMap;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use store::{Read as _, Shard, Tx};

use super::{Embedded, shard};
use crate::backend::OutboxBatch;
use crate::outbox::header_rows;
use crate::tables::{PARTITIONS, RECORDS, RELAYED, RecordRow};
use crate::{Message, Placed, Result, partition};

/// Partitions appended to at the same time by one call.
const APPENDS_AT_ONCE: usize = 16;
/// A longer batch becomes several transactions.
const APPEND_BYTES: usize = 8 << 20;

/// A message and its place in the caller's list.
type Numbered = (usize, Message);
/// A message of an outbox row.
type Relayed = (i64, Message);

pub(super) async fn publish(topics: &Embedded, topic: &str, messages: Vec<Message>) -> Result<Vec<Placed>> {
    let partitions = topics.known(topic).await?.partitions;
    let mut placed = vec![Placed { partition: 0, offset: 0 }; messages.len()];
    let mut by_partition: BTreeMap<u32, Vec<Numbered>> = BTreeMap::new();
    for (index, message) in messages.into_iter().enumerate() {
        by_partition.entry(partition::of(&message.key, partitions)).or_default().push((index, message));
    }
    let appends = by_partition.into_iter().map(|(partition, messages)| async move {
        let mut places = Vec::with_capacity(messages.len());
        for messages in in_batches(messages) {
            let indexes: Vec<_> = messages.iter().map(|(index, _)| *index).collect();
            let now = topics.options.clock.now().0;
            let messages = messages.into_iter().map(|(_, message)| message).collect();
            let first = topics
                .store
                .transact(shard(partition), async |tx| append(tx, topic, messages, now).await)
                .await?;
            places.extend(indexes.into_iter().zip(first..).map(|(index, offset)| (index, partition, offset)));
        }
        Ok::<_, crate::Error>(places)
    });
    let places: Vec<_> = stream::iter(appends).buffer_unordered(APPENDS_AT_ONCE).try_collect().await?;
    for (index, partition, offset) in places.into_iter().flatten() {
        placed[index] = Placed { partition, offset };
    }
    Ok(placed)
}

pub(super) async fn relay(topics: &Embedded, source: Shard, rows: Vec<OutboxBatch>) -> Result<()> {
    let mut by_partition: BTreeMap<(u32, String), Vec<Relayed>> = BTreeMap::new();
    for OutboxBatch { seq, topic, messages } in rows {
        let partitions = topics.known(&topic).await?.partitions;
        for (index, message) in messages.into_iter().enumerate() {
            let partition = if message.key.is_empty() {
                // Any partition, but the same one when the row is sent again.
                ((u64::from(source.number()) + seq as u64 + index as u64) % u64::from(partitions)) as u32
            } else {
                partition::of(&message.key, partitions)
            };
            by_partition.entry((partition, topic.clone())).or_default().push((seq, message));
        }
    }
    let appends = by_partition.into_iter().map(|((partition, topic), messages)| async move {
        let now = topics.options.clock.now().0;
        topics
            .store
            .transact(shard(partition), async |tx| append_relayed(tx, &topic, source, messages, now).await)
            .await
    });
    stream::iter(appends).buffer_unordered(APPENDS_AT_ONCE).try_collect().await
}

/// Appends what this partition does not have of the source's rows yet, and notes how far it has come. All messages that
/// one row has for a partition come in one call, so a row is never half there.
async fn append_relayed(
    tx: &mut Tx,
    topic: &str,
    source: Shard,
    mut messages: Vec<Relayed>,
    now: i64,
) -> Result<()> {
    let key = (topic, u32::from(source.number()));
    if let Some(last) = tx.get(&RELAYED, key).await? {
        messages.retain(|(seq, _)| *seq > last);
    }
    let Some((last, _)) = messages.last() else { return Ok(()) };
    tx.put(&RELAYED, key, last)?;
    append(tx, topic, messages.into_iter().map(|(_, message)| message).collect(), now).await?;
    Ok(())
}

/// Appends to the partition of the transaction's shard; gives the first offset.
async fn append(tx: &mut Tx, topic: &str, messages: Vec<Message>, now: i64) -> Result<i64> {
    let mut ends = tx.get(&PARTITIONS, (topic,)).await?.unwrap_or_default();
    let first = ends.high;
    if ends.low == ends.high {
        ends.oldest_at = now;
    }
    for message in messages {
        ends.bytes += message.size() as u64;
        let Message { key, payload, headers } = message;
        let row = RecordRow { key, payload, headers: header_rows(headers), timestamp: now };
        tx.put(&RECORDS, (topic, ends.high), &row)?;
        ends.high += 1;
    }
    tx.put(&PARTITIONS, (topic,), &ends)?;
    tx.wake("topics");
    Ok(first)
}

fn in_batches(messages: Vec<Numbered>) -> Vec<Vec<Numbered>> {
    let (mut batches, mut bytes) = (vec![Vec::new()], 0);
    for message in messages {
        bytes += message.1.size();
        if bytes > APPEND_BYTES
            && let Some(last) = batches.last()
            && !last.is_empty()
        {
            batches.push(Vec::new());
            bytes = message.1.size();
        }
        if let Some(last) = batches.last_mut() {
            last.push(message);
        }
    }
    batches
}
