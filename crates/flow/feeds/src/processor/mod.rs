//! A load's file becomes batches for the offers.
//!
//! | step | what | a crash behind it leaves |
//! | --- | --- | --- |
//! | [`take`] (T) | the feed's first load in the queue: lock, `in_progress`, what it is compared with is pinned, the feed's known content is forgotten | a lock of a dead holder and a load in the queue: the next process takes both |
//! | [`survey`] (T) | a file that is new is read once for its categories; what they are by the catalog is decided and kept, a page of rows at a time, the file's hash last | some decisions; the next try keeps them and decides the rest |
//! | [`send`] | the file is read and cut, batches are published in order, each acknowledged before the next go; now and then (T) the progress is noted, under the lock | batches in the topic; the next try sends the same ones under the same numbers, and the offers ignore repeats |
//! | keep fingerprints | the file of hashes is stored, its reference pending | a pending reference; the sweep hears `Gone` |
//! | [`seal`] (T) | `terminal_pending`: nothing can be called back; fingerprints named | a load in the queue whose batches are all there: the next process goes on with the terminal message |
//! | confirm | the fingerprints' reference is held | a pending reference; the sweep hears `Held` |
//! | [`tell_end`] | the terminal message is published and acknowledged | the same; the next process publishes it again, and the offers know a repeat |
//! | [`leave`] (T) | out of the queue, the timer of the results set, lock released | a load that waits for results |
//!
//! The next load of the feed comes to the front of the queue only with [`leave`], so its batches never overtake a terminal
//! message. The removal of a feed is a load without batches that begins at [`tell_end`].
//!
//! [`give_up`] (T) ends a load whose file is broken, with an abort for the offers in the same transaction, so nothing is
//! taken away on its account. [`put_off`] (T) leaves a load in the queue for later. Every transaction checks the lock by
//! its nonce: a process that was thought dead and comes back changes nothing. Its late batches are the same batches, and
//! those of a load that ended meanwhile are stale for the offers.

mod cut;
mod end;
mod input;
pub(crate) use input::input;
mod send;
mod survey;

use std::time::Duration;

use async_trait::async_trait;
use cluster::Lock;
use cluster::work::{Done, Due, Entry, Plan, Work, WorkError as _, head};
use kit::{Backoff, Timestamp};
use store::{Range, Read as _, Shard, Tx};
use tracing::Instrument as _;
use wire::feeds::{Fingerprints, QueueRow, Task, TaskError, TaskSettings, TaskSource, TaskStatus};

use crate::tables::{FEED, TASK_DUE, TASK_QUEUE, TASKS};
use crate::tasks::{self, FeedKey, said};
use crate::timers::due_load;
use crate::{Error, Feeds, Result, fingerprints};

pub use end::{finish, give_up, leave, put_off, seal, tell_end};
pub use send::{Sent, SentWhole, send};

pub const ROLE: &str = "feed-processor";
const LOCK: &str = "feedprocessor";
/// A file that kills its process this often is broken.
const MAX_TRIES: u32 = 10;

/// A load that this process works on.
pub struct Taken {
    pub key: FeedKey,
    pub task_id: i64,
    pub task: Task,
    lock: Lock,
}

/// Loads that wait in the queue.
pub struct Loads(pub Feeds);

#[async_trait]
impl Work for Loads {
    type Key = (FeedKey, i64);
    type Error = Error;

    fn plan(&self) -> Plan {
        let at_once = self.0.settings.loads.max(2);
        let plan = Plan::new("feed processor", ROLE, crate::QUEUE_CHANNEL, at_once);
        Plan { max_tries: Some(MAX_TRIES), ..plan }
    }

    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<(FeedKey, i64)>> {
        // Large files leave one slot to the small ones.
        let entry = |row, bytes: i64| {
            let long = bytes.unsigned_abs() > self.0.settings.small_file_bytes;
            Entry { long, ..due_load(row, ()) }
        };
        Ok(head(&self.0.store, &TASK_DUE, shards, now, entry).await?)
    }

    async fn run(&self, _: Shard, (key, task_id): &(FeedKey, i64)) -> Result<Done> {
        process(&self.0, key, *task_id).await
    }

    /// A file that keeps killing its process is broken; one that is with the offers already is no longer read.
    async fn give_up(&self, _: Shard, (key, task_id): &(FeedKey, i64), reason: &str) -> Result<()> {
        let Some(taken) = take(&self.0, key, *task_id).await? else { return Ok(()) };
        if taken.task.terminal_pending {
            return end::conclude(&self.0, &taken, &taken.task).await;
        }
        give_up(&self.0, &taken, said("killed_its_worker", format!("the file {reason}"))).await
    }
}

/// One load from taking to its end, whatever the end is.
pub(crate) async fn process(feeds: &Feeds, key: &FeedKey, task_id: i64) -> Result<Done> {
    let Some(taken) = take(feeds, key, task_id).await? else { return Ok(Done::NotNow) };
    let span = tracing::info_span!("load", otel.name = "process load", seller = key.seller, task_id);
    kit::trace::follow(&span, [taken.task.traceparent.as_str()]);
    match to_its_end(feeds, &taken).instrument(span).await {
        Ok(()) => {}
        Err(error) if error.is_fenced() => return Ok(Done::NotNow),
        Err(error) => {
            tracing::warn!(
                seller = key.seller,
                namespace = key.namespace,
                task_id,
                "a load is put off: {error}"
            );
            insist_on_putting_off(feeds, &taken, said("unavailable", error.to_string())).await;
        }
    }
    Ok(Done::Finished)
}

