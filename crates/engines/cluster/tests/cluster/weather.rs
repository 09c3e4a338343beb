//! A store that is bad to one member until the weather turns: the faults of [`store::Faults`], and what a network adds
//! to them. A write may land long after its writer gave up waiting, and an answer may come long after the write landed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use store::engine::{Engine, RawRow, Reader, Session, SharedEngine, Writes};
use store::{Error, FaultPlan, Faults, KeyBytes, Range, Result, Shard, Store, TableId};
use tokio::time::Instant;

/// All members of a simulation share it.
#[derive(Clone, Default)]
pub(crate) struct Calm(Arc<AtomicBool>);

impl Calm {
    pub(crate) fn begin(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn has_begun(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// The store as one member sees it: with faults from its plan, without them once it is calm.
pub(crate) fn stormy(store: &Store, plan: FaultPlan, calm: &Calm) -> Store {
    store.wrapped(|engine| {
        let mut rng = StdRng::seed_from_u64(plan.seed);
        let lateness = [0.0, 0.05, 0.3][rng.random_range(0..3)];
        let next_outage = Instant::now() + Duration::from_millis(rng.random_range(0..40_000));
        let network = Network { rng, lateness, outage: (next_outage, next_outage) };
        let bad = Faults::new(engine.clone(), plan);
        Arc::new(Weather { good: engine, bad, calm: calm.clone(), network: Arc::new(Mutex::new(network)) })
    })
}

struct Weather {
    good: SharedEngine,
    bad: SharedEngine,
    calm: Calm,
    network: Arc<Mutex<Network>>,
}

struct Network {
    rng: StdRng,
    lateness: f64,
    /// Heartbeats on the way between these moments land when it ends.
    outage: (Instant, Instant),
}

impl Network {
    /// How long a write is on the way, and how long its answer.
    fn ways(&mut self) -> (Duration, Duration) {
        let mut way = || {
            let late = self.rng.random_bool(self.lateness);
            if late { Duration::from_millis(self.rng.random_range(0..5_000)) } else { Duration::ZERO }
        };
        (way(), way())
    }

    fn heartbeat_ways(&mut self) -> (Duration, Duration) {
        let now = Instant::now();
        if now >= self.outage.1 {
            let from = now + Duration::from_millis(self.rng.random_range(0..40_000));
            self.outage = (from, from + Duration::from_millis(self.rng.random_range(0..12_000)));
        }
        let (there, back) = self.ways();
        if now < self.outage.0 { (there, back) } else { (self.outage.1.duration_since(now) + there, back) }
    }
}

impl Weather {
    fn now(&self) -> &SharedEngine {
        if self.calm.has_begun() { &self.good } else { &self.bad }
    }
}

/// What was sent lands, whether or not anybody waits for the answer.
async fn send<T: Send + 'static>(
    (there, back): (Duration, Duration),
    write: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let sent = tokio::spawn(async move {
        tokio::time::sleep(there).await;
        let answer = write.await;
        tokio::time::sleep(back).await;
        answer
    });
    sent.await.map_err(|_| Error::unknown("the world ended"))?
}

#[async_trait]
impl Engine for Weather {
    async fn begin(&self, shard: Shard) -> Result<Box<dyn Session>> {
        let session = self.now().begin(shard).await?;
        let (calm, network) = (self.calm.clone(), self.network.clone());
        Ok(Box::new(WeatherSession { session, calm, network }))
    }

    async fn snapshot(&self, shard: Shard) -> Result<Box<dyn Reader>> {
        self.now().snapshot(shard).await
    }

    async fn scan_shards(
        &self,
        table: TableId,
        shards: &[Shard],
        range: &Range,
    ) -> Result<Vec<(Shard, RawRow)>> {
        self.now().scan_shards(table, shards, range).await
    }

    async fn put_alone(&self, shard: Shard, table: TableId, key: KeyBytes, value: Bytes) -> Result<()> {
        if self.calm.has_begun() {
            return self.good.put_alone(shard, table, key, value).await;
        }
        let ways = self.network.lock().unwrap().heartbeat_ways();
        let engine = self.bad.clone();
        send(ways, async move { engine.put_alone(shard, table, key, value).await }).await
    }

    async fn health(&self) -> Result<()> {
        self.now().health().await
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

struct WeatherSession {
    session: Box<dyn Session>,
    calm: Calm,
    network: Arc<Mutex<Network>>,
}

#[async_trait]
impl Reader for WeatherSession {
    async fn get_many(&self, table: TableId, keys: &[KeyBytes]) -> Result<Vec<Option<Bytes>>> {
        self.session.get_many(table, keys).await
    }

    async fn scan(&self, table: TableId, range: &Range) -> Result<Vec<RawRow>> {
        self.session.scan(table, range).await
    }
}

#[async_trait]
impl Session for WeatherSession {
    async fn commit(self: Box<Self>, writes: Writes) -> Result<()> {
        if self.calm.has_begun() || writes.rows.is_empty() {
            return self.session.commit(writes).await;
        }
        let ways = self.network.lock().unwrap().ways();
        send(ways, self.session.commit(writes)).await
    }
}
