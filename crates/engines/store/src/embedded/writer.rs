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
/// How often each keyspace gets its tiny insert.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

pub(super) struct Writer {
    disk: Arc<Disk>,
    health: Arc<Health>,
    wakes: Wakes,
    commit: u64,
    unrotated: [u64; SPACES],
    rotated_at: [Instant; SPACES],
    alive_at: Instant,
}

impl Writer {
    pub(super) fn new(disk: Arc<Disk>, health: Arc<Health>, wakes: Wakes) -> Self {
        let now = Instant::now();
        let commit = disk.committed();
        // What was read back from a long journal goes to disk first: whoever is killed often would read back ever more.
        let read_back = disk.db.journal_disk_space().unwrap_or_default();
        let unrotated = if read_back > LONG_JOURNAL_BYTES { ROTATE_BYTES } else { [0; SPACES] };
        Self { disk, health, wakes, commit, unrotated, rotated_at: [now; SPACES], alive_at: now }
    }

    /// When it has something to do even if nobody writes.
    pub(super) fn due_in(&self) -> Duration {
        KEEP_ALIVE.saturating_sub(self.alive_at.elapsed())
    }

    pub(super) fn fail(&self, reason: &str) {
        self.health.fail(reason);
    }

    /// Writes a group and acknowledges it. After a failure it refuses: nobody can say what of that group is on disk, nor
    /// whether the next write would be. A restart can.
    pub(super) fn write(&mut self, group: Vec<Job>) {
        if self.health.check().is_err() {
            self.alive_at = Instant::now();
            return refuse(group, || self.health.check());
        }
        let keep_alive = self.due_in().is_zero();
        if group.is_empty() && !keep_alive {
            return;
        }
        match self.write_rows(group, keep_alive) {
            Ok(written) => written.into_iter().for_each(|job| self.acknowledge(job)),
            Err((group, error)) => {
                let reason = format!("the embedded store failed to write and must be reopened: {error}");
                self.fail(&reason);
                refuse(group, || Err(Error::unknown(reason.clone())));
            }
        }
        self.rotate();
    }

    fn write_rows(
        &mut self,
        mut group: Vec<Job>,
        keep_alive: bool,
    ) -> Result<Vec<Job>, (Vec<Job>, fjall::Error)> {
        let mut rows = Vec::with_capacity(group.iter().map(|job| job.rows.len()).sum());
        for job in &mut group {
            rows.append(&mut job.rows);
        }
        if keep_alive {
            rows.append(&mut Disk::keep_alive_rows());
            self.alive_at = Instant::now();
        }
        let began = Instant::now();
        self.health.commit_begins();
        let written = self.disk.write(self.commit + 1, rows.into_iter());
        self.health.commit_ends();
        match written {
            Ok(bytes) => {
                self.commit += 1;
                for (unrotated, bytes) in self.unrotated.iter_mut().zip(bytes) {
                    *unrotated += bytes;
                }
                metrics::counter!("dvor_store_commits_total").increment(1);
                metrics::counter!("dvor_store_transactions_total").increment(group.len() as u64);
                metrics::histogram!("dvor_store_commit_seconds").record(began.elapsed());
                Ok(group)
            }
            Err(error) => Err((group, error)),
        }
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

    fn rotate(&mut self) {
        for (space, keyspace) in self.disk.keyspaces().iter().enumerate() {
            let (unrotated, rotated_at) = (&mut self.unrotated[space], &mut self.rotated_at[space]);
            let old = *unrotated > 0 && rotated_at.elapsed() >= ROTATE_AFTER;
            if !old && *unrotated < ROTATE_BYTES[space] {
                continue;
            }
            if let Err(error) = keyspace.rotate_memtable() {
                tracing::warn!(%error, space, "a memtable was not rotated");
            }
            *unrotated = 0;
            *rotated_at = Instant::now();
        }
    }
}

fn refuse(group: Vec<Job>, answer: impl Fn() -> Result<()>) {
    for job in group {
        if let Some((lane, _)) = &job.lane {
            lane.give_up();
        }
        let _ = job.done.send(answer());
    }
}