async fn to_its_end(feeds: &Feeds, taken: &Taken) -> Result<()> {
    let sent = if taken.task.terminal_pending { Ok(Sent::Before) } else { send(feeds, taken).await };
    match sent? {
        Sent::Whole(whole) => finish(feeds, taken, whole).await,
        Sent::Before => end::conclude(feeds, taken, &taken.task).await,
        Sent::Stopped => end::release(feeds, taken).await,
        Sent::Broken(fatal) if !fatal.transient => give_up(feeds, taken, end::error_of(&fatal)).await,
        Sent::Broken(fatal) => put_off(feeds, taken, end::error_of(&fatal)).await,
    }
}

/// The lock is this process's own, and nobody takes it over while it lives: it is given back however long the store is
/// away.
async fn insist_on_putting_off(feeds: &Feeds, taken: &Taken, error: TaskError) {
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10));
    while let Err(failed) = put_off(feeds, taken, error.clone()).await {
        if failed.is_fenced() {
            return;
        }
        tracing::warn!(task_id = taken.task_id, "a load cannot be put off yet: {failed}");
        tokio::time::sleep(backoff.next_wait()).await;
    }
}

/// T: this process works on the load, if it is the feed's next one, nobody else does, and the feed is not paused.
pub async fn take(feeds: &Feeds, key: &FeedKey, task_id: i64) -> Result<Option<Taken>> {
    let body = async |tx: &mut Tx| {
        if waits_for_resume(tx, key, task_id).await? {
            tasks::park(tx, key, task_id).await?;
            return Ok(None);
        }
        let first = tx.scan(&TASK_QUEUE, Range::prefix(key.row(), 1)?).await?;
        match first.first() {
            Some(((.., first), _)) if *first == task_id => {}
            Some((_, before)) => return wait_behind(tx, key, task_id, before).await,
            None => return Ok(None),
        }
        let Some(lock) = feeds.cluster.try_lock(tx, LOCK, &key.lock_name(), feeds.settings.lock_age).await?
        else {
            return Ok(None);
        };
        let mut task = tasks::find(tx, key, task_id).await?;
        begin(tx, key, task_id, &mut task).await?;
        if !task.terminal_pending {
            task.set_status(TaskStatus::TaskInProgress);
        }
        task.updated_at = feeds.clock.now().0;
        tx.put(&TASKS, key.task(task_id), &task)?;
        Ok(Some(Taken { key: key.clone(), task_id, task, lock }))
    };
    feeds.store.transact(key.shard(), body).await
}

/// A load that has begun goes on, whatever the feed's state.
async fn waits_for_resume(tx: &Tx, key: &FeedKey, task_id: i64) -> Result<bool> {
    let is_paused = tx.get(&FEED, key.row()).await?.is_some_and(|feed| feed.paused);
    Ok(is_paused && tx.get(&TASKS, key.task(task_id)).await?.is_some_and(|task| !task.begun))
}

/// The first try of a load: what it is compared with is pinned, and what the feed knew of its content no longer counts,
/// since this load may change the offers and then fail. A dry run changes nothing, and all of its content travels: it is
/// asked what exactly would happen, and no load may follow from it.
async fn begin(tx: &mut Tx, key: &FeedKey, task_id: i64, task: &mut Task) -> Result<()> {
    let first_try = !std::mem::replace(&mut task.begun, true);
    let Some(mut feed) = tx.get(&FEED, key.row()).await?.filter(|_| first_try && !task.dry_run) else {
        return Ok(());
    };
    // Fingerprints of a load before the last one do not say what the offers have now.
    let same = feed.fingerprints.as_ref().filter(|known| known.task_id == feed.began_task_id);
    let wanted = task.source() != TaskSource::SourceFollowUp;
    if let Some(settings) = &mut task.settings {
        settings.same = same.filter(|known| wanted && fits(known, settings)).cloned();
    }
    (feed.known, feed.began_task_id) = (None, task_id);
    Ok(tx.put(&FEED, key.row(), &feed)?)
}

/// A load whose predecessor was put off comes due after it, so that it does not stand before it in `task_due`.
async fn wait_behind(tx: &mut Tx, key: &FeedKey, task_id: i64, before: &QueueRow) -> Result<Option<Taken>> {
    if let Some(own) = tx.get(&TASK_QUEUE, key.task(task_id)).await?
        && own.not_before <= before.not_before
    {
        tasks::dequeue(tx, key, task_id).await?;
        tasks::enqueue(tx, key, task_id, QueueRow { not_before: before.not_before + 1, ..own })?;
    }
    Ok(None)
}

/// Fingerprints say «same» only for the same settings and catalog.
fn fits(known: &Fingerprints, settings: &TaskSettings) -> bool {
    let version = settings.feed.as_ref().map_or(0, |settings| settings.version);
    known.format == fingerprints::FORMAT
        && known.settings_version == version
        && known.catalog_version == settings.catalog_version
}
