//! Where a group stands, as the store knows it.
//!
//! A broker keeps positions of its own, and commits of them may outlive what they stand for: a store that was restored, or
//! failed over to a standby that lagged, is behind them, and reading on from there would skip records in silence. So every
//! commit is noted in the store first, and a partition that is given to this process is read from the note.

use std::collections::{BTreeMap, BTreeSet};

use store::{Read as _, Shard, Store};

use super::Consumer;
use crate::tables::{AppliedRow, CHECKPOINTS};
use crate::{Position, Record, Result, Topics, metrics};

/// Notes positions. A reader that has lost its partition may set one back: what lies between is read again, and `applied`
/// skips it.
pub(crate) async fn note(
    store: &Store,
    group: &str,
    incarnation: &str,
    topic: &str,
    positions: &[Position],
) -> Result<()> {
    store
        .transact(Shard::of(group), async |tx| {
            for Position { partition, next } in positions {
                let row = AppliedRow { next: *next, topic: topic.to_owned() };
                tx.put(&CHECKPOINTS, (group, incarnation, *partition), &row)?;
            }
            Ok(())
        })
        .await
}

impl Consumer {
    /// Partitions that came to this process are read from where the store has come to. Gives the records back that may be
    /// applied now.
    pub(super) async fn begin(&mut self, topics: &Topics, mut records: Vec<Record>) -> Result<Vec<Record>> {
        if topics.backend().keeps_positions_in_store() {
            return Ok(records);
        }
        let assigned: BTreeSet<u32> = self.subscription.assigned().into_iter().collect();
        self.begun.retain(|partition| assigned.contains(partition));
        let new: Vec<u32> = assigned.difference(&self.begun).copied().collect();
        if new.is_empty() {
            return Ok(records);
        }
        let starts = self.starts(topics, &new).await?;
        for (partition, start) in starts {
            let first =
                records.iter().find(|record| record.partition == partition).map(|record| record.offset);
            let is_ahead = match first {
                Some(offset) => offset > start,
                None => self.broker_position(topics, partition).await?.is_some_and(|next| next > start),
            };
            if is_ahead {
                let (topic, group) = (self.subscription.topic(), self.subscription.group());
                tracing::warn!(
                    topic,
                    group,
                    partition,
                    start,
                    "the broker's position is ahead of the store's"
                );
                metrics::went_back(topic, group);
                self.subscription.seek(Position { partition, next: start }).await?;
                records.retain(|record| record.partition != partition);
            }
            self.begun.insert(partition);
        }
        Ok(records)
    }

    /// Where the partitions are to be read from: the store's note, or the first record that is kept.
    async fn starts(&self, topics: &Topics, partitions: &[u32]) -> Result<BTreeMap<u32, i64>> {
        let description = self.subscription.description();
        let (group, incarnation) = (self.subscription.group(), description.incarnation.as_str());
        let snapshot = topics.store().snapshot(Shard::of(group)).await?;
        let keys: Vec<_> = partitions.iter().map(|partition| (group, incarnation, *partition)).collect();
        let rows = snapshot.get_many(&CHECKPOINTS, keys).await?;
        let ends = topics.backend().ends(&description.topic).await?;
        let low = |partition: u32| ends.get(partition as usize).map_or(0, |ends| ends.low);
        let start = |(partition, row): (&u32, Option<AppliedRow>)| {
            let noted = row.map_or(0, |row| row.next);
            (*partition, noted.max(low(*partition)))
        };
        Ok(partitions.iter().zip(rows).map(start).collect())
    }

    async fn broker_position(&self, topics: &Topics, partition: u32) -> Result<Option<i64>> {
        let (topic, group) = (self.subscription.topic(), self.subscription.group());
        let positions = topics.backend().positions(topic, group).await?;
        Ok(positions.get(partition as usize).copied().flatten())
    }
}
