//! Watches the database from outside the committer: what is stuck or full is seen and said, not waited for.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::disk::Disk;
use crate::{Error, Kind, Options, Result};

/// A commit that takes longer is stuck: a busy disk may need seconds, a deadlock lasts for ever.
const COMMIT_LIMIT: Duration = Duration::from_secs(30);
/// Flushes that are outstanding and make no progress for so long are stuck as well.
const FLUSH_LIMIT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How the store is, shared by everybody who must know.
pub(super) struct Health {
    folder: PathBuf,
    reserve_bytes: u64,
    on_failure: fn(&str),
    failure: OnceLock<String>,
    full: AtomicBool,
    began: Instant,
    /// When the commit under way began, in milliseconds since `began` plus one; zero: none is.
    commit_began: AtomicU64,
}

impl Health {
    pub(super) fn new(folder: &Path, options: &Options) -> Self {
        let health = Self {
            folder: folder.to_owned(),
            reserve_bytes: options.reserve_bytes,
            on_failure: options.on_failure,
            failure: OnceLock::new(),
            full: AtomicBool::new(false),
            began: Instant::now(),
            commit_began: AtomicU64::new(0),
        };
        health.look_at_room();
        health
    }

    pub(super) fn check(&self) -> Result<()> {
        match self.failure.get() {
            Some(reason) => Err(Error::unavailable(reason.clone())),
            None => Ok(()),
        }
    }

    /// Writes stop well before the disk is full: a database that runs into the end of the disk must be reopened.
    pub(super) fn check_room(&self) -> Result<()> {
        self.check()?;
        if self.full.load(Ordering::Relaxed) {
            return Err(Error::new(
                Kind::Full,
                format!(
                    "less than {} MiB are free on the disk of {}: nothing is written until there is room again",
                    self.reserve_bytes >> 20,
                    self.folder.display()
                ),
            ));
        }
        Ok(())
    }

    /// Ends all writing, for good.
    pub(super) fn fail(&self, reason: &str) {
        if self.failure.set(reason.to_owned()).is_ok() {
            tracing::error!("{reason}");
            (self.on_failure)(reason);
        }
    }

    /// Does what belongs to a commit; the guard sees when it is stuck.
    pub(super) fn watched<T>(&self, work: impl FnOnce() -> T) -> T {
        self.commit_began.store(self.began.elapsed().as_millis() as u64 + 1, Ordering::Relaxed);
        let done = work();
        self.commit_began.store(0, Ordering::Relaxed);
        done
    }

    fn commit_age(&self) -> Duration {
        match self.commit_began.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            began => {
                Duration::from_millis((self.began.elapsed().as_millis() as u64 + 1).saturating_sub(began))
            }
        }
    }

    fn look_at_room(&self) {
        // A disk that cannot be asked is taken for one with room: the write itself will tell.
        let full = fs4::available_space(&self.folder).is_ok_and(|free| free < self.reserve_bytes);
        if full != self.full.swap(full, Ordering::Relaxed) {
            tracing::warn!(full, folder = %self.folder.display(), "room on the disk");
        }
    }
}

/// The watching thread; ends when it is dropped.
pub(super) struct Guard(Arc<AtomicBool>);

impl Guard {
    pub(super) fn start(disk: &Arc<Disk>, health: Arc<Health>) -> Result<Self> {
        let ended = Arc::new(AtomicBool::new(false));
        let disk = Arc::downgrade(disk);
        thread::Builder::new()
            .name("store-guard".to_owned())
            .spawn({
                let ended = ended.clone();
                move || {
                    let mut flushes = Flushes::default();
                    while !ended.load(Ordering::Relaxed) {
                        let Some(disk) = disk.upgrade() else { return };
                        look(&disk, &health, &mut flushes);
                        drop(disk);
                        thread::sleep(LOOK_EVERY);
                    }
                }
            })
            .map_err(|error| Error::with_source(Kind::Unavailable, "no thread to watch with", error))?;
        Ok(Self(ended))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The outstanding flushes as last seen, and since when they have not become fewer.
#[derive(Default)]
struct Flushes {
    outstanding: usize,
    since: Option<Instant>,
}

impl Flushes {
    /// How long nothing has moved.
    fn stuck(&mut self, outstanding: usize, now: Instant) -> Duration {
        if outstanding == 0 || outstanding < self.outstanding || self.since.is_none() {
            self.since = (outstanding > 0).then_some(now);
        }
        self.outstanding = outstanding;
        self.since.map_or(Duration::ZERO, |since| now.duration_since(since))
    }
}

fn look(disk: &Disk, health: &Health, flushes: &mut Flushes) {
    health.look_at_room();
    let commit_age = health.commit_age();
    if commit_age > COMMIT_LIMIT {
        health.fail(&format!("a commit of the embedded store is stuck for {} s", commit_age.as_secs()));
    }
    let stuck = flushes.stuck(disk.db.outstanding_flushes(), Instant::now());
    if stuck > FLUSH_LIMIT {
        health.fail(&format!("the embedded store has not flushed for {} s", stuck.as_secs()));
    }
    metrics::gauge!("dvor_store_journal_bytes").set(disk.db.journal_disk_space().unwrap_or_default() as f64);
    metrics::gauge!("dvor_store_write_buffer_bytes").set(disk.db.write_buffer_size() as f64);
    for (keyspace, name) in disk.keyspaces().iter().zip(["small", "large", "queue"]) {
        metrics::gauge!("dvor_store_sealed_memtables", "space" => name)
            .set(keyspace.sealed_memtable_count() as f64);
        metrics::gauge!("dvor_store_l0_tables", "space" => name).set(keyspace.l0_table_count() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushes_are_stuck_only_while_they_do_not_become_fewer() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut flushes = Flushes::default();
        assert_eq!(flushes.stuck(0, at(0)), Duration::ZERO);
        assert_eq!(flushes.stuck(2, at(10)), Duration::ZERO);
        assert_eq!(flushes.stuck(3, at(30)), Duration::from_secs(20));
        assert_eq!(flushes.stuck(2, at(40)), Duration::ZERO);
        assert_eq!(flushes.stuck(2, at(50)), Duration::from_secs(10));
        assert_eq!(flushes.stuck(0, at(60)), Duration::ZERO);
    }
}
