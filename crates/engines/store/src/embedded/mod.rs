//! The embedded engine: fjall as a plain ordered key-value store, a lane per shard, one committer.
//!
//! A transaction waits for its lane's turn, runs its body on (the pending writes of its lane, a database snapshot), and
//! hands its writes to the committer thread. The committer takes what all lanes have ready, writes it as **one** batch
//! with one fsync, and acknowledges the whole group. The lane is free for its next body at the hand-over already
//! (*early release*): that body sees the pending writes, and it is answered only after them, so nothing is visible
//! outside before it is durable, and one busy seller is not bound to one transaction per fsync.
//!
//! - `disk.rs`: the database as we hold it: three keyspaces, the dictionary of tables, the format, the witness.
//! - `lane.rs`: turns, pending writes, sessions.
//! - `committer.rs`: the thread that writes, rotates memtables and acknowledges.
//! - `guard.rs`: watches the database: a stuck commit, a full disk, journals that do not shrink.

mod committer;
mod disk;
mod guard;
mod lane;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use fjall::Readable as _;

use crate::engine::{Engine, Moment, RawRow, Reader, Session};
use crate::key::KeyBytes;
use crate::{Error, Kind, Options, Range, Result, SHARDS, Schema, Shard, TableId, Wakes};
use committer::{Committer, Job};
use disk::Disk;
use guard::{Guard, Health};
use lane::Lane;

pub(crate) struct Embedded {
    disk: Arc<Disk>,
    lanes: Vec<Arc<Lane>>,
    committer: Committer,
    health: Arc<Health>,
    _guard: Guard,
}

/// Opens or makes the store in a folder.
pub(crate) async fn open(
    folder: PathBuf,
    schema: Arc<Schema>,
    wakes: Wakes,
    options: Options,
) -> Result<Embedded> {
    // Reading the journal back takes a moment, and blocks.
    let open = move || Embedded::open(&folder, &schema, wakes, &options);
    let opened = tokio::task::spawn_blocking(open).await;
    opened.map_err(|error| Error::with_source(Kind::Unavailable, "the store was not opened", error))?
}

impl Embedded {
    fn open(folder: &Path, schema: &Schema, wakes: Wakes, options: &Options) -> Result<Self> {
        let disk = Arc::new(Disk::open(folder, schema, options)?);
        let health = Arc::new(Health::new(folder, options));
        let committer = Committer::start(disk.clone(), health.clone(), wakes)?;
        let guard = Guard::start(&disk, health.clone())?;
        let lanes = (0..SHARDS).map(|_| Arc::new(Lane::new())).collect();
        Ok(Self { disk, lanes, committer, health, _guard: guard })
    }
}

#[async_trait]
impl Engine for Embedded {
    async fn begin(&self, shard: Shard) -> Result<Box<dyn Session>> {
        self.health.check()?;
        let lane = &self.lanes[shard.index()];
        Ok(Box::new(lane::begin(lane, shard, &self.disk, &self.committer, &self.health).await?))
    }

    async fn snapshot(&self, shard: Shard) -> Result<Box<dyn Reader>> {
        Ok(Box::new(View { disk: self.disk.clone(), shard, snapshot: self.disk.db.snapshot() }))
    }

    async fn scan_shards(
        &self,
        table: TableId,
        shards: &[Shard],
        range: &Range,
    ) -> Result<Vec<(Shard, RawRow)>> {
        let snapshot = self.disk.db.snapshot();
        self.disk.reads.run(|| {
            let mut found = Vec::new();
            for shard in shards {
                let rows = self.disk.scan(&snapshot, table, *shard, range)?;
                found.extend(rows.into_iter().map(|row| (*shard, row)));
            }
            Ok(found)
        })
    }

    async fn put_alone(&self, shard: Shard, table: TableId, key: KeyBytes, value: Bytes) -> Result<()> {
        self.health.check()?;
        let rows = vec![self.disk.row(table, shard, &key, Some(&value))];
        let (job, answer) = Job::alone(shard, rows);
        self.committer.hand_over(job)?;
        committer::answered(answer).await
    }

