//! Loads that have waited too long: without results for a day a load is `partial`, and a dry run is forgotten.
//!
//! Results do not move the timer, which would cost two rows for each; when it comes, the load's own row says whether
//! something was heard meanwhile, and then it is set anew. Each is one transaction.

use cluster::Cluster;
use futures::future::BoxFuture;
use kit::{Shutdown, Timestamp};
use store::{Range, Read as _, Shard, Tx};
use wire::feeds::TaskStatus;

use crate::tables::{TASK_TIMERS, TASKS};
use crate::tasks::{self, End, FeedKey, said};
use crate::work::{self, Done, Found, Work};
use crate::{Feeds, Result, processor};

const LOOK: usize = 16;

pub async fn run(feeds: Feeds, cluster: Cluster, shutdown: Shutdown) {
    let (feeds, cluster) = (&feeds, &cluster);
    let look = |shards| -> BoxFuture<'_, _> { Box::pin(look(feeds, shards)) };
    let run = |(key, task_id): (FeedKey, i64)| -> BoxFuture<'_, _> {
        Box::pin(async move {
            fire(feeds, &key, task_id).await?;
            Ok(Done::Worked)
        })
    };
    let wakes = feeds.store.wakes().listen(crate::TIMER_CHANNEL);
    let work = Work { cluster, clock: &feeds.clock, role: processor::ROLE, wakes, at_once: 4 };
    work::work(work, look, run, &shutdown).await;
}

async fn look(feeds: &Feeds, shards: Vec<Shard>) -> Result<Found<(FeedKey, i64)>> {
    let now = feeds.clock.now();
    let mut found = Found { due: Vec::new(), later: Vec::new() };
    for (shard, (at, seller, namespace, task_id), ()) in
        feeds.store.scan_shards(&TASK_TIMERS, &shards, Range::all(LOOK)).await?
    {
        if at <= now.0 {
            found.due.push((shard, (FeedKey { seller, namespace }, task_id)));
        } else {
            found.later.push((shard, Timestamp(at)));
        }
    }
    found.later.reverse();
    Ok(found)
}

/// Everything that is due now, once; for tests.
pub async fn fire_due(feeds: &Feeds) -> Result<usize> {
    let found = look(feeds, Shard::all().collect()).await?;
    let count = found.due.len();
    for (_, (key, task_id)) in found.due {
        fire(feeds, &key, task_id).await?;
    }
    Ok(count)
}

async fn fire(feeds: &Feeds, key: &FeedKey, task_id: i64) -> Result<()> {
    let body = async |tx: &mut Tx| {
        let now = feeds.clock.now();
        let Some(mut task) = tx.get(&TASKS, key.task(task_id)).await? else { return Ok(()) };
        if task.timer_at == 0 || task.timer_at > now.0 {
            return Ok(());
        }
        if tasks::is_final(task.status()) {
            tasks::set_timer(tx, key, task_id, &mut task, None)?;
            tx.put(&TASKS, key.task(task_id), &task)?;
            return tasks::make_old(tx, feeds, key, task_id);
        }
        let patience = feeds.settings.results_patience;
        let heard = Timestamp(task.updated_at).plus(patience);
        let asked = task.status() == TaskStatus::TaskNeedsConfirmation;
        if asked || heard > now {
            let next = if asked { now.plus(patience) } else { heard };
            tasks::set_timer(tx, key, task_id, &mut task, Some(next))?;
            return Ok(tx.put(&TASKS, key.task(task_id), &task)?);
        }
        let acknowledged = task.progress.unwrap_or_default().batches_acknowledged;
        let message = format!(
            "nothing was heard of the load for {} hours; {acknowledged} of {} batches have results",
            patience.as_secs() / 3_600,
            task.batches
        );
        let end = End::with(TaskStatus::TaskPartial, said("no_results", message));
        tasks::end(tx, feeds, key, task_id, &mut task, end).await
    };
    feeds.store.transact(key.shard(), body).await
}
