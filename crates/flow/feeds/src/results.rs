//! What the offers answer goes into the history: each result once.
//!
//! The consumer of `feed.results` applies the results of a seller in one transaction with the position it has come to
//! (`applied`), so a crash anywhere repeats nothing. A relay's repeat comes at a new place in the topic; `offer_batches`
//! knows it by (task, kind, number, part). Statistics, errors, progress and status change in that same transaction, so
//! the totals always equal the list.
//!
//! **The ledger**: when the terminal result says `done`, every record of the file must have one outcome and every batch
//! one result. A load for which that does not hold is `partial`, never `succeeded`, and says what is missing.

use async_trait::async_trait;
use prost::Message as _;
use store::{Read as _, Shard, Tx};
use topics::Record;
use topics::consume::{Failure, Handler, Undecodable};
use wire::feeds::terminal_result::End as Ending;
use wire::feeds::{
    BatchResult, FeedResult, HeldResult, Statistics, SweepResult, Task, TaskStatus, TerminalResult,
    feed_result,
};

use crate::tables::{FEED, FEED_STATISTICS, OFFER_BATCHES, TASKS};
use crate::tasks::{self, End, FeedKey, said};
use crate::{Feeds, Result, errors, follow_up, statistics, webhooks};

pub const GROUP: &str = "feeds";

/// Takes results from the topic `feed.results`.
pub struct Results(pub Feeds);

#[async_trait]
impl Handler for Results {
    type Message = FeedResult;

    fn decode(&self, record: &Record) -> std::result::Result<(Shard, FeedResult), Undecodable> {
        let result = FeedResult::decode(record.payload.as_ref()).map_err(Undecodable::new)?;
        Ok((Shard::of(&result.seller_id), result))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<FeedResult>) -> std::result::Result<(), Failure> {
        prefetch(tx, &messages).await?;
        for result in messages {
            apply(tx, &self.0, result).await?;
        }
        Ok(())
    }
}

/// Reads ahead what every result needs.
async fn prefetch(tx: &mut Tx, results: &[FeedResult]) -> Result<()> {
    let tasks = || results.iter().map(|result| (&*result.seller_id, &*result.namespace, result.task_id));
    tx.prefetch(&TASKS, tasks()).await?;
    tx.prefetch(&FEED_STATISTICS, tasks()).await?;
    let counted = tasks().zip(results).filter_map(|((seller, namespace, task_id), result)| {
        let (name, number, part) = repeat_key(result.kind.as_ref()?);
        Some((seller, namespace, task_id, name, number, part))
    });
    Ok(tx.prefetch(&OFFER_BATCHES, counted).await?)
}

async fn apply(tx: &mut Tx, feeds: &Feeds, result: FeedResult) -> Result<()> {
    let FeedResult { seller_id: seller, namespace, task_id, kind, .. } = result;
    let key = FeedKey { seller, namespace };
    // A load that was forgotten meanwhile has nothing to be told.
    let (Some(mut task), Some(kind)) = (tx.get(&TASKS, key.task(task_id)).await?, kind) else {
        return Ok(());
    };
    let (name, number, part) = repeat_key(&kind);
    let counted = (key.seller.as_str(), key.namespace.as_str(), task_id, name, number, part);
    if tx.get(&OFFER_BATCHES, counted).await?.is_some() {
        return Ok(());
    }
    tx.put(&OFFER_BATCHES, counted, &())?;
    task.updated_at = feeds.clock.now().0;
    match kind {
        feed_result::Kind::Batch(batch) => count_batch(tx, &key, task_id, &mut task, batch).await,
        feed_result::Kind::Sweep(sweep) => count_sweep(tx, &key, task_id, &task, &sweep).await,
        feed_result::Kind::Held(held) => hold(tx, feeds, &key, task_id, &mut task, held).await,
        feed_result::Kind::Terminal(terminal) => {
            conclude(tx, feeds, &key, task_id, &mut task, &terminal).await
        }
    }
}

