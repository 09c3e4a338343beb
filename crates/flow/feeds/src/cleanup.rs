//! Forgetting loads: `old_tasks` is the queue.
//!
//! | step | what | a crash behind it leaves |
//! | --- | --- | --- |
//! | 1 (T, repeated) | some errors with their indexes | fewer errors; the next run goes on |
//! | 2 (T, repeated) | statistics, then some batches | the same |
//! | 3 (T) | the task row, its timer, its place in `old_tasks`, and the release of the file if no other load has it; the next old loads of the feed, if there are more | nothing |
//!
//! The release is in the outbox of step 3, so the file's reference goes if and only if the row goes. A load that has not
//! ended is never old, except when its feed was removed, and then it was ended first.

use async_trait::async_trait;
use cluster::work::{Done, Due, Entry, Plan, Work, head_by_owner};
use files::{Files, Referrer};
use kit::Timestamp;
use store::{Range, Read as _, Shard, Tx};
use wire::feeds::{FeedRow, Task};

use crate::tables::{FEED, FEED_STATISTICS, OFFER_BATCHES, OLD_TASKS, TASKS};
use crate::tasks::{self, FeedKey};
use crate::upload::{hash_of, is_used};
use crate::{Error, Feeds, Result, errors, feed, processor};

/// Rows that one transaction removes.
const STEP: usize = 500;

/// Loads that are to be forgotten, step by step. Any number of processes may do so at the same time.
pub struct OldLoads(pub Feeds);

#[async_trait]
impl Work for OldLoads {
    type Key = (FeedKey, i64);
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("feed clean-up", processor::ROLE, crate::OLD_CHANNEL, 4)
    }

    async fn due(&self, shards: &[Shard], _: Timestamp) -> Result<Due<(FeedKey, i64)>> {
        let entry = |(seller, namespace, task_id): (String, String, i64), _| {
            let owner = seller.clone();
            Some(Entry {
                at: Timestamp(0),
                owner,
                key: (FeedKey { seller, namespace }, task_id),
                long: false,
            })
        };
        Ok(head_by_owner(&self.0.store, &OLD_TASKS, shards, entry).await?)
    }

    async fn run(&self, _: Shard, (key, task_id): &(FeedKey, i64)) -> Result<Done> {
        Ok(if step(&self.0, key, *task_id).await? { Done::More } else { Done::Finished })
    }
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
        if let Some(feed) = tx.get(&FEED, key.row()).await?.filter(feed::is_active) {
            tasks::retire(tx, feeds, key, &feed).await?;
        }
        Ok(false)
    };
    feeds.store.transact(key.shard(), body).await
}

/// The file goes with the last load that has it.
async fn release_file(tx: &mut Tx, key: &FeedKey, task: &Task) -> Result<()> {
    let Some(file) = task.file.as_ref().filter(|file| !file.referrer.is_empty()) else { return Ok(()) };
    if is_used(tx, key, &file.referrer).await? {
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
