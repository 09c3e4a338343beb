//! A load's file becomes batches for the offers.
//!
//! | step | what | a crash behind it leaves |
//! | --- | --- | --- |
//! | [`take`] (T) | the feed's first load in the queue: lock, `in_progress`, what it is compared with is pinned | a lock of a dead holder and a load in the queue: the next process takes both |
//! | [`send`] | the file is read and cut, batches are published in order, each acknowledged before the next go; now and then (T) the progress is noted, under the lock | batches in the topic; the next try sends the same ones under the same numbers, and the offers ignore repeats |
//! | keep fingerprints | the file of hashes is stored, its reference pending | a pending reference; the sweep hears `Gone` |
//! | [`finish`] (T) | `terminal_pending`, the terminal message in the outbox, out of the queue, lock released, fingerprints named | a load that waits for results; the relay sends the terminal message |
//! | confirm | the fingerprints' reference is held | a pending reference; the sweep hears `Held` |
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

use std::sync::Arc;
use std::time::Duration;

use cluster::{Cluster, Lock};
use futures::future::BoxFuture;
use kit::{Backoff, Shutdown};
use store::{Range, Read as _, Shard, Tx};
use tokio::sync::{Semaphore, SemaphorePermit};
use wire::feeds::{Fingerprints, QueueRow, Task, TaskError, TaskSettings, TaskSource, TaskStatus};

use crate::tables::{FEED, TASK_DUE, TASK_QUEUE, TASKS};
use crate::tasks::{self, FeedKey, said};
use crate::work::{self, Done, Found, Work};
use crate::{Feeds, Result, fingerprints};

pub use end::{finish, give_up, put_off};
pub use send::{Sent, SentWhole, send};

pub const ROLE: &str = "feed-processor";
const LOCK: &str = "feedprocessor";
/// Due loads of a shard that one look brings.
const LOOK: usize = 16;

/// A load that this process works on.
pub struct Taken {
    pub key: FeedKey,
    pub task_id: i64,
    pub task: Task,
    lock: Lock,
}

/// Processes loads until the shutdown is called.
pub async fn run(feeds: Feeds, cluster: Cluster, shutdown: Shutdown) {
    let (all, large) = (feeds.settings.loads.max(2), feeds.settings.loads.max(2) - 1);
    let slots = Arc::new((Semaphore::new(all), Semaphore::new(large)));
    let (feeds, cluster) = (&feeds, &cluster);
    let look = |shards| -> BoxFuture<'_, _> { Box::pin(look(feeds, shards)) };
    let run = |(key, task_id): (FeedKey, i64)| -> BoxFuture<'_, _> {
        let slots = slots.clone();
        Box::pin(async move {
            let _slots = wait_for_slot(feeds, &slots, &key, task_id).await?;
            process(feeds, cluster, &key, task_id).await
        })
    };
    let wakes = feeds.store.wakes().listen(crate::QUEUE_CHANNEL);
    let work = Work { cluster, clock: &feeds.clock, role: ROLE, wakes, at_once: 64 };
    work::work(work, look, run, &shutdown).await;
}

/// Large files leave one slot to the small ones.
async fn wait_for_slot<'a>(
    feeds: &Feeds,
    (all, large): &'a (Semaphore, Semaphore),
    key: &FeedKey,
    task_id: i64,
) -> Result<Option<(SemaphorePermit<'a>, Option<SemaphorePermit<'a>>)>> {
    let task = feeds.store.get(&TASKS, key.shard(), key.task(task_id)).await?;
    let bytes = task.and_then(|task| task.file).map_or(0, |file| file.bytes as u64);
    let is_large = bytes > feeds.settings.small_file_bytes;
    let large = if is_large { large.acquire().await.ok() } else { None };
    Ok(all.acquire().await.ok().map(|slot| (slot, large)))
}

async fn look(feeds: &Feeds, shards: Vec<Shard>) -> Result<Found<(FeedKey, i64)>> {
    let now = feeds.clock.now();
    let mut found = Found { due: Vec::new(), later: Vec::new() };
    let rows = feeds.store.scan_shards(&TASK_DUE, &shards, Range::all(LOOK)).await?;
    for (shard, (not_before, seller, namespace, task_id), ()) in rows {
        if not_before <= now.0 {
            found.due.push((shard, (FeedKey { seller, namespace }, task_id)));
        } else {
            found.later.push((shard, kit::Timestamp(not_before)));
        }
    }
    found.later.reverse();
    Ok(found)
}

/// Everything that is due in the store now, once; for tests and for a single process that wants no loop.
pub async fn process_due(feeds: &Feeds, cluster: &Cluster) -> Result<usize> {
    let mut worked = 0;
    loop {
        let found = look(feeds, Shard::all().collect()).await?;
        let mut any = false;
        for (_, (key, task_id)) in found.due {
            any |= matches!(process(feeds, cluster, &key, task_id).await?, Done::Worked);
        }
        if !any {
            return Ok(worked);
        }
        worked += 1;
    }
}

/// One load from taking to its end, whatever the end is.
pub(crate) async fn process(feeds: &Feeds, cluster: &Cluster, key: &FeedKey, task_id: i64) -> Result<Done> {
    let Some(taken) = take(feeds, cluster, key, task_id).await? else { return Ok(Done::NotNow) };
    let ended = match send(feeds, &taken).await {
        Ok(Sent::Whole(whole)) => finish(feeds, &taken, whole).await,
        Ok(Sent::Stopped) => end::release(feeds, &taken).await,
        Ok(Sent::Broken(fatal)) if !fatal.transient => give_up(feeds, &taken, end::error_of(&fatal)).await,
        Ok(Sent::Broken(fatal)) => put_off(feeds, &taken, end::error_of(&fatal)).await,
        Err(error) => Err(error),
    };
    match ended {
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
    Ok(Done::Worked)
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

/// T: this process works on the load, if it is the feed's next one and nobody else does.
pub async fn take(feeds: &Feeds, cluster: &Cluster, key: &FeedKey, task_id: i64) -> Result<Option<Taken>> {
    let body = async |tx: &mut Tx| {
        let first = tx.scan(&TASK_QUEUE, Range::prefix(key.row(), 1)?).await?;
        match first.first() {
            Some(((.., first), _)) if *first == task_id => {}
            Some((_, before)) => return wait_behind(tx, key, task_id, before).await,
            None => return Ok(None),
        }
        let Some(lock) = cluster.try_lock(tx, LOCK, &key.lock_name(), feeds.settings.lock_age).await? else {
            return Ok(None);
        };
        let mut task = tasks::find(tx, key, task_id).await?;
        if !task.begun {
            let feed = tx.get(&FEED, key.row()).await?.unwrap_or_default();
            let same = feed.fingerprints.filter(|known| known.task_id >= feed.first_task_id);
            let wanted = task.source() != TaskSource::SourceFollowUp;
            if let Some(settings) = &mut task.settings {
                settings.same = same.filter(|known| wanted && fits(known, settings));
            }
        }
        task.begun = true;
        task.set_status(TaskStatus::TaskInProgress);
        task.updated_at = feeds.clock.now().0;
        tx.put(&TASKS, key.task(task_id), &task)?;
        Ok(Some(Taken { key: key.clone(), task_id, task, lock }))
    };
    feeds.store.transact(key.shard(), body).await
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