/// By what a repeat is known, within its load.
fn repeat_key(kind: &feed_result::Kind) -> (&'static str, i64, u32) {
    match kind {
        feed_result::Kind::Batch(batch) => ("batch", batch.number, batch.part),
        feed_result::Kind::Sweep(sweep) => ("sweep", sweep.number, 0),
        feed_result::Kind::Held(_) => ("held", 0, 0),
        feed_result::Kind::Terminal(_) => ("terminal", 0, 0),
    }
}

async fn read_statistics(tx: &Tx, key: &FeedKey, task_id: i64) -> Result<Statistics> {
    Ok(tx.get(&FEED_STATISTICS, key.task(task_id)).await?.unwrap_or_default())
}

async fn count_batch(
    tx: &mut Tx,
    key: &FeedKey,
    task_id: i64,
    task: &mut Task,
    batch: BatchResult,
) -> Result<()> {
    let mut found = read_statistics(tx, key, task_id).await?;
    // The tally of the whole batch rides in every part.
    if batch.part <= 1 {
        statistics::add_tally(&mut found, batch.tally.unwrap_or_default());
        task.progress.get_or_insert_default().batches_acknowledged += 1;
    }
    for record in batch.records {
        statistics::add_record(&mut found, &record, task.dry_run);
        errors::add(tx, key, task_id, &mut found, record)?;
    }
    tx.put(&FEED_STATISTICS, key.task(task_id), &found)?;
    Ok(tx.put(&TASKS, key.task(task_id), task)?)
}

async fn count_sweep(
    tx: &mut Tx,
    key: &FeedKey,
    task_id: i64,
    task: &Task,
    sweep: &SweepResult,
) -> Result<()> {
    let mut found = read_statistics(tx, key, task_id).await?;
    let tally = found.tally.get_or_insert_default();
    tally.deleted += sweep.deleted;
    tally.made_manual += sweep.made_manual;
    found.sweeps += 1;
    tx.put(&FEED_STATISTICS, key.task(task_id), &found)?;
    Ok(tx.put(&TASKS, key.task(task_id), task)?)
}

/// A person must say. The content is known from here on: fetching it again asks nobody twice.
async fn hold(
    tx: &mut Tx,
    feeds: &Feeds,
    key: &FeedKey,
    task_id: i64,
    task: &mut Task,
    held: HeldResult,
) -> Result<()> {
    if tasks::is_final(task.status()) {
        return Ok(());
    }
    task.held = Some(held);
    if task.decision.is_none() {
        task.set_status(TaskStatus::TaskNeedsConfirmation);
    }
    tx.put(&TASKS, key.task(task_id), task)?;
    let Some(mut feed) = tx.get(&FEED, key.row()).await? else { return Ok(()) };
    if task_id >= feed.first_task_id {
        tasks::know_content(&mut feed, task_id, task, feeds.clock.now());
        tx.put(&FEED, key.row(), &feed)?;
    }
    webhooks::load_held(tx, feeds, key, &feed, task_id, task)
}

async fn conclude(
    tx: &mut Tx,
    feeds: &Feeds,
    key: &FeedKey,
    task_id: i64,
    task: &mut Task,
    terminal: &TerminalResult,
) -> Result<()> {
    let found = read_statistics(tx, key, task_id).await?;
    let partial = |code: &str, message: String| End::with(TaskStatus::TaskPartial, said(code, message));
    let end = match terminal.end() {
        Ending::Done => match statistics::imbalance(&found, task) {
            None => End::well(),
            Some(missing) => partial("ledger", missing),
        },
        Ending::Incomplete => partial(
            "incomplete",
            format!(
                "{} of {} batches arrived at the offers; nothing was taken away",
                terminal.batches_applied, task.batches
            ),
        ),
        Ending::Superseded => {
            partial("superseded", "a newer load came first; nothing was taken away".to_owned())
        }
        Ending::RejectedByPerson => {
            let message = "a person refused to take the missing offers away; created and updated ones stay";
            End::with(TaskStatus::TaskRejected, said("rejected", message))
        }
        Ending::Aborted | Ending::Unspecified => {
            End::with(TaskStatus::TaskFailed, said("aborted", "the load was broken off"))
        }
    };
    tasks::end(tx, feeds, key, task_id, task, end).await?;
    follow_up::after(tx, feeds, key, task_id, task, &found).await
}
