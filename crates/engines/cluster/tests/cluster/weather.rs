//! A store that is bad to one member until the weather turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use store::engine::{Engine, RawRow, Reader, Session, SharedEngine};
use store::{FaultPlan, Faults, KeyBytes, Range, Result, Shard, Store, TableId};

/// All members of a simulation share it.
#[derive(Clone, Default)]
pub(crate) struct Calm(Arc<AtomicBool>);

impl Calm {
    pub(crate) fn begin(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The store as one member sees it: with faults from its plan, without them once it is calm.
pub(crate) fn stormy(store: &Store, plan: FaultPlan, calm: &Calm) -> Store {
    store.wrapped(|engine| {
        let faulty = Faults::new(engine.clone(), plan);
        Arc::new(Weather { good: engine, bad: faulty, calm: calm.clone() })
    })
}

struct Weather {
    good: SharedEngine,
    bad: SharedEngine,
    calm: Calm,
}

impl Weather {
    fn now(&self) -> &SharedEngine {
        if self.calm.0.load(Ordering::SeqCst) { &self.good } else { &self.bad }
    }
}

#[async_trait]
impl Engine for Weather {
    async fn begin(&self, shard: Shard) -> Result<Box<dyn Session>> {
        self.now().begin(shard).await
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
        self.now().put_alone(shard, table, key, value).await
    }

    async fn health(&self) -> Result<()> {
        self.now().health().await
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}
