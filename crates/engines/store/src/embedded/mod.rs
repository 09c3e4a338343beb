//! The embedded engine: fjall as a plain ordered key-value store, a lane per shard, one committer.
//!
//! A transaction waits for its lane's turn, runs its body on (the pending writes of its lane, a database snapshot), and
//! hands its writes to the committer. The committer takes what all lanes have ready, writes it as **one** batch with one
//! fsync, and acknowledges the whole group. The lane is free for its next body at the hand-over already
//! (*early release*): that body sees the pending writes, and it is answered only after them, so nothing is visible
//! outside before it is durable, and one busy seller is not bound to one transaction per fsync.
//!
//! - `disk.rs`: the database as we hold it: three keyspaces, the dictionary of tables, the format, the witness.
//! - `lane.rs`: turns, pending writes, sessions.
//! - `committer.rs`: who commits, and when.
//! - `writer.rs`: writes groups, rotates memtables and acknowledges.
//! - `rows.rs`: rows in memory.
//! - `journal.rs`: cuts off what a power cut left half written.
//! - `runway.rs`: blocks that lie ready for the journal.
//! - `guard.rs`: watches the database: a stuck commit, a full disk, journals that do not shrink.

mod committer;
mod disk;
mod guard;
mod journal;
mod lane;
mod rows;
mod runway;
mod writer;

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
use disk::{Disk, Sight};
use guard::{Guard, Health};
use lane::Lane;

pub(crate) struct Embedded {
    parts: Arc<Parts>,
    _guard: Guard,
}

/// What sessions share with the engine.
pub(crate) struct Parts {
    disk: Arc<Disk>,
    lanes: Vec<Arc<Lane>>,
    committer: Committer,
    health: Arc<Health>,
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
        Ok(Self { parts: Arc::new(Parts { disk, lanes, committer, health }), _guard: guard })
    }
}

impl std::ops::Deref for Embedded {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

#[async_trait]
impl Engine for Embedded {
    async fn begin(&self, shard: Shard) -> Result<Box<dyn Session>> {
        self.health.check()?;
        Ok(Box::new(lane::begin(&self.parts, shard).await?))
    }

    async fn snapshot(&self, shard: Shard) -> Result<Box<dyn Reader>> {
        Ok(Box::new(View { disk: self.disk.clone(), shard, sight: self.disk.sight() }))
    }

    async fn get_many(&self, table: TableId, rows: &[(Shard, KeyBytes)]) -> Result<Vec<Option<Bytes>>> {
        let keys: Vec<_> =
            rows.iter().map(|(shard, key)| self.disk.full_key(table, *shard, key.as_slice())).collect();
        // All after the same commit, or none: a snapshot that is taken later may be of a later one.
        if let Some(values) = self.disk.all_remembered(self.disk.committed(), table, &keys) {
            return Ok(values);
        }
        let sight = self.disk.sight();
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(READ_AT_ONCE) {
            let read =
                || keys.iter().map(|key| self.disk.get(&sight, table, key)).collect::<Result<Vec<_>>>();
            values.extend(self.disk.reads.run(read)?);
        }
        Ok(values)
    }

    async fn scan_shards(
        &self,
        table: TableId,
        shards: &[Shard],
        range: &Range,
    ) -> Result<Vec<(Shard, RawRow)>> {
        let sight = self.disk.sight();
        self.disk.reads.run(|| {
            let mut found = Vec::new();
            for shard in shards {
                let rows = self.disk.scan(&sight, table, *shard, range)?;
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

    async fn moment(&self) -> Result<Option<Box<dyn Moment>>> {
        Ok(Some(Box::new(DiskMoment { disk: self.disk.clone(), sight: self.disk.sight() })))
    }
}

/// A durable view of one shard.
struct View {
    disk: Arc<Disk>,
    shard: Shard,
    sight: Sight,
}

#[async_trait]
impl Reader for View {
    async fn get_many(&self, table: TableId, keys: &[KeyBytes]) -> Result<Vec<Option<Bytes>>> {
        self.disk
            .reads
            .run(|| keys.iter().map(|key| self.disk.row_of(&self.sight, table, self.shard, key)).collect())
    }

    async fn scan(&self, table: TableId, range: &Range) -> Result<Vec<RawRow>> {
        self.disk.reads.run(|| self.disk.scan(&self.sight, table, self.shard, range))
    }
}

/// All shards at one moment.
struct DiskMoment {
    disk: Arc<Disk>,
    sight: Sight,
}

impl Moment for DiskMoment {
    fn reader(&self, shard: Shard) -> Box<dyn Reader> {
        Box::new(View { disk: self.disk.clone(), shard, sight: self.sight.clone() })
    }
}

/// Decides where reads run. Most are answered from memory in microseconds, and moving a runtime's other tasks to a fresh
/// thread costs more than that; so reads run in place until several were slow, and the next ones where blocking is
/// allowed.
#[derive(Default)]
struct ReadPlace {
    slowness: AtomicU32,
}

/// Rows of a large question that are one read, so that it is not slow for being large.
const READ_AT_ONCE: usize = 16;
/// A read that takes longer has been to a slow disk, or was interrupted.
const SLOW_READ: Duration = Duration::from_millis(2);
/// How many quick reads a slow one weighs. Reads that are only interrupted are fewer than that; to be careful then would
/// make the threads that interrupt each other.
const SLOW_WEIGHT: u32 = 32;
/// From here on reads are careful.
const SLOW: u32 = 2 * SLOW_WEIGHT;
const MOST_SLOWNESS: u32 = 4 * SLOW_WEIGHT;

impl ReadPlace {
    fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let slowness = self.slowness.load(Ordering::Relaxed);
        let answer =
            if slowness > SLOW && may_block_in_place() { tokio::task::block_in_place(work) } else { work() };
        // An estimate: what two readers say at the same time may be lost.
        if began.elapsed() > SLOW_READ {
            self.slowness.store((slowness + SLOW_WEIGHT).min(MOST_SLOWNESS), Ordering::Relaxed);
        } else if slowness > 0 {
            self.slowness.store(slowness - 1, Ordering::Relaxed);
        }
        answer
    }
}

fn may_block_in_place() -> bool {
    use tokio::runtime::{Handle, RuntimeFlavor};
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

impl Disk {
    fn row_of(&self, sight: &Sight, table: TableId, shard: Shard, key: &KeyBytes) -> Result<Option<Bytes>> {
        self.get(sight, table, &self.full_key(table, shard, key.as_slice()))
    }

    fn scan(&self, sight: &Sight, table: TableId, shard: Shard, range: &Range) -> Result<Vec<RawRow>> {
        let (from, to) = range.byte_bounds();
        let first = self.full_key(table, shard, &from);
        let last = match to {
            Some(to) => self.full_key(table, shard, &to),
            None => self.behind(table, shard),
        };
        if first >= last {
            return Ok(Vec::new());
        }
        let rows = sight.snapshot.range(self.keyspace(table), first..last);
        let row = |guard: fjall::Guard| {
            let (key, value) = guard.into_inner().map_err(disk::reading)?;
            Ok((KeyBytes(key[disk::PREFIX_BYTES..].to_vec()), Bytes::from_owner(value)))
        };
        if range.reverse {
            rows.rev().take(range.limit).map(row).collect()
        } else {
            rows.take(range.limit).map(row).collect()
        }
    }
}
