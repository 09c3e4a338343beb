//! Who commits, and when: many transactions per fsync, and few threads that wake each other.
//!
//! What transactions write waits in an inbox until somebody who *leads* takes it and writes it. That is a task of the
//! runtime in which transactions run: it waits its turn behind those that are ready to run, so they join its group, and
//! whoever it answers goes on in the same thread. Only to wait for the disk is left to a thread of the committer's own.
//! That one leads, too, where writing would keep a thread of the runtime from its other tasks (a group is large, the
//! database slow, a memtable full), or where no runtime runs by itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::disk::{Disk, DiskRow};
use super::guard::Health;
use super::lane::Lane;
use super::writer::{self, Writer};
use crate::{Error, Kind, Result, Shard, Wakes};

/// Most bytes handed over and not yet durable, over all lanes.
const MOST_IN_FLIGHT_BYTES: usize = 128 << 20;
/// Most bytes of one group.
const MOST_GROUP_BYTES: usize = 16 << 20;
/// More bytes than this are not written quickly.
const QUICK_BYTES: usize = 256 << 10;
/// So many transactions wait for no others…
const ENOUGH: usize = 32;
/// …and fewer let all that are ready to run come first so often…
const TURNS: usize = 8;
/// …unless that takes long.
const LONG_TURNS: Duration = Duration::from_micros(500);
/// How soon the thread looks again at what a task may be about to do.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

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
    disk: Arc<Disk>,
    health: Arc<Health>,
    inbox: Mutex<Inbox>,
    writer: Mutex<Writer>,
    is_held_back: AtomicBool,
}

#[derive(Default)]
struct Inbox {
    jobs: Vec<Job>,
    bytes: usize,
    led_by: Leader,
    /// What the task that leads has written and waits for.
    unsynced: Option<Unsynced>,
    /// Where the last task led.
    runtime: Option<Handle>,
    is_closed: bool,
}

struct Unsynced {
    commit: u64,
    synced: oneshot::Sender<Result<(), fjall::Error>>,
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
            writer: Mutex::new(Writer::new(disk.clone(), health.clone(), wakes.clone())),
            disk,
            health,
            is_held_back: AtomicBool::new(false),
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
        if inbox.led_by != Leader::Nobody {
            return Ok(());
        }
        // A runtime without threads of its own may rest while others wait for what its task leads.
        let runtime = Handle::try_current()
            .ok()
            .filter(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
        // Told when the lock is free: they would wake up to wait for that.
        match runtime.filter(|_| !self.shared.is_slow(&inbox)) {
            Some(runtime) => {
                inbox.led_by = Leader::Task;
                drop(inbox);
                Lead::begin(self.shared.clone(), self.own.clone(), &runtime);
            }
            None => {
                inbox.led_by = Leader::Thread;
                drop(inbox);
                self.own.unpark();
            }
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
        inbox.bytes > QUICK_BYTES || self.is_held_back.load(Ordering::Relaxed)
    }

    /// Writes what is waiting, up to a group.
    fn write<T>(&self, write: impl FnOnce(&mut Writer, Vec<Job>) -> T) -> T {
        let mut writer = self.writer();
        let group = self.inbox().take();
        let written = write(&mut writer, group);
        self.is_held_back.store(writer.is_held_back(), Ordering::Relaxed);
        written
    }

    /// The committer's own thread: waits for the disk, leads when it is told to, and looks after the database when nobody
    /// writes.
    fn run(self: &Arc<Self>) {
        loop {
            let due_in = self.writer().due_in();
            // Looked at before we sleep: what the database does may have used up a word to us.
            if !self.inbox().calls_the_thread() {
                thread::park_timeout(due_in.max(LOOK_AGAIN));
            }
            let mut inbox = self.inbox();
            if let Some(Unsynced { commit, synced }) = inbox.unsynced.take() {
                drop(inbox);
                // If the task is gone, we are told to lead, and do it again.
                let _ = synced.send(writer::sync(&self.disk, &self.health, commit));
                continue;
            }
            match inbox.led_by {
                Leader::Task => continue,
                Leader::Nobody if inbox.is_closed => return,
                Leader::Nobody | Leader::Thread => inbox.led_by = Leader::Thread,
            }
            drop(inbox);
            self.lead();
        }
    }

    fn lead(self: &Arc<Self>) {
        loop {
            self.write(Writer::write);
            let mut inbox = self.inbox();
            if inbox.jobs.is_empty() {
                inbox.led_by = Leader::Nobody;
                return;
            }
            if inbox.is_closed || self.is_slow(&inbox) {
                continue;
            }
            if let Some(runtime) = inbox.runtime.take() {
                inbox.led_by = Leader::Task;
                drop(inbox);
                return Lead::begin(self.clone(), thread::current(), &runtime);
            }
        }
    }
}

impl Inbox {
    fn calls_the_thread(&self) -> bool {
        match self.led_by {
            Leader::Nobody => self.is_closed,
            Leader::Task => self.unsynced.is_some(),
            Leader::Thread => true,
        }
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

/// A task that leads. When it ends while there is something to do, the thread goes on.
struct Lead {
    shared: Arc<Shared>,
    own: Thread,
    runtime: Handle,
    is_over: bool,
}

impl Lead {
    fn begin(shared: Arc<Shared>, own: Thread, runtime: &Handle) {
        let lead = Self { shared, own, runtime: runtime.clone(), is_over: false };
        runtime.spawn(lead.run());
    }

    async fn run(mut self) {
        loop {
            self.gather().await;
            {
                let mut inbox = self.shared.inbox();
                if inbox.is_closed || self.shared.is_slow(&inbox) {
                    return;
                }
                if inbox.jobs.is_empty() {
                    inbox.led_by = Leader::Nobody;
                    drop(inbox);
                    self.is_over = true;
                    return;
                }
            }
            let Some(commit) = self.shared.write(Writer::begin) else { continue };
            let synced = self.sync(commit).await;
            let mut writer = self.shared.writer();
            writer.finish(synced);
            if writer.is_rotation_due() {
                return;
            }
        }
    }

    /// Lets others join the group: those who are ready to run now, and then those who are ready because of that.
    async fn gather(&self) {
        let began = Instant::now();
        for _ in 0..TURNS {
            if self.shared.inbox().jobs.len() >= ENOUGH || began.elapsed() > LONG_TURNS {
                return;
            }
            others_first().await;
        }
    }

    async fn sync(&self, commit: u64) -> Result<(), fjall::Error> {
        let (synced, answer) = oneshot::channel();
        self.shared.inbox().unsynced = Some(Unsynced { commit, synced });
        self.own.unpark();
        // The thread answers as long as a task leads.
        answer.await.unwrap_or(Err(fjall::Error::Poisoned))
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        if !self.is_over {
            let mut inbox = self.shared.inbox();
            inbox.led_by = Leader::Thread;
            inbox.runtime = Some(self.runtime.clone());
            drop(inbox);
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
