//! The one hand that writes: many transactions per fsync.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::committer::Job;
use super::disk::{Disk, SPACES};
use super::guard::Health;
use crate::{Error, Result, Wakes};

/// Memtables are rotated at these sizes (small, large, queue). What four of them hold is merged with a level of up to
/// 256 MiB each time, so small ones are rewritten many times over.
const ROTATE_BYTES: [u64; SPACES] = [64 << 20, 64 << 20, 64 << 20];
/// And at this age, so that reopening stays short.
const ROTATE_AFTER: Duration = Duration::from_secs(60);
/// A journal that is longer when it is opened has been written to; a new one is made as long as this.
const LONG_JOURNAL_BYTES: u64 = 64 << 20;
/// A write, without the disk, that takes longer was held back by the database, or interrupted.
const SLOW_WRITE: Duration = Duration::from_millis(1);
/// So many slow ones in a row are the database.
const SLOW_IN_A_ROW: u32 = 16;
/// How often each keyspace gets its tiny insert.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

pub(super) struct Writer {
    disk: Arc<Disk>,
    health: Arc<Health>,
    wakes: Wakes,
    commit: u64,
    unfinished: Option<Unfinished>,
    slow_in_a_row: u32,
    unrotated: [u64; SPACES],
    rotated_at: [Instant; SPACES],
    alive_at: Instant,
}

/// A group that is written and not yet durable.
struct Unfinished {
    group: Vec<Job>,
    began: Instant,
}

impl Writer {
    pub(super) fn new(disk: Arc<Disk>, health: Arc<Health>, wakes: Wakes) -> Self {
        let now = Instant::now();
        let commit = disk.committed();
        // What was read back from a long journal goes to disk first: whoever is killed often would read back ever more.
        let read_back = disk.db.journal_disk_space().unwrap_or_default();
        let unrotated = if read_back > LONG_JOURNAL_BYTES { ROTATE_BYTES } else { [0; SPACES] };
        Self {
            disk,
            health,
            wakes,
            commit,
            unfinished: None,
            slow_in_a_row: 0,
            unrotated,
            rotated_at: [now; SPACES],
            alive_at: now,
        }
    }

    /// When it has something to do even if nobody writes.
    pub(super) fn due_in(&self) -> Duration {
        KEEP_ALIVE.saturating_sub(self.alive_at.elapsed())
    }

    pub(super) fn fail(&self, reason: &str) {
        self.health.fail(reason);
    }

    /// Writes a group, makes it durable and acknowledges it; and what another has begun, before that.
    pub(super) fn write(&mut self, group: Vec<Job>) {
        if self.unfinished.is_some() {
            self.finish(sync(&self.disk, &self.health, self.commit));
        }
        if let Some(commit) = self.begin(group) {
            self.finish(sync(&self.disk, &self.health, commit));
        }
        self.rotate();
    }

    /// Writes a group; [`sync`] makes it durable then, and [`Writer::finish`] acknowledges it. After a failure it refuses:
    /// nobody can say what of that group is on disk, nor whether the next write would be. A restart can.
    pub(super) fn begin(&mut self, mut group: Vec<Job>) -> Option<u64> {
        if self.health.check().is_err() {
            self.alive_at = Instant::now();
            refuse(group, || self.health.check());
            return None;
        }
        let keep_alive = self.due_in().is_zero();
        if group.is_empty() && !keep_alive {
            return None;
        }
        let mut rows = Vec::with_capacity(group.iter().map(|job| job.rows.len()).sum());
        for job in &mut group {
            rows.append(&mut job.rows);
        }
        if keep_alive {
            rows.append(&mut Disk::keep_alive_rows());
            self.alive_at = Instant::now();
        }
        let began = Instant::now();
        let written = self.health.watched(|| self.disk.write(self.commit + 1, rows));
        self.slow_in_a_row =
            if began.elapsed() > SLOW_WRITE { self.slow_in_a_row.saturating_add(1) } else { 0 };
        match written {
            Ok(bytes) => {
                self.commit += 1;
                for (unrotated, bytes) in self.unrotated.iter_mut().zip(bytes) {
                    *unrotated += bytes;
                }
                self.unfinished = Some(Unfinished { group, began });
                Some(self.commit)
            }
            Err(error) => {
                self.fail_with(group, &error);
                None
            }
        }
    }

    /// Acknowledges the group that was begun.
    pub(super) fn finish(&mut self, synced: Result<(), fjall::Error>) {
        let Some(Unfinished { group, began }) = self.unfinished.take() else { return };
        match synced {
            Ok(()) => {
                metrics::counter!("dvor_store_commits_total").increment(1);
                metrics::counter!("dvor_store_transactions_total").increment(group.len() as u64);
                metrics::histogram!("dvor_store_commit_seconds").record(began.elapsed());
                for job in group {
                    self.acknowledge(job);
                }
            }
            Err(error) => self.fail_with(group, &error),
        }
    }

    fn fail_with(&self, group: Vec<Job>, error: &fjall::Error) {
        let reason = format!("the embedded store failed to write and must be reopened: {error}");
        self.fail(&reason);
        refuse(group, || Err(Error::unknown(reason.clone())));
    }

    fn acknowledge(&self, job: Job) {
        if let Some((lane, number)) = &job.lane {
            lane.acknowledge(*number);
        }
        for channel in &job.wakes {
            self.wakes.wake(channel, job.shard);
        }
        // Nobody waits for the answer when the caller went away.
        let _ = job.done.send(Ok(()));
    }

    /// Whether the database lets us wait before it takes what we write.
    pub(super) fn is_held_back(&self) -> bool {
        self.slow_in_a_row >= SLOW_IN_A_ROW
    }

    /// Whether a memtable is to be rotated, which may take a while: [`Writer::write`] does it.
    pub(super) fn is_rotation_due(&self) -> bool {
        (0..SPACES).any(|space| self.is_full_or_old(space))
    }

    fn is_full_or_old(&self, space: usize) -> bool {
        let unrotated = self.unrotated[space];
        unrotated >= ROTATE_BYTES[space] || unrotated > 0 && self.rotated_at[space].elapsed() >= ROTATE_AFTER
    }

    fn rotate(&mut self) {
        for (space, keyspace) in self.disk.keyspaces().iter().enumerate() {
            if !self.is_full_or_old(space) {
                continue;
            }
            if let Err(error) = keyspace.rotate_memtable() {
                tracing::warn!(%error, space, "a memtable was not rotated");
            }
            (self.unrotated[space], self.rotated_at[space]) = (0, Instant::now());
        }
    }
}

/// Makes a commit durable.
pub(super) fn sync(disk: &Disk, health: &Health, commit: u64) -> Result<(), fjall::Error> {
    health.watched(|| disk.sync(commit))
}

fn refuse(group: Vec<Job>, answer: impl Fn() -> Result<()>) {
    for job in group {
        if let Some((lane, _)) = &job.lane {
            lane.give_up();
        }
        let _ = job.done.send(answer());
    }
}
