//! Who commits, and when: many transactions per fsync, and few threads that wake each other.
//!
//! What transactions write waits in an inbox until somebody who *leads* takes it and writes it. Where commits are quick,
//! that is a task of the runtime in which transactions run: it waits its turn behind those that are ready to run, so they
//! join its group, and whoever it answers goes on in the same thread. It keeps that thread from its other tasks while it
//! waits for the disk; so where a disk is slow, a group large, or the runtime has no second thread, a thread of the
//! committer's own leads.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::disk::{Disk, DiskRow};
use super::guard::Health;
use super::lane::Lane;
use super::writer::Writer;
use crate::{Error, Kind, Result, Shard, Wakes};

/// Most bytes handed over and not yet durable, over all lanes.
const MOST_IN_FLIGHT_BYTES: usize = 128 << 20;
/// Most bytes of one group.
const MOST_GROUP_BYTES: usize = 16 << 20;
/// More bytes than this are not written quickly.
const QUICK_BYTES: usize = 256 << 10;
/// A commit that takes longer has waited for a slow disk, or was interrupted.
const SLOW_COMMIT: Duration = Duration::from_millis(1);
/// So many slow ones in a row are the disk.
const SLOW_IN_A_ROW: u32 = 16;
/// So many transactions wait for no others.
const ENOUGH: usize = 8;
/// How many groups a task writes before it lets the others of its thread run, whatever is waiting.
const MOST_IN_A_ROW: usize = 8;

type Answer = oneshot::Receiver<Result<()>>;

