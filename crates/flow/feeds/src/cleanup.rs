//! Forgetting loads: `old_tasks` is the queue.
//!
//! | step | what | a crash behind it leaves |
//! | --- | --- | --- |
//! | 1 (T, repeated) | some errors with their indexes | fewer errors; the next run goes on |
//! | 2 (T, repeated) | statistics, then some batches | the same |
//! | 3 (T) | the task row, its timer, its place in `old_tasks`, and the release of the file if no other load has it | nothing |
//!
//! The release is in the outbox of step 3, so the file's reference goes if and only if the row goes. A load that has not
//! ended is never old, except when its feed was removed, and then it was ended first.

use cluster::Cluster;
use files::{Files, Referrer};
use futures::future::BoxFuture;
use kit::Shutdown;
use store::{Range, Read as _, Shard, Tx};
use wire::feeds::{FeedRow, Task};

use crate::tables::{FEED_STATISTICS, OFFER_BATCHES, OLD_TASKS, TASKS};
use crate::tasks::{self, FeedKey};
use crate::upload::{hash_of, uses};
use crate::work::{self, Done, Found, Work};
use crate::{Feeds, Result, errors, processor};

/// Rows that one transaction removes.
const STEP: usize = 500;
const LOOK: usize = 8;
/// Loads of a feed among which another user of a file is looked for.
const MOST_TASKS: usize = 1_000;

pub async fn run(feeds: Feeds, cluster: Cluster, shutdown: Shutdown) {
    let (feeds, cluster) = (&feeds, &cluster);
    let look = |shards| -> BoxFuture<'_, _> { Box::pin(look(feeds, shards)) };
    let run = |(key, task_id): (FeedKey, i64)| -> BoxFuture<'_, _> {
        Box::pin(async move {
            forget(feeds, &key, task_id).await?;
            Ok(Done::Worked)
        })
    };
    let wakes = feeds.store.wakes().listen(crate::OLD_CHANNEL);
    let work = Work { cluster, clock: &feeds.clock, role: processor::ROLE, wakes, at_once: 4 };
    work::work(work, look, run, &shutdown).await;
}

async fn look(feeds: &Feeds, shards: Vec<Shard>) -> Result<Found<(FeedKey, i64)>> {
    let rows = feeds.store.scan_shards(&OLD_TASKS, &shards, Range::all(LOOK)).await?;
    let due = rows
        .into_iter()
        .map(|(shard, (seller, namespace, task_id), _)| (shard, (FeedKey { seller, namespace }, task_id)));
    Ok(Found { due: due.collect(), later: Vec::new() })
}

/// Everything that is old now; for tests.
pub async fn forget_due(feeds: &Feeds) -> Result<usize> {
    let mut forgotten = 0;
    loop {
        let found = look(feeds, Shard::all().collect()).await?;
        if found.due.is_empty() {
            return Ok(forgotten);
        }
        for (_, (key, task_id)) in found.due {
            forget(feeds, &key, task_id).await?;
            forgotten += 1;
        }
    }
}

/// Forgets one load, step by step. Any number of processes may do so at the same time.
pub async fn forget(feeds: &Feeds, key: &FeedKey, task_id: i64) -> Result<()> {
    while step(feeds, key, task_id).await? {}
    Ok(())
}

/// One transaction of forgetting; `false`: it was the last.
pub async fn step(feeds: &Feeds, key: &FeedKey, task_id: i64) -> Result<bool> {
    let body = async |tx: &mut Tx| {
        if errors::clear(tx, key, task_id, STEP).await? {
            return Ok(true);
        }
        tx.delete(&FEED_STATISTICS, key.task(task_id))?;
        let batches = tx.scan(&OFFER_BATCHES, Range::prefix(key.task(task_id), STEP)?).await?;
        for (row, ()) in &batches {
            tx.delete(&OFFER_BATCHES, row)?;
        }
        if batches.len() == STEP {
            return Ok(true);
        }
        if let Some(mut task) = tx.get(&TASKS, key.task(task_id)).await? {
            tasks::set_timer(tx, key, task_id, &mut task, None)?;
            tasks::dequeue(tx, key, task_id).await?;
            tx.delete(&TASKS, key.task(task_id))?;
            release_file(tx, key, &task).await?;
        }
        tx.delete(&OLD_TASKS, key.task(task_id))?;
        Ok(false)
    };
    feeds.store.transact(key.shard(), body).await
}

/// The file goes with the last load that has it.
async fn release_file(tx: &mut Tx, key: &FeedKey, task: &Task) -> Result<()> {
    let Some(file) = task.file.as_ref().filter(|file| !file.referrer.is_empty()) else { return Ok(()) };
    let others = tx.scan(&TASKS, Range::prefix(key.row(), MOST_TASKS)?).await?;
    if others.iter().any(|(_, other)| uses(other, &file.referrer)) {
        return Ok(());
    }
    if let (Some(hash), Ok(referrer)) = (hash_of(&file.hash), Referrer::new(file.referrer.as_str())) {
        Files::release(tx, &hash, &referrer).await?;
    }
    Ok(())
}

/// The feed's fingerprints are no longer wanted. The caller writes the row.
pub(crate) async fn release_fingerprints(tx: &mut Tx, feed: &mut FeedRow) -> Result<()> {
    let Some(before) = feed.fingerprints.take() else { return Ok(()) };
    if let (Some(hash), Ok(referrer)) = (hash_of(&before.file), Referrer::new(before.referrer)) {
        Files::release(tx, &hash, &referrer).await?;
    }
    Ok(())
}
