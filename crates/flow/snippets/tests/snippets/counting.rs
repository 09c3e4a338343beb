//! An engine that counts the rows that transactions ask for, table by table.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use store::engine::{Engine, RawRow, Reader, Session, SharedEngine, Writes};
use store::{KeyBytes, Range, Result, Shard, Store, TableId};

/// Rows by table.
#[derive(Clone, Default)]
pub struct Counted(Arc<Mutex<BTreeMap<TableId, usize>>>);

impl Counted {
    /// The same store, counted.
    pub fn over(store: &Store) -> (Self, Store) {
        let counted = Self::default();
        let counting = |engine| Arc::new(Counting { engine, counted: counted.clone() }) as SharedEngine;
        let store = store.wrapped(counting);
        (counted, store)
    }

    /// What was read of the tables of a system since the last time.
    pub fn take(&self, store: &Store, system: &str) -> usize {
        let counts = std::mem::take(&mut *self.0.lock().unwrap());
        let of_system = |table: &TableId| store.schema().table(*table).system == system;
        counts.iter().filter(|(table, _)| of_system(table)).map(|(_, rows)| rows).sum()
    }

    fn add(&self, table: TableId, rows: usize) {
        *self.0.lock().unwrap().entry(table).or_default() += rows;
    }
}

struct Counting {
    engine: SharedEngine,
    counted: Counted,
}

#[async_trait]
impl Engine for Counting {
    async fn begin(&self, shard: Shard) -> Result<Box<dyn Session>> {
        let session = self.engine.begin(shard).await?;
        Ok(Box::new(CountingSession { session, counted: self.counted.clone() }))
    }

    async fn snapshot(&self, shard: Shard) -> Result<Box<dyn Reader>> {
        self.engine.snapshot(shard).await
    }

    async fn scan_shards(
        &self,
        table: TableId,
        shards: &[Shard],
        range: &Range,
    ) -> Result<Vec<(Shard, RawRow)>> {
        self.engine.scan_shards(table, shards, range).await
    }

    async fn put_alone(&self, shard: Shard, table: TableId, key: KeyBytes, value: Bytes) -> Result<()> {
        self.engine.put_alone(shard, table, key, value).await
    }

    async fn health(&self) -> Result<()> {
        self.engine.health().await
    }

    async fn close(&self) -> Result<()> {
        self.engine.close().await
    }
}

struct CountingSession {
    session: Box<dyn Session>,
    counted: Counted,
}

#[async_trait]
impl Reader for CountingSession {
    async fn get_many(&self, table: TableId, keys: &[KeyBytes]) -> Result<Vec<Option<Bytes>>> {
        self.counted.add(table, keys.len());
        self.session.get_many(table, keys).await
    }

    async fn scan(&self, table: TableId, range: &Range) -> Result<Vec<RawRow>> {
        let rows = self.session.scan(table, range).await?;
        // A scan that finds nothing was a question too.
        self.counted.add(table, rows.len().max(1));
        Ok(rows)
    }
}

#[async_trait]
impl Session for CountingSession {
    async fn commit(self: Box<Self>, writes: Writes) -> Result<()> {
        self.session.commit(writes).await
    }
}
