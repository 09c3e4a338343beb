//! Records that were removed before the group had read them.
//!
//! Retention may overtake a reader. A broker then goes on from what it still has, without a word. Here a partition's first
//! kept record is compared with where the group stands, when the partition comes to this process and whenever records
//! come that do not follow the last ones; the handler hears of what is missing before anything behind it is applied.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use store::{Read as _, Shard};

use super::{Consumer, Handler};
use crate::tables::CHECKPOINTS;
use crate::{Error, Kind, Record, Result, Topics, metrics, partition};

/// Records of a partition that nobody can read any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    pub topic: String,
    pub partition: u32,
    /// Of the topic.
    pub partitions: u32,
    /// The first record that is missing.
    pub from: i64,
    /// The first that is there.
    pub to: i64,
}

impl Gap {
    /// Whether messages of this key may be among the missing ones.
    pub fn concerns(&self, key: &[u8]) -> bool {
        partition::of(key, self.partitions) == self.partition
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { topic, partition, from, to, .. } = self;
        write!(f, "partition {partition} of {topic} has lost the records from {from} to before {to}")
    }
}

impl Consumer {
    /// Tells the handler of what is missing before these records, and in partitions that are new here. If it cannot deal
    /// with it now, the consumer starts again, and finds the gap again.
    pub(super) async fn find_gaps<H: Handler>(
        &mut self,
        topics: &Topics,
        handler: &H,
        records: &[Record],
    ) -> Result<()> {
        let assigned: BTreeSet<u32> = self.subscription.assigned().into_iter().collect();
        self.expected.retain(|partition, _| assigned.contains(partition));
        let new: Vec<u32> =
            assigned.iter().copied().filter(|partition| !self.expected.contains_key(partition)).collect();
        let mut suspects: BTreeSet<u32> = new.iter().copied().collect();
        if !new.is_empty() {
            self.expected.extend(self.stands(topics, &new).await?);
        }
        for record in records {
            if let Some(expected) = self.expected.get_mut(&record.partition) {
                if record.offset > *expected {
                    suspects.insert(record.partition);
                } else {
                    *expected = (*expected).max(record.offset + 1);
                }
            }
        }
        if !suspects.is_empty() {
            self.look_at(topics, handler, &suspects).await?;
        }
        for record in records {
            if let Some(expected) = self.expected.get_mut(&record.partition) {
                *expected = (*expected).max(record.offset + 1);
            }
        }
        Ok(())
    }

    async fn look_at<H: Handler>(
        &mut self,
        topics: &Topics,
        handler: &H,
        suspects: &BTreeSet<u32>,
    ) -> Result<()> {
        let description = self.subscription.description().clone();
        let ends = topics.backend().ends(&description.topic).await?;
        for number in suspects {
            let Some(expected) = self.expected.get_mut(number) else { continue };
            let low = ends.get(*number as usize).map_or(0, |ends| ends.low);
            // Offsets may jump over what was never a record; only what lies below the first kept one is lost.
            if low <= *expected {
                continue;
            }
            let gap = Gap {
                topic: description.topic.clone(),
                partition: *number,
                partitions: description.partitions,
                from: *expected,
                to: low,
            };
            metrics::gap(&gap.topic, self.subscription.group());
            handler.gap(&gap).await.map_err(|failure| {
                Error::new(
                    Kind::Unavailable,
                    format!("{gap}; handling it failed and is tried again: {failure}"),
                )
            })?;
            *expected = low;
            self.done.insert(*number, low);
        }
        Ok(())
    }

    /// Where the group stands in these partitions; 0 where it never stood.
    async fn stands(&self, topics: &Topics, partitions: &[u32]) -> Result<BTreeMap<u32, i64>> {
        let description = self.subscription.description();
        let (topic, group) = (description.topic.as_str(), self.subscription.group());
        if topics.backend().keeps_positions_in_store() {
            let all = topics.backend().positions(topic, group).await?;
            let next = |number: &u32| all.get(*number as usize).copied().flatten().unwrap_or(0);
            return Ok(partitions.iter().map(|number| (*number, next(number))).collect());
        }
        let snapshot = topics.store().snapshot(Shard::of(group)).await?;
        let incarnation = description.incarnation.as_str();
        let keys: Vec<_> = partitions.iter().map(|number| (group, incarnation, *number)).collect();
        let rows = snapshot.get_many(&CHECKPOINTS, keys).await?;
        Ok(partitions
            .iter()
            .copied()
            .zip(rows.into_iter().map(|row| row.map_or(0, |row| row.next)))
            .collect())
    }
}
