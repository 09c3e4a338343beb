//! The bare PostgreSQL: the same rows by pipelined multi-row statements, without the shard's lock or anything else.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context as _;
use futures::future::try_join4;
use tokio::sync::Mutex;
use tokio_postgres::{Client, NoTls, Statement};

use super::{OfferRows, small_value};

/// As many connections as our engine has by default.
const CONNECTIONS: usize = 16;

pub struct BarePostgres {
    connections: Vec<Mutex<Connection>>,
    next: AtomicUsize,
}

struct Connection {
    client: Client,
    content: Statement,
    small: Statement,
    get: Statement,
    scan: Statement,
}

impl BarePostgres {
    pub async fn open(url: &str) -> anyhow::Result<Self> {
        let first = connect(url).await?;
        first
            .batch_execute(
                "CREATE SCHEMA bare;
                 CREATE TABLE bare.content (shard int2, seller text COLLATE \"C\", offer int8, value bytea,
                     PRIMARY KEY (shard, seller, offer));
                 CREATE TABLE bare.small (shard int2, seller text COLLATE \"C\", kind int8, offer int8, value bytea,
                     PRIMARY KEY (shard, seller, kind, offer))",
            )
            .await?;
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            connections.push(Mutex::new(Connection::prepare(connect(url).await?).await?));
        }
        Ok(Self { connections, next: AtomicUsize::new(0) })
    }

    async fn connection(&self) -> tokio::sync::MutexGuard<'_, Connection> {
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        for place in 0..CONNECTIONS {
            if let Ok(connection) = self.connections[(start + place) % CONNECTIONS].try_lock() {
                return connection;
            }
        }
        self.connections[start % CONNECTIONS].lock().await
    }

    /// One transaction, in one round trip.
    pub async fn write(&self, offers: &[OfferRows]) -> anyhow::Result<()> {
        let shard = offers.first().context("an offer")?.shard().number() as i16;
        let sellers: Vec<_> = offers.iter().map(|offer| offer.seller.as_str()).collect();
        let numbers: Vec<_> = offers.iter().map(|offer| offer.offer).collect();
        let contents: Vec<_> = offers.iter().map(|offer| offer.content.as_slice()).collect();
        let small: Vec<_> =
            offers.iter().flat_map(|offer| (0..offer.small).map(move |kind| (offer, kind))).collect();
        let small_sellers: Vec<_> = small.iter().map(|(offer, _)| offer.seller.as_str()).collect();
        let kinds: Vec<_> = small.iter().map(|(_, kind)| *kind as i64).collect();
        let small_numbers: Vec<_> = small.iter().map(|(offer, _)| offer.offer).collect();
        let values: Vec<_> = small.iter().map(|(_, kind)| small_value(*kind)).collect();
        let connection = self.connection().await;
        let Connection { client, content, small, .. } = &*connection;
        try_join4(
            client.batch_execute("BEGIN"),
            client.execute(content, &[&shard, &sellers, &numbers, &contents]),
            client.execute(small, &[&shard, &small_sellers, &kinds, &small_numbers, &values]),
            client.batch_execute("COMMIT"),
        )
        .await?;
        Ok(())
    }

    pub async fn get(&self, seller: &str, offer: i64) -> anyhow::Result<usize> {
        let shard = store::Shard::of(seller).number() as i16;
        let connection = self.connection().await;
        let row = connection.client.query_one(&connection.get, &[&shard, &seller, &offer]).await?;
        Ok(row.get::<_, Vec<u8>>(0).len())
    }

    pub async fn scan(&self, seller: &str, from: i64, limit: usize) -> anyhow::Result<usize> {
        let shard = store::Shard::of(seller).number() as i16;
        let connection = self.connection().await;
        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&shard, &seller, &from, &(limit as i64)];
        let rows = connection.client.query(&connection.scan, &parameters).await?;
        Ok(rows.iter().map(|row| row.get::<_, Vec<u8>>(0).len()).sum())
    }
}

impl Connection {
    async fn prepare(client: Client) -> anyhow::Result<Self> {
        let content = client
            .prepare(
                "INSERT INTO bare.content SELECT $1, * FROM unnest($2::text[], $3::int8[], $4::bytea[])
                 ON CONFLICT (shard, seller, offer) DO UPDATE SET value = excluded.value",
            )
            .await?;
        let small = client
            .prepare(
                "INSERT INTO bare.small SELECT $1, * FROM unnest($2::text[], $3::int8[], $4::int8[], $5::bytea[])
                 ON CONFLICT (shard, seller, kind, offer) DO UPDATE SET value = excluded.value",
            )
            .await?;
        let get = client
            .prepare("SELECT value FROM bare.content WHERE shard = $1 AND seller = $2 AND offer = $3")
            .await?;
        let scan = client
            .prepare(
                "SELECT value FROM bare.content WHERE shard = $1 AND seller = $2 AND offer >= $3
                 ORDER BY offer LIMIT $4",
            )
            .await?;
        Ok(Self { client, content, small, get, scan })
    }
}

async fn connect(url: &str) -> anyhow::Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
