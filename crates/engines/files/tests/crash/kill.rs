use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use files::objects::{Memory, Objects, SharedObjects};
use files::{Body, ObjectName};
use futures::stream::BoxStream;
use store::engine::{Engine, RawRow, Reader, Session, SharedEngine, Writes};
use store::{KeyBytes, Result, Shard, TableId};
use tokio::sync::Notify;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Before,
    After,
}

/// Counts the steps of a process that change something outside of it, and stops it at one of them.
pub(super) struct Kill {
    at: usize,
    when: When,
    steps: Mutex<Vec<&'static str>>,
    reached: Notify,
    woken: Notify,
    awake: AtomicBool,
}

impl Kill {
    pub(super) fn at(at: usize, when: When) -> Arc<Self> {
        let (reached, woken) = (Notify::new(), Notify::new());
        Arc::new(Self { at, when, steps: Mutex::default(), reached, woken, awake: AtomicBool::new(false) })
    }

    pub(super) fn never() -> Arc<Self> {
        Self::at(usize::MAX, When::Before)
    }

    /// The steps so far.
    pub(super) fn steps(&self) -> Vec<&'static str> {
        self.steps.lock().unwrap().clone()
    }

    /// Runs the process to its end, or to its death (`None`), in which all of it is dropped where it stands.
    pub(super) async fn run<T>(&self, process: impl Future<Output = files::Result<T>>) -> Option<T> {
        tokio::select! {
            biased;
            ended = process => Some(ended.expect("nothing fails, things only die")),
            () = self.killed() => None,
        }
    }

    pub(super) async fn killed(&self) {
        self.reached.notified().await;
    }

    /// Lets the process go on that was only thought dead.
    pub(super) fn wake(&self) {
        self.awake.store(true, Ordering::SeqCst);
        self.woken.notify_one();
    }

    async fn step<T>(&self, name: &'static str, effect: impl Future<Output = T>) -> T {
        let number = {
            let mut steps = self.steps.lock().unwrap();
            steps.push(name);
            steps.len() - 1
        };
        if number == self.at && self.when == When::Before {
            self.die().await;
        }
        let answer = effect.await;
        if number == self.at && self.when == When::After {
            self.die().await;
        }
        answer
    }

    async fn die(&self) {
        self.reached.notify_one();
        while !self.awake.load(Ordering::SeqCst) {
            self.woken.notified().await;
        }
    }
}

pub(super) fn every_step(count: usize) -> impl Iterator<Item = (usize, When)> {
    (0..count).flat_map(|at| [(at, When::Before), (at, When::After)])
}

pub(super) fn wrap_objects(objects: Arc<Memory>, kill: &Arc<Kill>) -> SharedObjects {
    Arc::new(DoomedObjects { objects, kill: kill.clone() })
}

pub(super) fn wrap_engine(engine: SharedEngine, kill: &Arc<Kill>) -> SharedEngine {
    Arc::new(DoomedEngine { engine, kill: kill.clone() })
}

struct DoomedObjects {
    objects: Arc<Memory>,
    kill: Arc<Kill>,
}

#[async_trait]
impl Objects for DoomedObjects {
    async fn put(&self, name: &ObjectName, body: &Body) -> files::Result<()> {
        self.kill.step("put", self.objects.put(name, body)).await
    }

    async fn get(
        &self,
        name: &ObjectName,
        range: Range<u64>,
    ) -> files::Result<BoxStream<'static, files::Result<Bytes>>> {
        self.objects.get(name, range).await
    }

    async fn size(&self, name: &ObjectName) -> files::Result<Option<u64>> {
        self.objects.size(name).await
    }

    async fn delete(&self, name: &ObjectName) -> files::Result<()> {
        self.kill.step("delete", self.objects.delete(name)).await
    }

    fn list(&self) -> BoxStream<'static, files::Result<ObjectName>> {
        self.objects.list()
    }

    async fn tidy(&self, older_than: Duration) -> files::Result<usize> {
        self.objects.tidy(older_than).await
    }
}

struct DoomedEngine {
    engine: SharedEngine,
    kill: Arc<Kill>,
}

struct DoomedSession {
    session: Box<dyn Session>,
    kill: Arc<Kill>,
}

#[async_trait]
impl Engine for DoomedEngine {
    async fn begin(&self, shard: Shard) -> Result<Box<dyn Session>> {
        let session = self.engine.begin(shard).await?;
        Ok(Box::new(DoomedSession { session, kill: self.kill.clone() }))
    }

    async fn snapshot(&self, shard: Shard) -> Result<Box<dyn Reader>> {
        self.engine.snapshot(shard).await
    }

    async fn scan_shards(
        &self,
        table: TableId,
        shards: &[Shard],
        range: &store::Range,
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

#[async_trait]
impl Reader for DoomedSession {
    async fn get_many(&self, table: TableId, keys: &[KeyBytes]) -> Result<Vec<Option<Bytes>>> {
        self.session.get_many(table, keys).await
    }

    async fn scan(&self, table: TableId, range: &store::Range) -> Result<Vec<RawRow>> {
        self.session.scan(table, range).await
    }
}

#[async_trait]
impl Session for DoomedSession {
    async fn commit(self: Box<Self>, writes: Writes) -> Result<()> {
        let Self { session, kill } = *self;
        if writes.rows.is_empty() {
            return session.commit(writes).await;
        }
        kill.step("commit", session.commit(writes)).await
    }
}
