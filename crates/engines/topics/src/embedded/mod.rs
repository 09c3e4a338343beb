//! Topics in tables of the store: partition `p` of every topic lives in shard `p`.

mod append;
mod member;
mod members;
mod read;
mod retention;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use cluster::Cluster;
use store::{Range, Read as _, Shard, Store};

use self::members::Members;
use self::retention::Keep;
use crate::backend::{Backend, Description, Ends, Leave, Member, OutboxBatch};
use crate::tables::{PARTITIONS, POSITIONS, PositionRow, TOPICS, TopicRow};
use crate::topics::unknown_topic;
use crate::{Error, Message, Options, Placed, Position, Record, Result};

/// Most topics in a list.
const MAX_TOPICS: usize = 10_000;

pub(crate) struct Embedded {
    store: Store,
    cluster: Cluster,
    options: Arc<Options>,
    /// Topics never change, so those seen once need no second look.
    known: Mutex<HashMap<String, Arc<Description>>>,
    members: Members,
}

impl Embedded {
    pub(crate) fn new(store: Store, cluster: Cluster, options: Arc<Options>) -> Self {
        Self { store, cluster, options, known: Mutex::default(), members: Members::default() }
    }

    async fn known(&self, topic: &str) -> Result<Arc<Description>> {
        let found = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(topic).cloned();
        if let Some(description) = found {
            return Ok(description);
        }
        let row = self.store.snapshot(Shard::of(topic)).await?.get(&TOPICS, (topic,)).await?;
        let row = row.ok_or_else(|| unknown_topic(topic))?;
        Ok(self.remember(topic, row))
    }

    fn remember(&self, topic: &str, row: TopicRow) -> Arc<Description> {
        let TopicRow { partitions, incarnation, .. } = row;
        let description = Arc::new(Description { topic: topic.to_owned(), partitions, incarnation });
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(topic.to_owned(), description.clone());
        description
    }
}

/// The shard of a partition.
pub(crate) fn shard(partition: u32) -> Shard {
    Shard::wrapping(u64::from(partition))
}

fn shards(partitions: u32) -> Vec<Shard> {
    (0..partitions).map(shard).collect()
}

#[async_trait]
impl Backend for Embedded {
    fn keeps_positions_in_store(&self) -> bool {
        true
    }

    async fn create(&self, topic: &str, partitions: u32) -> Result<Description> {
        let now = self.options.clock.now().0;
        let row = self
            .store
            .transact(Shard::of(topic), async |tx| {
                if let Some(row) = tx.get(&TOPICS, (topic,)).await? {
                    return Ok::<_, Error>(row);
                }
                let row = TopicRow { partitions, incarnation: kit::random_id(), created_at: now };
                tx.put(&TOPICS, (topic,), &row)?;
                Ok(row)
            })
            .await?;
        Ok(self.remember(topic, row).as_ref().clone())
    }

    async fn describe(&self, topic: &str) -> Result<Description> {
        Ok(self.known(topic).await?.as_ref().clone())
    }

    async fn list(&self) -> Result<Vec<String>> {
        let all: Vec<_> = Shard::all().collect();
        let rows = self.store.scan_shards(&TOPICS, &all, Range::all(MAX_TOPICS)).await?;
        let mut topics: Vec<_> = rows.into_iter().map(|(_, (topic,), _)| topic).collect();
        topics.sort();
        Ok(topics)
    }

    async fn publish(&self, topic: &str, messages: Vec<Message>) -> Result<Vec<Placed>> {
        append::publish(self, topic, messages).await
    }

    async fn relay(&self, source: Shard, rows: Vec<OutboxBatch>, _: Leave<'_>) -> Result<()> {
        append::relay(self, source, rows).await
    }

    async fn ends(&self, topic: &str) -> Result<Vec<Ends>> {
        let partitions = self.known(topic).await?.partitions;
        let mut ends = vec![Ends::default(); partitions as usize];
        let range = Range::prefix((topic,), 1)?;
        for (shard, _, row) in self.store.scan_shards(&PARTITIONS, &shards(partitions), range).await? {
            ends[shard.index()] = Ends { low: row.low, high: row.high };
        }
        Ok(ends)
    }

    async fn read(&self, topic: &str, from: &[Position], max: usize) -> Result<Vec<Record>> {
        self.known(topic).await?;
        let mut records = Vec::new();
        for Position { partition, next } in from.iter().copied() {
            let snapshot = self.store.snapshot(shard(partition)).await?;
            let low = snapshot.get(&PARTITIONS, (topic,)).await?.map_or(0, |row| row.low);
            records.extend(read::records(&snapshot, topic, partition, next.max(low), max).await?);
        }
        Ok(records)
    }

    async fn positions(&self, topic: &str, group: &str) -> Result<Vec<Option<i64>>> {
        let partitions = self.known(topic).await?.partitions;
        let mut positions = vec![None; partitions as usize];
        let range = Range::prefix((topic, group), 1)?;
        for (shard, _, row) in self.store.scan_shards(&POSITIONS, &shards(partitions), range).await? {
            positions[shard.index()] = Some(row.next);
        }
        Ok(positions)
    }

    async fn reposition(&self, topic: &str, group: &str, positions: &[Position]) -> Result<()> {
        self.known(topic).await?;
        for Position { partition, next } in positions.iter().copied() {
            self.store
                .transact(shard(partition), async |tx| {
                    let old = tx.get(&POSITIONS, (topic, group)).await?.unwrap_or_default();
                    tx.put(&POSITIONS, (topic, group), &PositionRow { next, moves: old.moves + 1 })?;
                    tx.wake("topics");
                    Ok::<_, Error>(())
                })
                .await?;
        }
        Ok(())
    }

    async fn trim(&self, topic: &str, positions: &[Position]) -> Result<()> {
        self.known(topic).await?;
        for position in positions {
            retention::trim(self, topic, shard(position.partition), Keep::From(position.next)).await?;
        }
        Ok(())
    }

    async fn retain(&self) -> Result<()> {
        retention::retain(self).await
    }

    async fn subscribe(&self, topic: &str, group: &str) -> Result<Box<dyn Member>> {
        let description = self.known(topic).await?;
        Ok(Box::new(member::EmbeddedMember::join(self, description, group)))
    }
}