    async fn health(&self) -> Result<()> {
        self.health.check()?;
        self.health.check_room()
    }

    async fn close(&self) -> Result<()> {
        self.committer.stop().await;
        self.health.check()
    }

    fn moment(&self) -> Option<Box<dyn Moment>> {
        Some(Box::new(DiskMoment { disk: self.disk.clone(), snapshot: self.disk.db.snapshot() }))
    }
}

/// A durable view of one shard.
struct View {
    disk: Arc<Disk>,
    shard: Shard,
    snapshot: fjall::Snapshot,
}

#[async_trait]
impl Reader for View {
    async fn get_many(&self, table: TableId, keys: &[KeyBytes]) -> Result<Vec<Option<Bytes>>> {
        self.disk
            .reads
            .run(|| keys.iter().map(|key| self.disk.get(&self.snapshot, table, self.shard, key)).collect())
    }

    async fn scan(&self, table: TableId, range: &Range) -> Result<Vec<RawRow>> {
        self.disk.reads.run(|| self.disk.scan(&self.snapshot, table, self.shard, range))
    }
}

/// All shards at one moment.
struct DiskMoment {
    disk: Arc<Disk>,
    snapshot: fjall::Snapshot,
}

impl Moment for DiskMoment {
    fn reader(&self, shard: Shard) -> Box<dyn Reader> {
        Box::new(View { disk: self.disk.clone(), shard, snapshot: self.snapshot.clone() })
    }
}

/// Decides where reads run. Most are answered from memory in microseconds, and moving a runtime's other tasks to a fresh
/// thread costs more than that; so reads run in place until one was slow, and the next ones where blocking is allowed.
#[derive(Default)]
struct ReadPlace {
    careful_reads: AtomicU32,
}

/// A read that takes longer has been to a slow disk. (One that was only interrupted looks the same; so caution is short,
/// or it would make the threads that interrupt each other.)
const SLOW_READ: Duration = Duration::from_millis(2);
/// How many reads are careful after a slow one.
const CAREFUL_READS: u32 = 16;

impl ReadPlace {
    fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let careful = self.careful_reads.load(Ordering::Relaxed);
        let answer = if careful > 0 && may_block_in_place() {
            self.careful_reads.store(careful - 1, Ordering::Relaxed);
            tokio::task::block_in_place(work)
        } else {
            work()
        };
        if began.elapsed() > SLOW_READ {
            self.careful_reads.store(CAREFUL_READS, Ordering::Relaxed);
        }
        answer
    }
}

fn may_block_in_place() -> bool {
    use tokio::runtime::{Handle, RuntimeFlavor};
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

impl Disk {
    fn get(
        &self,
        snapshot: &fjall::Snapshot,
        table: TableId,
        shard: Shard,
        key: &KeyBytes,
    ) -> Result<Option<Bytes>> {
        let value = snapshot.get(self.keyspace(table), self.full_key(table, shard, key.as_slice()));
        value.map(|value| value.map(Bytes::from_owner)).map_err(reading)
    }

    fn scan(
        &self,
        snapshot: &fjall::Snapshot,
        table: TableId,
        shard: Shard,
        range: &Range,
    ) -> Result<Vec<RawRow>> {
        let (from, to) = range.byte_bounds();
        let first = self.full_key(table, shard, &from);
        let last = match to {
            Some(to) => self.full_key(table, shard, &to),
            None => self.behind(table, shard),
        };
        if first >= last {
            return Ok(Vec::new());
        }
        let rows = snapshot.range(self.keyspace(table), first..last);
        let row = |guard: fjall::Guard| {
            let (key, value) = guard.into_inner().map_err(reading)?;
            Ok((KeyBytes(key[disk::PREFIX_BYTES..].to_vec()), Bytes::from_owner(value)))
        };
        if range.reverse {
            rows.rev().take(range.limit).map(row).collect()
        } else {
            rows.take(range.limit).map(row).collect()
        }
    }
}

fn reading(error: fjall::Error) -> Error {
    Error::with_source(Kind::Unavailable, "the embedded store cannot be read", error)
}
