//! Old records go: by age, and by size of the partition.

use store::{Range, Read as _, Shard, Tx};

use super::{Embedded, MAX_TOPICS, read};
use crate::tables::{PARTITIONS, PartitionRow, RECORDS};
use crate::{Result, metrics, relay};

/// Records removed by one transaction.
const TRIM_ROWS: usize = 500;

/// What stays in a partition.
#[derive(Clone, Copy)]
pub(super) enum Keep {
    /// This offset and what follows it.
    From(i64),
    /// What was appended at this time or later, and not more bytes than that.
    Within { since: i64, bytes: u64 },
}

impl Keep {
    fn is_too_old(self, offset: i64, timestamp: i64, bytes: u64) -> bool {
        match self {
            Self::From(first) => offset < first,
            Self::Within { since, bytes: most } => timestamp < since || bytes > most,
        }
    }
}

/// Looks at the partitions of the shards whose outbox this process relays: one question while nothing is too old.
pub(super) async fn retain(topics: &Embedded) -> Result<()> {
    let held = topics.cluster.held(relay::ROLE);
    let since = topics.options.clock.now().minus(topics.options.retention).0;
    let keep = Keep::Within { since, bytes: topics.options.retention_bytes };
    let rows = topics.store.scan_shards(&PARTITIONS, &held, Range::all(MAX_TOPICS)).await?;
    for (shard, (topic,), ends) in rows {
        if ends.low < ends.high && keep.is_too_old(ends.low, ends.oldest_at, ends.bytes) {
            trim(topics, &topic, shard, keep).await?;
        }
    }
    Ok(())
}

pub(super) async fn trim(topics: &Embedded, topic: &str, shard: Shard, keep: Keep) -> Result<()> {
    let mut removed = TRIM_ROWS;
    while removed > 0 {
        removed = topics.store.transact(shard, async |tx| trim_step(tx, topic, keep).await).await?;
        metrics::removed(topic, removed);
    }
    Ok(())
}

/// Removes records from the low end, and says how many.
async fn trim_step(tx: &mut Tx, topic: &str, keep: Keep) -> Result<usize> {
    let Some(mut ends) = tx.get(&PARTITIONS, (topic,)).await? else { return Ok(0) };
    let partition = u32::from(tx.shard().number());
    let records = read::records(tx, topic, partition, ends.low, TRIM_ROWS).await?;
    let mut removed = 0;
    for record in records {
        ends.oldest_at = record.timestamp.0;
        if !keep.is_too_old(record.offset, record.timestamp.0, ends.bytes) {
            break;
        }
        tx.delete(&RECORDS, (topic, record.offset))?;
        ends = PartitionRow {
            low: record.offset + 1,
            bytes: ends.bytes.saturating_sub(record.size() as u64),
            ..ends
        };
        removed += 1;
    }
    if removed > 0 {
        tx.put(&PARTITIONS, (topic,), &ends)?;
    }
    Ok(removed)
}
