//! The store in PostgreSQL, or in anything that speaks its protocol and keeps its promises: plain SQL only.
//!
//! Every declared table is a real table (`offers.content` is table `content` in PostgreSQL's schema `offers`) with the shard
//! and the typed key columns in its primary key, so that `psql` shows what is there. A transaction is one of PostgreSQL's,
//! and those of a shard exclude each other, in one process by a turn that is taken before a connection, between processes
//! by the lock on the shard's row in `dvor.shards`. The number of round trips does not grow with the number of rows: one to
//! begin, one for each batch of reads, one for all writes with COMMIT.
//!
//! Several servers keep the shards in equal ranges, and each knows which; since no transaction leaves its shard, nothing
//! else differs. What is lost with a connection is made again by the next call, with no help from outside.
//!
//! Not done here: moving shards between servers.

mod address;
mod columns;
mod failure;
mod link;
mod moment;
mod pool;
mod read;
mod reserved;
mod session;
mod setup;
mod sql;
mod tls;
mod wakes;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::try_join_all;
use kit::{Shutdown, Tasks};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use self::address::Address;
use self::link::Link;
use self::pool::Pool;
use self::read::PgSnapshot;
use self::reserved::Reserved;
use self::setup::Part;
use self::sql::{Call, Query};
use self::wakes::Bell;
use crate::engine::{Engine, Moment, RawRow, Reader, Session};
use crate::key::KeyBytes;
use crate::{Error, Options, Range, Result, SHARDS, Schema, Shard, TableId, Wakes};

const HEALTH: Duration = Duration::from_secs(2);
/// How long transactions under way may take to end when the store is closed.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the end of the wake-ups may take.
const FAREWELL: Duration = Duration::from_secs(2);

pub(crate) struct Postgres {
    servers: Vec<Arc<Server>>,
    turns: Vec<Arc<Semaphore>>,
    tasks: Tasks,
}

struct Server {
    address: Arc<Address>,
    schema: Arc<Schema>,
    pool: Arc<Pool>,
    alone: Reserved,
    bell: Arc<Bell>,
}

/// Connects to the servers, makes the tables that are missing and refuses those that differ.
pub(crate) async fn open(
    urls: &[String],
    schema: Arc<Schema>,
    wakes: Wakes,
    options: &Options,
) -> Result<Postgres> {
    if urls.len() > usize::from(SHARDS) {
        return Err(Error::invalid(format!("there cannot be more than {SHARDS} PostgreSQL servers")));
    }
    setup::check_names(&schema)?;
    let tasks = Tasks::new(Shutdown::new());
    let process = kit::random_id();
    let mut servers = Vec::with_capacity(urls.len());
    for (index, url) in urls.iter().enumerate() {
        let address = Arc::new(Address::parse(url, index + 1)?);
        let link = Link::connect(&address, schema.clone(), None).await?;
        setup::prepare(&link.client, &address, &schema, Part { index, count: urls.len() }).await?;
        servers.push(Arc::new(Server {
            pool: Pool::new(address.clone(), schema.clone(), options.connections),
            alone: Reserved::new(address.clone(), schema.clone()),
            bell: Bell::new(process.clone(), wakes.clone()),
            schema: schema.clone(),
            address,
        }));
    }
    for server in &servers {
        let (bell, address) = (server.bell.clone(), server.address.clone());
        tasks.spawn("postgres wakes", wakes::run(bell, address, schema.clone(), tasks.shutdown().clone()));
    }
    let turns = (0..SHARDS).map(|_| Arc::new(Semaphore::new(1))).collect();
    Ok(Postgres { servers, turns, tasks })
}

impl Postgres {
    fn server(&self, shard: Shard) -> &Arc<Server> {
        &self.servers[Part::of(shard.index(), self.servers.len())]
    }
}

#[async_trait]
impl Engine for Postgres {
    async fn begin(&self, shard: Shard) -> Result<Box<dyn Session>> {
        let turn = self.turns[shard.index()].clone().acquire_owned().await;
        let turn = turn.map_err(|_| Error::unavailable("the store is closed"))?;
        let server = self.server(shard).clone();
        let bell = server.bell.clone();
        Ok(Box::new(session::begin(server, shard, turn, bell).await?))
    }

    async fn snapshot(&self, shard: Shard) -> Result<Box<dyn Reader>> {
        Ok(Box::new(PgSnapshot { server: self.server(shard).clone(), shard, begun: Mutex::default() }))
    }

