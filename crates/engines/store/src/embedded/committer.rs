//! The one thread that writes: many transactions per fsync.

use std::sync::mpsc::{self, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::disk::{Disk, DiskRow, SPACES};
use super::guard::Health;
use super::lane::Lane;
use crate::{Error, Result, Shard, Wakes};

/// Most bytes handed over and not yet durable, over all lanes.
const MOST_IN_FLIGHT_BYTES: usize = 128 << 20;
/// Most bytes of one group.
const MOST_GROUP_BYTES: usize = 16 << 20;
/// Memtables are rotated at these sizes (small, large, queue). What four of them hold is merged with a level of up to
/// 256 MiB each time, so small ones are rewritten many times over.
const ROTATE_BYTES: [u64; SPACES] = [64 << 20, 64 << 20, 64 << 20];
/// And at this age, so that reopening stays short.
const ROTATE_AFTER: Duration = Duration::from_secs(60);
/// How often each keyspace gets its tiny insert.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

type Answer = oneshot::Receiver<Result<()>>;

/// The way to the committer's thread. Clones share it.
#[derive(Clone)]
pub(super) struct Committer {
    jobs: mpsc::Sender<Message>,
    in_flight: Arc<Semaphore>,
    wakes: Wakes,
    thread: Arc<Mutex<Option<thread::JoinHandle<()>>>>,
}

enum Message {
    Write(Job),
    Stop,
}

/// One transaction's writes on their way to the disk.
pub(super) struct Job {
    shard: Shard,
    lane: Option<(Arc<Lane>, u64)>,
    rows: Vec<DiskRow>,
    bytes: usize,
    wakes: Vec<&'static str>,
    done: oneshot::Sender<Result<()>>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Job {
    pub(super) fn of_lane(
        shard: Shard,
        lane: Arc<Lane>,
        number: u64,
        rows: Vec<DiskRow>,
        wakes: Vec<&'static str>,
        room: OwnedSemaphorePermit,
    ) -> (Self, Answer) {
        let (done, answer) = oneshot::channel();
        let bytes = size(&rows);
        (Self { shard, lane: Some((lane, number)), rows, bytes, wakes, done, _room: Some(room) }, answer)
    }

    /// A write outside the lane's order.
    pub(super) fn alone(shard: Shard, rows: Vec<DiskRow>) -> (Self, Answer) {
        let (done, answer) = oneshot::channel();
        let bytes = size(&rows);
        (Self { shard, lane: None, rows, bytes, wakes: Vec::new(), done, _room: None }, answer)
    }
}

fn size(rows: &[DiskRow]) -> usize {
    rows.iter().map(DiskRow::bytes).sum()
}

pub(super) async fn answered(answer: Answer) -> Result<()> {
    answer.await.unwrap_or_else(|_| Err(Error::unknown("the store stopped before it answered")))
}

impl Committer {
    pub(super) fn start(disk: Arc<Disk>, health: Arc<Health>, wakes: Wakes) -> Result<Self> {
        let (jobs, inbox) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("store-commit".to_owned())
            .spawn({
                let wakes = wakes.clone();
                move || Writer::new(disk, health, wakes).run(&inbox)
            })
            .map_err(|error| {
                Error::with_source(crate::Kind::Unavailable, "no thread to commit with", error)
            })?;
        Ok(Self {
            jobs,
            in_flight: Arc::new(Semaphore::new(MOST_IN_FLIGHT_BYTES)),
            wakes,
            thread: Arc::new(Mutex::new(Some(thread))),
        })
    }

    /// Waits until there is room for so many bytes in flight.
    pub(super) async fn room(&self, bytes: usize) -> Result<OwnedSemaphorePermit> {
        let bytes = bytes.clamp(1, MOST_IN_FLIGHT_BYTES) as u32;
        if let Ok(room) = self.in_flight.clone().try_acquire_many_owned(bytes) {
            return Ok(room);
        }
        let room = self.in_flight.clone().acquire_many_owned(bytes).await;
        room.map_err(|_| Error::unavailable("the store is closed"))
    }

    /// The point of no return: what is handed over completes alone.
    pub(super) fn hand_over(&self, job: Job) -> Result<()> {
        self.jobs.send(Message::Write(job)).map_err(|_| Error::unavailable("the store is closed"))
    }

    pub(super) fn wake(&self, shard: Shard, channels: &[&'static str]) {
        for channel in channels {
            self.wakes.wake(channel, shard);
        }
    }

    /// Ends the thread when everything handed over is written.
    pub(super) async fn stop(&self) {
        let _ = self.jobs.send(Message::Stop);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

/// The committer's own side.
struct Writer {
    disk: Arc<Disk>,
    health: Arc<Health>,
    wakes: Wakes,
    commit: u64,
    unrotated: [u64; SPACES],
    rotated_at: [Instant; SPACES],
    alive_at: Instant,
}

impl Writer {
    fn new(disk: Arc<Disk>, health: Arc<Health>, wakes: Wakes) -> Self {
        let now = Instant::now();
        let commit = disk.committed();
        Self { disk, health, wakes, commit, unrotated: [0; SPACES], rotated_at: [now; SPACES], alive_at: now }
    }

    fn run(mut self, inbox: &mpsc::Receiver<Message>) {
        let mut group: Vec<Job> = Vec::new();
        let mut open = true;
        while open {
            match inbox.recv_timeout(KEEP_ALIVE.saturating_sub(self.alive_at.elapsed())) {
                Ok(Message::Write(job)) => group.push(job),
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => open = false,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let mut bytes = group.iter().map(|job| job.bytes).sum::<usize>();
            while open && bytes < MOST_GROUP_BYTES {
                match inbox.try_recv() {
                    Ok(Message::Write(job)) => {
                        bytes += job.bytes;
                        group.push(job);
                    }
                    Ok(Message::Stop) | Err(TryRecvError::Disconnected) => open = false,
                    Err(TryRecvError::Empty) => break,
                }
            }
            let keep_alive = self.alive_at.elapsed() >= KEEP_ALIVE;
            if (keep_alive || !group.is_empty()) && !self.write(&mut group, keep_alive) {
                return self.refuse(inbox);
            }
            self.rotate();
        }
    }

    /// Writes a group and acknowledges it; `false` when the database failed.
    fn write(&mut self, group: &mut Vec<Job>, keep_alive: bool) -> bool {
        let mut rows = Vec::with_capacity(group.iter().map(|job| job.rows.len()).sum());
        for job in group.iter_mut() {
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
                group.drain(..).for_each(|job| self.acknowledge(job));
                true
            }
            Err(error) => {
                // Nobody can say what of it is on disk, nor whether the next write would be. A restart can.
                let reason = format!("the embedded store failed to write and must be reopened: {error}");
                self.health.fail(&reason);
                for job in group.drain(..) {
                    if let Some((lane, _)) = &job.lane {
                        lane.give_up();
                    }
                    let _ = job.done.send(Err(Error::unknown(reason.clone())));
                }
                false
            }
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

    /// After a failure: answers everybody who still comes, until nobody can.
    fn refuse(&self, inbox: &mpsc::Receiver<Message>) {
        while let Ok(Message::Write(job)) = inbox.recv() {
            if let Some((lane, _)) = &job.lane {
                lane.give_up();
            }
            let _ = job.done.send(self.health.check());
        }
    }
}
