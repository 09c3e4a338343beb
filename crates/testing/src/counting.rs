//! An engine that counts what transactions ask for and write: rows, table by table, and round trips. Questions that are
//! asked together cost one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use store::engine::{Engine, RawRow, Reader, Session, SharedEngine, Writes};
use store::{KeyBytes, Range, Result, Shard, Store, TableId};

/// What was counted.
#[derive(Clone, Default)]
pub struct Counted(Arc<Counts>);

#[derive(Default)]
struct Counts {
    rows: Mutex<BTreeMap<TableId, usize>>,
    written: Mutex<BTreeMap<TableId, usize>>,
    under_way: AtomicUsize,
    trips: AtomicUsize,
}

impl Counted {
    /// The same store, counted.
    pub fn over(store: &Store) -> (Self, Store) {
        let counted = Self::default();
        let counting = |engine| Arc::new(Counting { engine, counted: counted.clone() }) as SharedEngine;
        let store = store.wrapped(counting);
        (counted, store)
    }

    /// Rows of a system's tables that were read since the last time.
    pub fn take(&self, store: &Store, system: &str) -> usize {
        let counts = std::mem::take(&mut *self.0.rows.lock().unwrap());
        let of_system = |table: &TableId| store.schema().table(*table).system == system;
        counts.iter().filter(|(table, _)| of_system(table)).map(|(_, rows)| rows).sum()
    }

    /// Rows of a system's tables that were written or deleted since the last time, by table.
    pub fn take_written(&self, store: &Store, system: &str) -> BTreeMap<&'static str, usize> {
        let counts = std::mem::take(&mut *self.0.written.lock().unwrap());
        let tables = counts.into_iter().map(|(table, rows)| (store.schema().table(table), rows));
        tables.filter(|(table, _)| table.system == system).map(|(table, rows)| (table.name, rows)).collect()
    }

    fn add(&self, table: TableId, rows: usize) {
        *self.0.rows.lock().unwrap().entry(table).or_default() += rows;
    }

    /// Round trips since the last time.
    pub fn take_trips(&self) -> usize {
        self.0.trips.swap(0, Ordering::SeqCst)
    }

    /// Rows of all tables that were written or deleted since the last time.
    pub fn take_all_written(&self) -> usize {
        std::mem::take(&mut *self.0.written.lock().unwrap()).into_values().sum()
    }

    /// A question that begins while another is under way travels with it.
    async fn trip<T>(&self, question: impl Future<Output = T>) -> T {
        if self.0.under_way.fetch_add(1, Ordering::SeqCst) == 0 {
            self.0.trips.fetch_add(1, Ordering::SeqCst);
        }
        tokio::task::yield_now().await;
        let answer = question.await;
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
        answer
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
        self.counted.trip(self.session.get_many(table, keys)).await
    }

    async fn scan(&self, table: TableId, range: &Range) -> Result<Vec<RawRow>> {
        let rows = self.counted.trip(self.session.scan(table, range)).await?;
        // A scan that finds nothing was a question too.
        self.counted.add(table, rows.len().max(1));
        Ok(rows)
    }
}

#[async_trait]
impl Session for CountingSession {
    async fn commit(self: Box<Self>, writes: Writes) -> Result<()> {
        for (table, _) in writes.rows.keys() {
            *self.counted.0.written.lock().unwrap().entry(*table).or_default() += 1;
        }
        self.session.commit(writes).await
    }
}