/// The way to the disk.
pub(super) struct Committer {
    shared: Arc<Shared>,
    in_flight: Arc<Semaphore>,
    wakes: Wakes,
    own: Thread,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

struct Shared {
    inbox: Mutex<Inbox>,
    writer: Mutex<Writer>,
    slow_in_a_row: AtomicU32,
}

#[derive(Default)]
struct Inbox {
    jobs: Vec<Job>,
    bytes: usize,
    led_by: Leader,
    is_closed: bool,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Leader {
    #[default]
    Nobody,
    Task,
    Thread,
}

/// One transaction's writes on their way to the disk.
pub(super) struct Job {
    pub(super) shard: Shard,
    pub(super) lane: Option<(Arc<Lane>, u64)>,
    pub(super) rows: Vec<DiskRow>,
    bytes: usize,
    pub(super) wakes: Vec<&'static str>,
    pub(super) done: oneshot::Sender<Result<()>>,
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
        let shared = Arc::new(Shared {
            inbox: Mutex::default(),
            writer: Mutex::new(Writer::new(disk, health, wakes.clone())),
            slow_in_a_row: AtomicU32::new(0),
        });
        let thread = thread::Builder::new()
            .name("store-commit".to_owned())
            .spawn({
                let shared = shared.clone();
                move || shared.run()
            })
            .map_err(|error| Error::with_source(Kind::Unavailable, "no thread to commit with", error))?;
        Ok(Self {
            shared,
            in_flight: Arc::new(Semaphore::new(MOST_IN_FLIGHT_BYTES)),
            wakes,
            own: thread.thread().clone(),
            thread: Mutex::new(Some(thread)),
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
        let mut inbox = self.shared.inbox();
        if inbox.is_closed {
            return Err(Error::unavailable("the store is closed"));
        }
        inbox.bytes += job.bytes;
        inbox.jobs.push(job);
        if inbox.led_by == Leader::Task {
            return Ok(());
        }
        let runtime = Handle::try_current().ok().filter(|runtime| runtime.metrics().num_workers() > 1);
        if let Some(runtime) = runtime.filter(|_| !self.shared.is_slow(&inbox)) {
            inbox.led_by = Leader::Task;
            drop(inbox);
            let lead = Lead { shared: self.shared.clone(), own: self.own.clone(), is_over: false };
            runtime.spawn(lead.run());
        } else if inbox.led_by == Leader::Nobody {
            inbox.led_by = Leader::Thread;
            // Told when the lock is free: it would wake up to wait for that.
            drop(inbox);
            self.own.unpark();
        }
        Ok(())
    }

    pub(super) fn wake(&self, shard: Shard, channels: &[&'static str]) {
        for channel in channels {
            self.wakes.wake(channel, shard);
        }
    }

    fn close(&self) {
        self.shared.inbox().is_closed = true;
        self.own.unpark();
    }

    /// Ends the thread when everything handed over is written.
    pub(super) async fn stop(&self) {
        self.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(|poisoned| {
            let writer = poisoned.into_inner();
            writer.fail("the embedded store failed in the middle of a commit and must be reopened");
            writer
        })
    }

    fn is_slow(&self, inbox: &Inbox) -> bool {
        inbox.bytes > QUICK_BYTES || self.slow_in_a_row.load(Ordering::Relaxed) >= SLOW_IN_A_ROW
    }

    /// Writes what is waiting, up to a group.
    fn commit(&self) {
        // The writer first: groups are written in the order in which they are taken.
        let mut writer = self.writer();
        let group = self.inbox().take();
        let began = Instant::now();
        writer.write(group);
        let is_slow = began.elapsed() > SLOW_COMMIT;
        // Nobody else counts: we have the writer.
        let before = self.slow_in_a_row.load(Ordering::Relaxed);
        self.slow_in_a_row.store(if is_slow { before.saturating_add(1) } else { 0 }, Ordering::Relaxed);
    }

    /// The committer's own thread: leads when it is told to, and looks after the database when nobody writes.
    fn run(&self) {
        let mut is_closed = false;
        while !is_closed {
            let due_in = self.writer().due_in();
            // Looked at before we sleep: what the database does may have used up a word to us.
            if !self.inbox().calls_the_thread() {
                thread::park_timeout(due_in);
            }
            is_closed = self.inbox().is_closed;
            loop {
                let mut inbox = self.inbox();
                if !inbox.calls_the_thread() {
                    break;
                }
                if inbox.jobs.is_empty() {
                    inbox.led_by = Leader::Nobody;
                    break;
                }
                drop(inbox);
                self.commit();
            }
            // Waits for a task that still writes, too.
            self.writer().write(Vec::new());
        }
    }
}

impl Inbox {
    fn calls_the_thread(&self) -> bool {
        self.is_closed || self.led_by == Leader::Thread
    }

    fn take(&mut self) -> Vec<Job> {
        let mut bytes = 0;
        let fitting = self.jobs.iter().take_while(|job| {
            let fits = bytes < MOST_GROUP_BYTES;
            bytes += job.bytes;
            fits
        });
        let count = fitting.count();
        let rest = self.jobs.split_off(count);
        self.bytes = rest.iter().map(|job| job.bytes).sum();
        std::mem::replace(&mut self.jobs, rest)
    }
}

/// A task that leads. Should its runtime end before it does, the thread goes on.
struct Lead {
    shared: Arc<Shared>,
    own: Thread,
    is_over: bool,
}

impl Lead {
    async fn run(mut self) {
        for round in 0.. {
            if round % MOST_IN_A_ROW == 0 || self.shared.inbox().jobs.len() < ENOUGH {
                others_first().await;
            }
            {
                let mut inbox = self.shared.inbox();
                if inbox.jobs.is_empty() {
                    inbox.led_by = Leader::Nobody;
                    drop(inbox);
                    self.is_over = true;
                    return;
                }
                if self.shared.is_slow(&inbox) {
                    // The thread is told when this is dropped.
                    return;
                }
            }
            self.shared.commit();
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        if !self.is_over {
            self.shared.inbox().led_by = Leader::Thread;
            self.own.unpark();
        }
    }
}

/// Lets those run that are ready to run now. Not as tokio's `yield_now`, which waits until its thread has nothing else to
/// do, where no other thread can help.
async fn others_first() {
    let mut waited = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
