//! All shards at one moment: a snapshot of each server, on a connection of its own.
//!
//! One server's snapshot is of one moment by itself. Those of several servers are taken while this process has the locks
//! of all shards' rows on all of them, so that nothing commits in between; that takes as long as the transactions under
//! way, and the round trips to begin the snapshots.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::timeout;
use tokio_postgres::Row;

use super::link::{ANSWER, Link};
use super::setup::Part;
use super::sql::Call;
use super::{Server, failure, read};
use crate::engine::{Moment, RawRow, Reader};
use crate::key::KeyBytes;
use crate::{Error, Range, Result, Shard, TableId};

/// As long as it is wanted: whoever copies a large store into a slow one may take hours. Should this process die, its
/// connection does too.
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
    SET LOCAL idle_in_transaction_session_timeout = 0; SELECT 1 FROM dvor.shards LIMIT 1";
/// A limit that only newer servers have; older ones refuse to set it.
const NO_LIMIT: &str = "SET transaction_timeout = 0";
const LOCK_ALL: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; \
    SELECT shard FROM dvor.shards ORDER BY shard FOR UPDATE";

/// A server's snapshot.
struct Frozen {
    server: Arc<Server>,
    link: Link,
}

pub(super) struct PgMoment(Vec<Arc<Frozen>>);

pub(super) async fn begin(servers: &[Arc<Server>]) -> Result<PgMoment> {
    let mut locks = Vec::new();
    if servers.len() > 1 {
        // In the order of the servers, as anybody would who locks them all; a transaction locks one row only.
        for server in servers {
            let link = connect(server).await?;
            run(server, &link, LOCK_ALL).await?;
            locks.push(link);
        }
    }
    let mut frozen = Vec::with_capacity(servers.len());
    for server in servers {
        let link = connect(server).await?;
        // Nobody minds if it fails: then there is no such limit.
        let _ = timeout(ANSWER, link.client.batch_execute(NO_LIMIT)).await;
        run(server, &link, SNAPSHOT).await?;
        frozen.push(Arc::new(Frozen { server: server.clone(), link }));
    }
    for (server, link) in servers.iter().zip(&locks) {
        run(server, link, "ROLLBACK").await?;
    }
    Ok(PgMoment(frozen))
}

async fn connect(server: &Server) -> Result<Link> {
    Link::connect(&server.address, server.schema.clone(), None).await
}

async fn run(server: &Server, link: &Link, text: &str) -> Result<()> {
    match timeout(ANSWER, link.client.batch_execute(text)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(failure::did_not_happen(&server.address.place, &error)),
        Err(_) => Err(silent(server)),
    }
}

fn silent(server: &Server) -> Error {
    Error::unavailable(format!("PostgreSQL at {} does not answer", server.address.place))
}

impl Moment for PgMoment {
    fn reader(&self, shard: Shard) -> Box<dyn Reader> {
        let frozen = self.0[Part::of(shard.index(), self.0.len())].clone();
        Box::new(FrozenShard { frozen, shard })
    }
}

struct FrozenShard {
    frozen: Arc<Frozen>,
    shard: Shard,
}

impl FrozenShard {
    async fn ask(&self, call: &Call) -> Result<Vec<Row>> {
        let Frozen { server, link } = &*self.frozen;
        match timeout(ANSWER, link.rows(call)).await {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(error)) => Err(failure::did_not_happen(&server.address.place, &error)),
            Err(_) => Err(silent(server)),
        }
    }
}

#[async_trait]
impl Reader for FrozenShard {
    async fn get_many(&self, table: TableId, keys: &[KeyBytes]) -> Result<Vec<Option<Bytes>>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let call = read::get_many(&self.frozen.server.schema, self.shard, table, keys)?;
        read::found(&self.ask(&call).await?, keys.len())
    }

    async fn scan(&self, table: TableId, range: &Range) -> Result<Vec<RawRow>> {
        let schema = &self.frozen.server.schema;
        let Some(call) = read::scan(schema, self.shard, table, range)? else { return Ok(Vec::new()) };
        read::rows(schema.table(table).types, &self.ask(&call).await?)
    }
}
