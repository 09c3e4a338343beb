//! Loads that have waited too long: without results for a day a load is `partial`, and a dry run is forgotten.
//!
//! Results do not move the timer, which would cost two rows for each; when it comes, the load's own row says whether
//! something was heard meanwhile, and then it is set anew. Each is one transaction.

use async_trait::async_trait;
use cluster::work::{Done, Due, Entry, Plan, Work, head};
use kit::Timestamp;
use store::{Read as _, Shard, Tx};
use wire::feeds::TaskStatus;

use crate::tables::{TASK_TIMERS, TASKS};
use crate::tasks::{self, End, FeedKey, said};
use crate::{Error, Feeds, Result, processor};

/// Loads whose timer has come.
pub struct Timers(pub Feeds);

#[async_trait]
impl Work for Timers {
    type Key = (FeedKey, i64);
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("feed timers", processor::ROLE, crate::TIMER_CHANNEL, 4)
    }

    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<(FeedKey, i64)>> {
        Ok(head(&self.0.store, &TASK_TIMERS, shards, now, due_load).await?)
    }

    async fn run(&self, _: Shard, (key, task_id): &(FeedKey, i64)) -> Result<Done> {
        fire(&self.0, key, *task_id).await?;
        Ok(Done::Finished)
    }
}

/// What a row (moment, seller, namespace, task) says.
pub(crate) fn due_load(
    (at, seller, namespace, task_id): (i64, String, String, i64),
    (): (),
) -> Entry<(FeedKey, i64)> {
    let owner = seller.clone();
    Entry { at: Timestamp(at), owner, key: (FeedKey { seller, namespace }, task_id), long: false }
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
