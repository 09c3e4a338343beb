//! Questions about rows: by keys, by range, and by range over many shards.

use std::ops::Bound;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Mutex;
use tokio::time::{Duration, Instant};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::pool::Lease;
use super::sql::{Call, Edge, Query, Shape, Value};
use super::{Server, columns};
use crate::engine::{RawRow, Reader};
use crate::key::KeyBytes;
use crate::{ColumnType, Error, Range, Result, Schema, Shard, TableId};

/// The server ends a snapshot that is not asked for a minute, and it is asked for no longer than five: one held longer
/// would keep PostgreSQL from clearing away dead rows.
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
    SET LOCAL idle_in_transaction_session_timeout = '60s'";
const SNAPSHOT_AGE: Duration = Duration::from_mins(5);

pub(super) fn get_many(schema: &Schema, shard: Shard, table: TableId, keys: &[KeyBytes]) -> Result<Call> {
    let mut parameters = vec![columns::shard(shard)];
    parameters.extend(columns::key_arrays(schema.table(table).types, keys.iter())?);
    Ok(Call { query: Query::Get(table), parameters })
}

pub(super) fn get_of_shards<'a>(
    schema: &Schema,
    table: TableId,
    rows: impl Iterator<Item = &'a (Shard, KeyBytes)> + Clone,
) -> Result<Call> {
    let mut parameters = vec![columns::shards(rows.clone().map(|(shard, _)| *shard))];
    parameters.extend(columns::key_arrays(schema.table(table).types, rows.map(|(_, key)| key))?);
    Ok(Call { query: Query::GetOfShards(table), parameters })
}

/// The values in the order of the keys asked for.
pub(super) fn found(rows: &[Row], asked: usize) -> Result<Vec<Option<Bytes>>> {
    let mut found = vec![None; asked];
    for row in rows {
        let place = columns::cell::<i64>(row, 0)? as usize;
        *found.get_mut(place - 1).ok_or_else(|| Error::corrupt("an answer to no question"))? =
            Some(columns::value(row, 1)?);
    }
    Ok(found)
}

/// The question for a range, or `None` when nothing can be in it.
pub(super) fn scan(schema: &Schema, shard: Shard, table: TableId, range: &Range) -> Result<Option<Call>> {
    let Some((shape, bounds)) = bounds(schema.table(table).types, range)? else { return Ok(None) };
    let mut parameters = vec![columns::shard(shard), limit(range)];
    parameters.extend(bounds);
    Ok(Some(Call { query: Query::Scan(table, shape), parameters }))
}

pub(super) fn scan_shards(
    schema: &Schema,
    table: TableId,
    shards: &[(Shard, usize)],
    range: &Range,
) -> Result<Option<Call>> {
    let Some((shape, bounds)) = bounds(schema.table(table).types, range)? else { return Ok(None) };
    let places: Vec<i32> = shards.iter().map(|(_, place)| *place as i32).collect();
    let mut parameters: Vec<(Value, Type)> = vec![
        columns::shards(shards.iter().map(|(shard, _)| *shard)),
        (Box::new(places), Type::INT4_ARRAY),
        limit(range),
    ];
    parameters.extend(bounds);
    Ok(Some(Call { query: Query::ScanShards(table, shape), parameters }))
}

pub(super) fn rows(types: &[ColumnType], rows: &[Row]) -> Result<Vec<RawRow>> {
    rows.iter().map(|row| columns::key_and_value(types, row)).collect()
}

fn limit(range: &Range) -> (Value, Type) {
    columns::number(i64::try_from(range.limit).unwrap_or(i64::MAX))
}

type Bounds = (Shape, Vec<(Value, Type)>);

fn bounds(types: &[ColumnType], range: &Range) -> Result<Option<Bounds>> {
    let mut parameters = Vec::new();
    let mut edge = |bound: &Bound<KeyBytes>| -> Result<Option<Edge>> {
        let (key, included) = match bound {
            Bound::Unbounded => return Ok(Some(Edge::default())),
            Bound::Included(key) => (key, true),
            Bound::Excluded(key) => (key, false),
        };
        let bound = columns::bound(types, key.as_slice())?;
        let columns = bound.len();
        parameters.extend(bound);
        // Every key begins with no columns, so excluding them excludes all.
        Ok(if columns == 0 && !included { None } else { Some(Edge { columns, included }) })
    };
    let (Some(from), Some(to)) = (edge(&range.from)?, edge(&range.to)?) else { return Ok(None) };
    Ok(Some((Shape { from, to, reverse: range.reverse }, parameters)))
}

/// A view of a shard as of its first read, which begins the transaction in the same round trip.
pub(super) struct PgSnapshot {
    pub(super) server: Arc<Server>,
    pub(super) shard: Shard,
    pub(super) begun: Mutex<Option<(Arc<Lease>, Instant)>>,
}

impl PgSnapshot {
    async fn ask(&self, call: &Call) -> Result<Vec<Row>> {
        let mut begun = self.begun.lock().await;
        if let Some((lease, since)) = &*begun {
            if since.elapsed() > SNAPSHOT_AGE {
                return Err(Error::unavailable("a snapshot is too old to be read any more"));
            }
            let lease = lease.clone();
            drop(begun);
            return lease.rows(call).await;
        }
        let seat = self.server.pool.snapshot_seat().await?;
        let (mut lease, rows) = self.server.pool.start(Some(SNAPSHOT), call).await?;
        lease.hold(seat);
        *begun = Some((Arc::new(lease), Instant::now()));
        Ok(rows)
    }
}

#[async_trait]
impl Reader for PgSnapshot {
    async fn get_many(&self, table: TableId, keys: &[KeyBytes]) -> Result<Vec<Option<Bytes>>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let call = get_many(&self.server.schema, self.shard, table, keys)?;
        found(&self.ask(&call).await?, keys.len())
    }

    async fn scan(&self, table: TableId, range: &Range) -> Result<Vec<RawRow>> {
        let schema = &self.server.schema;
        let Some(call) = scan(schema, self.shard, table, range)? else { return Ok(Vec::new()) };
        rows(schema.table(table).types, &self.ask(&call).await?)
    }
}