    async fn scan_shards(
        &self,
        table: TableId,
        shards: &[Shard],
        range: &Range,
    ) -> Result<Vec<(Shard, RawRow)>> {
        let mut asked = vec![Vec::new(); self.servers.len()];
        for (place, shard) in shards.iter().enumerate() {
            asked[Part::of(shard.index(), self.servers.len())].push((*shard, place));
        }
        let questions = self.servers.iter().zip(&asked).filter(|(_, shards)| !shards.is_empty());
        let answers =
            try_join_all(questions.map(|(server, shards)| server.scan_shards(table, shards, range))).await?;
        let mut found: Vec<(usize, RawRow)> = answers.into_iter().flatten().collect();
        found.sort_by(|(place, (key, _)), (other_place, (other, _))| {
            let keys = if range.reverse { other.cmp(key) } else { key.cmp(other) };
            place.cmp(other_place).then(keys)
        });
        Ok(found.into_iter().map(|(place, row)| (shards[place], row)).collect())
    }

    async fn get_many(&self, table: TableId, rows: &[(Shard, KeyBytes)]) -> Result<Vec<Option<Bytes>>> {
        let mut asked = vec![Vec::new(); self.servers.len()];
        for (place, (shard, _)) in rows.iter().enumerate() {
            asked[Part::of(shard.index(), self.servers.len())].push(place);
        }
        let questions = self.servers.iter().zip(asked).filter(|(_, places)| !places.is_empty());
        let answers = questions.map(async |(server, places)| {
            let values = server.get_many(table, places.iter().map(|place| &rows[*place])).await?;
            Ok::<_, Error>(places.into_iter().zip(values))
        });
        let mut found = vec![None; rows.len()];
        for (place, value) in try_join_all(answers).await?.into_iter().flatten() {
            found[place] = value;
        }
        Ok(found)
    }

    async fn put_alone(&self, shard: Shard, table: TableId, key: KeyBytes, value: Bytes) -> Result<()> {
        let server = self.server(shard);
        let call = session::put(&server.schema, shard, table, &[key], vec![value])?;
        server.alone.rows(&call).await.map(drop)
    }

    async fn health(&self) -> Result<()> {
        try_join_all(self.servers.iter().map(|server| server.health())).await.map(drop)
    }

    async fn moment(&self) -> Result<Option<Box<dyn Moment>>> {
        Ok(Some(Box::new(moment::begin(&self.servers).await?)))
    }

    async fn close(&self) -> Result<()> {
        // A transaction keeps its turn until it is answered.
        let deadline = Instant::now() + PATIENCE;
        for turn in &self.turns {
            let last = timeout_at(deadline, turn.acquire()).await;
            if last.is_err() {
                tracing::warn!("a transaction was still under way when the store was closed");
            }
            turn.close();
        }
        for server in &self.servers {
            server.pool.close();
            server.alone.close().await;
        }
        self.tasks.end(FAREWELL).await;
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.tasks.shutdown().call();
    }
}

impl Server {
    /// Rows with the places of their shards in the question.
    async fn scan_shards(
        &self,
        table: TableId,
        shards: &[(Shard, usize)],
        range: &Range,
    ) -> Result<Vec<(usize, RawRow)>> {
        let Some(call) = read::scan_shards(&self.schema, table, shards, range)? else {
            return Ok(Vec::new());
        };
        let (mut lease, rows) = self.pool.start(None, &call).await?;
        lease.give_back();
        let types = self.schema.table(table).types;
        rows.iter()
            .map(|row| {
                let place = columns::cell::<i32>(row, types.len() + 1)?;
                Ok((place as usize, columns::key_and_value(types, row)?))
            })
            .collect()
    }

    async fn get_many(
        &self,
        table: TableId,
        rows: impl ExactSizeIterator<Item = &(Shard, KeyBytes)> + Clone,
    ) -> Result<Vec<Option<Bytes>>> {
        let asked = rows.len();
        let call = read::get_of_shards(&self.schema, table, rows)?;
        let (mut lease, rows) = self.pool.start(None, &call).await?;
        lease.give_back();
        read::found(&rows, asked)
    }

    async fn health(&self) -> Result<()> {
        let place = &self.address.place;
        let call = Call { query: Query::ReadOnly, parameters: Vec::new() };
        let answer = timeout(HEALTH, self.alone.rows(&call)).await;
        let rows = answer.unwrap_or_else(|_| {
            Err(Error::unavailable(format!("PostgreSQL at {place} has not answered for {HEALTH:?}")))
        })?;
        match rows.first().map(|row| columns::cell::<&str>(row, 0)).transpose()? {
            Some("off") => Ok(()),
            _ => Err(Error::unavailable(format!("PostgreSQL at {place} takes no writes, it is read-only"))),
        }
    }
}
