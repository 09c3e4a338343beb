//! The engine of the simulation: everything in maps, nothing durable, every promise of order and isolation kept.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::engine::{Engine, RawRow, Reader, Session, Writes};
use crate::key::KeyBytes;
use crate::{Error, Range, Result, SHARDS, Shard, TableId, Wakes};

type Rows = BTreeMap<(TableId, KeyBytes), Bytes>;

pub(crate) struct Memory {
    shards: Vec<Arc<Lane>>,
    wakes: Wakes,
}

struct Lane {
    turn: Arc<Semaphore>,
    // An `Arc` that writers copy on write: a snapshot is a clone of it.
    rows: Mutex<Arc<Rows>>,
}

impl Memory {
    pub(crate) fn new(wakes: Wakes) -> Self {
        let lane = || Arc::new(Lane { turn: Arc::new(Semaphore::new(1)), rows: Mutex::default() });
        Self { shards: (0..SHARDS).map(|_| lane()).collect(), wakes }
    }
}

impl Lane {
    fn rows(&self) -> MutexGuard<'_, Arc<Rows>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Engine for Memory {
    async fn begin(&self, shard: Shard) -> Result<Box<dyn Session>> {
        let lane = self.shards[shard.index()].clone();
        let turn =
            lane.turn.clone().acquire_owned().await.map_err(|_| Error::unavailable("the store is closed"))?;
        let view = View(lane.rows().clone());
        Ok(Box::new(MemorySession { shard, view, lane, wakes: self.wakes.clone(), _turn: turn }))
    }

    async fn snapshot(&self, shard: Shard) -> Result<Box<dyn Reader>> {
        Ok(Box::new(View(self.shards[shard.index()].rows().clone())))
    }

    async fn scan_shards(
        &self,
        table: TableId,
        shards: &[Shard],
        range: &Range,
    ) -> Result<Vec<(Shard, RawRow)>> {
        let mut found = Vec::new();
        for shard in shards {
            let view = View(self.shards[shard.index()].rows().clone());
            found.extend(view.scan(table, range).await?.into_iter().map(|row| (*shard, row)));
        }
        Ok(found)
    }

    async fn put_alone(&self, shard: Shard, table: TableId, key: KeyBytes, value: Bytes) -> Result<()> {
        Arc::make_mut(&mut *self.shards[shard.index()].rows()).insert((table, key), value);
        Ok(())
    }

    async fn health(&self) -> Result<()> {
        Ok(())
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

struct View(Arc<Rows>);

#[async_trait]
impl Reader for View {
    async fn get_many(&self, table: TableId, keys: &[KeyBytes]) -> Result<Vec<Option<Bytes>>> {
        Ok(keys.iter().map(|key| self.0.get(&(table, key.clone())).cloned()).collect())
    }

    async fn scan(&self, table: TableId, range: &Range) -> Result<Vec<RawRow>> {
        let (from, to) = range.byte_bounds();
        let first = (table, KeyBytes(from));
        let last = match to {
            Some(to) => (table, KeyBytes(to)),
            None => (TableId(table.0 + 1), KeyBytes::default()),
        };
        if first >= last {
            return Ok(Vec::new());
        }
        let rows = self.0.range(first..last).map(|((_, key), value)| (key.clone(), value.clone()));
        Ok(if range.reverse {
            rows.rev().take(range.limit).collect()
        } else {
            rows.take(range.limit).collect()
        })
    }
}

struct MemorySession {
    shard: Shard,
    view: View,
    lane: Arc<Lane>,
    wakes: Wakes,
    _turn: OwnedSemaphorePermit,
}

#[async_trait]
impl Reader for MemorySession {
    async fn get_many(&self, table: TableId, keys: &[KeyBytes]) -> Result<Vec<Option<Bytes>>> {
        self.view.get_many(table, keys).await
    }

    async fn scan(&self, table: TableId, range: &Range) -> Result<Vec<RawRow>> {
        self.view.scan(table, range).await
    }
}

#[async_trait]
impl Session for MemorySession {
    async fn commit(self: Box<Self>, writes: Writes) -> Result<()> {
        let Self { shard, view, lane, wakes, .. } = *self;
        // Let go of the session's view, so that the rows need no copy unless somebody else looks at them.
        drop(view);
        {
            let mut rows = lane.rows();
            let rows = Arc::make_mut(&mut *rows);
            for (row, value) in writes.rows {
                match value {
                    Some(value) => drop(rows.insert(row, value)),
                    None => drop(rows.remove(&row)),
                }
            }
        }
        for channel in writes.wakes {
            wakes.wake(channel, shard);
        }
        Ok(())
    }
}
