//! What an engine must do. `transact` and all typing stand above it, in `tx.rs` and `store.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::key::KeyBytes;
use crate::{Range, Result, Shard, TableId};

pub use crate::key::{from_parts, parts};

pub type RawRow = (KeyBytes, Bytes);

/// An ordered key-value store in shards.
#[async_trait]
pub trait Engine: Send + Sync {
    /// Waits for the shard's turn and begins a transaction. Reads of the session see every transaction of the shard
    /// that was handed over before. Dropping the session gives the turn up without a trace.
    async fn begin(&self, shard: Shard) -> Result<Box<dyn Session>>;

    /// A consistent view of the shard's durable state; never blocks a writer, bounded in time on PostgreSQL.
    async fn snapshot(&self, shard: Shard) -> Result<Box<dyn Reader>>;

    /// The durable values of rows in any shards, in one question, which needs no snapshot. Those of one shard are of one
    /// moment.
    async fn get_many(&self, table: TableId, rows: &[(Shard, KeyBytes)]) -> Result<Vec<Option<Bytes>>> {
        let mut places: BTreeMap<Shard, Vec<usize>> = BTreeMap::new();
        for (place, (shard, _)) in rows.iter().enumerate() {
            places.entry(*shard).or_default().push(place);
        }
        let mut found = vec![None; rows.len()];
        for (shard, places) in places {
            let keys: Vec<_> = places.iter().map(|place| rows[*place].1.clone()).collect();
            let values = self.snapshot(shard).await?.get_many(table, &keys).await?;
            for (place, value) in places.into_iter().zip(values) {
                found[place] = value;
            }
        }
        Ok(found)
    }

    /// The first rows of the range in each of the shards, by shard and key. Durable rows only, but not one moment for
    /// all shards: a hint that a transaction checks again.
    async fn scan_shards(
        &self,
        table: TableId,
        shards: &[Shard],
        range: &Range,
    ) -> Result<Vec<(Shard, RawRow)>>;

    /// Writes one row without the shard's turn, for rows that only one process ever writes (heartbeats).
    async fn put_alone(&self, shard: Shard, table: TableId, key: KeyBytes, value: Bytes) -> Result<()>;

    /// Fails with one sentence when the store cannot take a write now.
    async fn health(&self) -> Result<()>;

    /// Ends background work after everything handed over is durable.
    async fn close(&self) -> Result<()>;

    /// All shards at one moment, for as long as it is held; `None` where the engine cannot give that.
    async fn moment(&self) -> Result<Option<Box<dyn Moment>>> {
        Ok(None)
    }
}

/// A view of all shards at one moment, durable state only.
pub trait Moment: Send + Sync {
    fn reader(&self, shard: Shard) -> Box<dyn Reader>;
}

/// Reads within one shard, all at one moment.
#[async_trait]
pub trait Reader: Send + Sync {
    /// A value for each key, in the order of the keys; a missing row is `None`.
    async fn get_many(&self, table: TableId, keys: &[KeyBytes]) -> Result<Vec<Option<Bytes>>>;

    async fn scan(&self, table: TableId, range: &Range) -> Result<Vec<RawRow>>;
}

/// A transaction under way: it holds the shard's turn.
#[async_trait]
pub trait Session: Reader {
    /// Writes all or nothing, and returns when it is durable. With nothing to write it returns when everything the
    /// session could see is durable. Once handed over, the writes complete even if the caller goes away. Wake-ups are
    /// given after the writes are durable.
    async fn commit(self: Box<Self>, writes: Writes) -> Result<()>;
}

/// What one transaction writes: at most one new value (`None`: deleted) per row.
#[derive(Clone, Debug, Default)]
pub struct Writes {
    pub rows: BTreeMap<(TableId, KeyBytes), Option<Bytes>>,
    pub wakes: Vec<&'static str>,
    pub bytes: usize,
}

/// An engine that can be shared.
pub type SharedEngine = Arc<dyn Engine>;
