//! An engine that breaks things on purpose, from a seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::engine::{Engine, RawRow, Reader, Session, SharedEngine, Writes};
use crate::key::KeyBytes;
use crate::{Error, Range, Result, Shard, TableId};

/// How often what goes wrong; each is a probability per call.
#[derive(Clone, Debug)]
pub struct FaultPlan {
    pub seed: u64,
    /// A read or write waits up to this long first.
    pub delay: Duration,
    pub delay_share: f64,
    /// The call fails and nothing was written.
    pub error_before: f64,
    /// The write is there, but the caller is told that it may be.
    pub error_after: f64,
    /// From this commit on (counted by the wrapper) the process is as if dead: every call fails.
    pub crash_at_commit: Option<u64>,
}

impl FaultPlan {
    pub fn none(seed: u64) -> Self {
        Self {
            seed,
            delay: Duration::ZERO,
            delay_share: 0.0,
            error_before: 0.0,
            error_after: 0.0,
            crash_at_commit: None,
        }
    }
}

/// The wrapper: `store.wrapped(|engine| Faults::new(engine, plan))`.
pub struct Faults {
    engine: SharedEngine,
    dice: Arc<Dice>,
}

struct Dice {
    plan: FaultPlan,
    state: Mutex<(StdRng, u64)>,
    crashed: AtomicBool,
}

enum Fate {
    Well,
    FailBefore,
    FailAfter,
}

impl Faults {
    pub fn new(engine: SharedEngine, plan: FaultPlan) -> Arc<Self> {
        let state = Mutex::new((StdRng::seed_from_u64(plan.seed), 0));
        Arc::new(Self { engine, dice: Arc::new(Dice { plan, state, crashed: AtomicBool::new(false) }) })
    }
}

impl Dice {
    fn roll(&self) -> (Duration, f64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = state.0.random::<f64>() < self.plan.delay_share;
        let wait = if waits { self.plan.delay.mul_f64(state.0.random()) } else { Duration::ZERO };
        (wait, state.0.random())
    }

    /// Before any call: perhaps a delay, perhaps an error.
    async fn before(&self) -> Result<()> {
        let (wait, luck) = self.roll();
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        if self.crashed.load(Ordering::SeqCst) {
            return Err(Error::unavailable("crashed on purpose"));
        }
        if luck < self.plan.error_before {
            return Err(Error::unavailable("failed on purpose, before"));
        }
        Ok(())
    }

    /// Decides what becomes of a commit, and counts it.
    fn fate(&self) -> Fate {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let number = state.1;
        state.1 += 1;
        let luck: f64 = state.0.random();
        if self.plan.crash_at_commit.is_some_and(|at| number >= at) {
            self.crashed.store(true, Ordering::SeqCst);
            // Whether the last write before a crash is there, nobody can tell from outside.
            return if luck < 0.5 { Fate::FailBefore } else { Fate::FailAfter };
        }
        if luck < self.plan.error_after { Fate::FailAfter } else { Fate::Well }
    }
}

#[async_trait]
impl Engine for Faults {
    async fn begin(&self, shard: Shard) -> Result<Box<dyn Session>> {
        self.dice.before().await?;
        let session = self.engine.begin(shard).await?;
        Ok(Box::new(FaultSession { session, dice: self.dice.clone() }))
    }

    async fn snapshot(&self, shard: Shard) -> Result<Box<dyn Reader>> {
        self.dice.before().await?;
        Ok(Box::new(FaultReader { reader: self.engine.snapshot(shard).await?, dice: self.dice.clone() }))
    }

    async fn scan_shards(
        &self,
        table: TableId,
        shards: &[Shard],
        range: &Range,
    ) -> Result<Vec<(Shard, RawRow)>> {
        self.dice.before().await?;
        self.engine.scan_shards(table, shards, range).await
    }

    async fn put_alone(&self, shard: Shard, table: TableId, key: KeyBytes, value: Bytes) -> Result<()> {
        self.dice.before().await?;
        self.engine.put_alone(shard, table, key, value).await
    }

    async fn health(&self) -> Result<()> {
        self.dice.before().await?;
        self.engine.health().await
    }

    async fn close(&self) -> Result<()> {
        self.engine.close().await
    }
}

struct FaultReader {
    reader: Box<dyn Reader>,
    dice: Arc<Dice>,
}

#[async_trait]
impl Reader for FaultReader {
    async fn get_many(&self, table: TableId, keys: &[KeyBytes]) -> Result<Vec<Option<Bytes>>> {
        self.dice.before().await?;
        self.reader.get_many(table, keys).await
    }

    async fn scan(&self, table: TableId, range: &Range) -> Result<Vec<RawRow>> {
        self.dice.before().await?;
        self.reader.scan(table, range).await
    }
}

struct FaultSession {
    session: Box<dyn Session>,
    dice: Arc<Dice>,
}

#[async_trait]
impl Reader for FaultSession {
    async fn get_many(&self, table: TableId, keys: &[KeyBytes]) -> Result<Vec<Option<Bytes>>> {
        self.dice.before().await?;
        self.session.get_many(table, keys).await
    }

    async fn scan(&self, table: TableId, range: &Range) -> Result<Vec<RawRow>> {
        self.dice.before().await?;
        self.session.scan(table, range).await
    }
}

#[async_trait]
impl Session for FaultSession {
    async fn commit(self: Box<Self>, writes: Writes) -> Result<()> {
        if writes.rows.is_empty() {
            return self.session.commit(writes).await;
        }
        self.dice.before().await?;
        match self.dice.fate() {
            Fate::Well => self.session.commit(writes).await,
            Fate::FailBefore => Err(Error::unknown("crashed on purpose, before the write")),
            Fate::FailAfter => {
                self.session.commit(writes).await?;
                Err(Error::unknown("failed on purpose, after the write"))
            }
        }
    }
}
