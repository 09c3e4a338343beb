//! A transaction: the shard's turn, its row's lock, reads, and all writes in one breath.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;

use super::pool::Lease;
use super::sql::{Call, Query};
use super::wakes::Bell;
use super::{Server, columns, read};
use crate::engine::{RawRow, Reader, Session, Writes};
use crate::key::KeyBytes;
use crate::{Error, Kind, Range, Result, Schema, Shard, TableId};

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

pub(super) struct PgSession {
    server: Arc<Server>,
    shard: Shard,
    lease: Lease,
    bell: Arc<Bell>,
}

/// Begins a transaction of the shard whose turn in this process the caller has taken. The lock on the shard's row comes
/// first and every later statement takes a new snapshot (READ COMMITTED), so it sees all that was committed before.
pub(super) async fn begin(
    server: Arc<Server>,
    shard: Shard,
    turn: OwnedSemaphorePermit,
    bell: Arc<Bell>,
) -> Result<PgSession> {
    let lock = Call { query: Query::LockShard, parameters: vec![columns::shard(shard)] };
    let (mut lease, rows) = server.pool.start(Some(BEGIN), &lock).await?;
    lease.hold(turn);
    if rows.is_empty() {
        let place = &server.address.place;
        let text = format!("shard {shard} is not kept by the PostgreSQL server at {place}");
        return Err(Error::new(Kind::Incompatible, text));
    }
    Ok(PgSession { server, shard, lease, bell })
}

#[async_trait]
impl Reader for PgSession {
    async fn get_many(&self, table: TableId, keys: &[KeyBytes]) -> Result<Vec<Option<Bytes>>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let call = read::get_many(&self.server.schema, self.shard, table, keys)?;
        read::found(&self.lease.rows(&call).await?, keys.len())
    }

    async fn scan(&self, table: TableId, range: &Range) -> Result<Vec<RawRow>> {
        let schema = &self.server.schema;
        let Some(call) = read::scan(schema, self.shard, table, range)? else { return Ok(Vec::new()) };
        read::rows(schema.table(table).types, &self.lease.rows(&call).await?)
    }
}

#[async_trait]
impl Session for PgSession {
    async fn commit(self: Box<Self>, writes: Writes) -> Result<()> {
        let Self { server, shard, lease, bell } = *self;
        if writes.rows.is_empty() {
            // All that could be read was durable; the transaction ends in the background.
            drop(lease);
            bell.ring(shard, &writes.wakes);
            return Ok(());
        }
        let calls = calls(&server.schema, shard, writes.rows)?;
        // Once handed over it completes even if the caller goes away.
        let task = tokio::spawn(async move {
            lease.commit(&calls).await?;
            bell.ring(shard, &writes.wakes);
            Ok(())
        });
        task.await.unwrap_or_else(|_| Err(Error::unknown("the process ended before a commit was answered")))
    }
}

/// One upsert for each table written, and a deletion for each row that goes; all in one breath.
fn calls(
    schema: &Schema,
    shard: Shard,
    rows: BTreeMap<(TableId, KeyBytes), Option<Bytes>>,
) -> Result<Vec<Call>> {
    let mut tables: BTreeMap<TableId, TableWrites> = BTreeMap::new();
    for ((table, key), value) in rows {
        let writes = tables.entry(table).or_default();
        match value {
            Some(value) => {
                writes.put.push(key);
                writes.values.push(value);
            }
            None => writes.deleted.push(key),
        }
    }
    let mut calls = Vec::with_capacity(tables.len() + 1);
    for (table, writes) in tables {
        if !writes.put.is_empty() {
            calls.push(put(schema, shard, table, &writes.put, writes.values)?);
        }
        for key in writes.deleted {
            let mut parameters = vec![columns::shard(shard)];
            parameters.extend(columns::key(schema.table(table).types, &key)?);
            calls.push(Call { query: Query::Delete(table), parameters });
        }
    }
    Ok(calls)
}

#[derive(Default)]
struct TableWrites {
    put: Vec<KeyBytes>,
    values: Vec<Bytes>,
    deleted: Vec<KeyBytes>,
}

pub(super) fn put(
    schema: &Schema,
    shard: Shard,
    table: TableId,
    keys: &[KeyBytes],
    values: Vec<Bytes>,
) -> Result<Call> {
    let mut parameters = vec![columns::shard(shard)];
    parameters.extend(columns::key_arrays(schema.table(table).types, keys.iter())?);
    parameters.push(columns::value_array(values));
    Ok(Call { query: Query::Put(table), parameters })
}
