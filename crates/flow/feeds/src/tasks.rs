//! The life of a load in its rows: made, taken, put off, ended.
//!
//! A load is a row of `tasks`. While it waits or is being processed it also stands in `task_queue` (by feed, which gives
//! the order) and in `task_due` (by moment, which gives the work); both come and go with one another, but for a paused
//! feed, whose loads wait without a moment ([`park`], [`unpark`]). While results are awaited it stands in `task_timers`. Every function here is a piece of somebody's transaction, so whoever changes a
//! load's status changes all rows that follow from it, or none.

use kit::Timestamp;
use model::names;
use store::{Range, Read as _, Shard, Tx};
use wire::feeds::{
    FeedAbort, FeedMessage, FeedRow, KnownContent, OldTask, QueueRow, Task, TaskError, TaskFile,
    TaskSettings, TaskSource, TaskStatus, feed_message,
};

use crate::tables::{ERASED, FEED, OLD_TASKS, TASK_DUE, TASK_QUEUE, TASK_TIMERS, TASKS};
use crate::{Error, Feeds, Result, metrics, webhooks};

/// Which feed: a seller's namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeedKey {
    pub seller: String,
    pub namespace: String,
}

impl FeedKey {
    /// Checks the names, which come from outside.
    pub fn new(seller: &str, namespace: &str) -> Result<Self> {
        names::check_seller(seller)
            .map_err(|error| Error::invalid("seller", "bad_name", error.to_string()))?;
        names::check_namespace(namespace)
            .map_err(|error| Error::invalid("namespace", "bad_name", error.to_string()))?;
        Ok(Self { seller: seller.to_owned(), namespace: namespace.to_owned() })
    }

    pub fn shard(&self) -> Shard {
        Shard::of(&self.seller)
    }

    pub fn row(&self) -> (&str, &str) {
        (&self.seller, &self.namespace)
    }

    pub fn task(&self, task_id: i64) -> (&str, &str, i64) {
        (&self.seller, &self.namespace, task_id)
    }

    /// The name of the feed's locks.
    pub(crate) fn lock_name(&self) -> String {
        format!("{}/{}", self.namespace, self.seller)
    }

    pub fn is_parsed(&self) -> bool {
        self.namespace.starts_with(names::PARSED)
    }
}

/// What a new load is made of.
pub(crate) struct NewTask {
    pub(crate) source: TaskSource,
    pub(crate) source_name: String,
    pub(crate) file: TaskFile,
    pub(crate) dry_run: bool,
    pub(crate) repeats_task_id: i64,
}

/// The next number of the feed's loads.
pub(crate) fn next_id(feed: &mut FeedRow) -> i64 {
    feed.last_task_id += 1;
    feed.last_task_id
}

/// Makes a load and puts it into the queue. The caller writes the feed's row, whose count grows.
pub(crate) async fn create(
    tx: &mut Tx,
    feeds: &Feeds,
    key: &FeedKey,
    feed: &mut FeedRow,
    new: NewTask,
) -> Result<(i64, Task)> {
    let now = feeds.clock.now();
    let task_id = next_id(feed);
    let mut task = Task {
        source: new.source.into(),
        source_name: new.source_name,
        created_at: now.0,
        updated_at: now.0,
        progress: Some(wire::feeds::TaskProgress { bytes_total: new.file.bytes, ..Default::default() }),
        file: Some(new.file),
        settings: Some(pinned(feeds, feed)),
        dry_run: new.dry_run,
        repeats_task_id: new.repeats_task_id,
        after_erasure: last_erasure(tx, key).await?,
        traceparent: kit::trace::current().unwrap_or_default(),
        ..Task::default()
    };
    task.set_status(TaskStatus::TaskQueued);
    tx.put(&TASKS, key.task(task_id), &task)?;
    let bytes = task.file.as_ref().map_or(0, |file| file.bytes);
    enqueue(tx, key, task_id, QueueRow { not_before: now.0, tries: 0, bytes })?;
    Ok((task_id, task))
}

/// The seller's last erasure as Feeds know it: by it the offers tell his loads of before from those of after.
pub(crate) async fn last_erasure(tx: &Tx, key: &FeedKey) -> Result<i64> {
    Ok(tx.get(&ERASED, (key.seller.as_str(),)).await?.unwrap_or_default())
}

/// What every try of the load goes by.
pub(crate) fn pinned(feeds: &Feeds, feed: &FeedRow) -> TaskSettings {
    TaskSettings {
        feed: feed.settings.clone(),
        catalog_version: feeds.catalog_version(),
        batch_records: feeds.settings.batch_records,
        batch_bytes: feeds.settings.batch_bytes,
        same: None,
    }
}

pub(crate) fn enqueue(tx: &mut Tx, key: &FeedKey, task_id: i64, row: QueueRow) -> Result<()> {
    tx.put(&TASK_DUE, due_key(key, task_id, &row), &row.bytes)?;
    tx.put(&TASK_QUEUE, key.task(task_id), &row)?;
    tx.wake(crate::QUEUE_CHANNEL);
    Ok(())
}

fn due_key<'a>(key: &'a FeedKey, task_id: i64, row: &QueueRow) -> (i64, &'a str, &'a str, i64) {
    (row.not_before, &key.seller, &key.namespace, task_id)
}

/// A load of a paused feed keeps its place in the queue and is nobody's work until [`unpark`], so that paused feeds do
/// not stand before others.
pub(crate) async fn park(tx: &mut Tx, key: &FeedKey, task_id: i64) -> Result<()> {
    if let Some(row) = tx.get(&TASK_QUEUE, key.task(task_id)).await? {
        tx.delete(&TASK_DUE, due_key(key, task_id, &row))?;
    }
    Ok(())
}

/// The loads of a feed that is no longer paused are work again.
pub(crate) async fn unpark(tx: &mut Tx, key: &FeedKey) -> Result<()> {
    for ((.., task_id), row) in tx.scan(&TASK_QUEUE, Range::prefix(key.row(), usize::MAX)?).await? {
        tx.put(&TASK_DUE, due_key(key, task_id, &row), &row.bytes)?;
    }
    tx.wake(crate::QUEUE_CHANNEL);
    Ok(())
}

/// Takes a load out of the queue, if it is there.
pub(crate) async fn dequeue(tx: &mut Tx, key: &FeedKey, task_id: i64) -> Result<()> {
    if let Some(row) = tx.get(&TASK_QUEUE, key.task(task_id)).await? {
        tx.delete(&TASK_DUE, due_key(key, task_id, &row))?;
        tx.delete(&TASK_QUEUE, key.task(task_id))?;
        // The next load of the feed may have waited for this one.
        tx.wake(crate::QUEUE_CHANNEL);
    }
    Ok(())
}

/// Moves the load's timer; `None`: it has none.
pub(crate) fn set_timer(
    tx: &mut Tx,
    key: &FeedKey,
    task_id: i64,
    task: &mut Task,
    at: Option<Timestamp>,
) -> Result<()> {
    let row = |moment| (moment, key.seller.as_str(), key.namespace.as_str(), task_id);
    if task.timer_at != 0 {
        tx.delete(&TASK_TIMERS, row(task.timer_at))?;
    }
    task.timer_at = at.map_or(0, |at| at.0);
    if task.timer_at != 0 {
        tx.put(&TASK_TIMERS, row(task.timer_at), &())?;
        tx.wake(crate::TIMER_CHANNEL);
    }
    Ok(())
}

/// How a load ends: its status, and why it is not a success.
pub(crate) struct End {
    pub(crate) status: TaskStatus,
    pub(crate) error: Option<TaskError>,
}

impl End {
    pub(crate) fn well() -> Self {
        Self { status: TaskStatus::TaskSucceeded, error: None }
    }

    pub(crate) fn with(status: TaskStatus, error: TaskError) -> Self {
        Self { status, error: Some(error) }
    }
}

/// A sentence of our own, for what has no code in `model::message`.
pub(crate) fn said(code: &str, message: impl Into<String>) -> TaskError {
    TaskError { code: code.to_owned(), message: message.into(), ..TaskError::default() }
}

/// Ends the load: out of the queue, off the timers; the feed learns of it, its oldest loads become old, and those who
/// wish to be told are. A load that has ended already stays as it ended.
pub(crate) async fn end(
    tx: &mut Tx,
    feeds: &Feeds,
    key: &FeedKey,
    task_id: i64,
    task: &mut Task,
    end: End,
) -> Result<()> {
    match close(tx, feeds, key, task_id, task, end).await? {
        Some(feed) => retire(tx, feeds, key, &feed).await,
        None => Ok(()),
    }
}

/// The same for one whose feed loses its whole history: which loads become old is the caller's matter. `None`: it had
/// ended already, or its feed is gone.
pub(crate) async fn close(
    tx: &mut Tx,
    feeds: &Feeds,
    key: &FeedKey,
    task_id: i64,
    task: &mut Task,
    end: End,
) -> Result<Option<FeedRow>> {
    if is_final(task.status()) {
        return Ok(None);
    }
    let now = feeds.clock.now();
    task.set_status(end.status);
    task.error = end.error;
    (task.updated_at, task.finished_at) = (now.0, now.0);
    dequeue(tx, key, task_id).await?;
    let forget_at = task.dry_run.then(|| now.plus(feeds.settings.keep_dry_runs));
    set_timer(tx, key, task_id, task, forget_at)?;
    tx.put(&TASKS, key.task(task_id), task)?;
    metrics::task_ended(end.status);
    let Some(mut feed) = tx.get(&FEED, key.row()).await? else { return Ok(None) };
    if !task.dry_run && task_id >= feed.first_task_id {
        learn(&mut feed, task_id, task, now);
        tx.put(&FEED, key.row(), &feed)?;
    }
    if end.status == TaskStatus::TaskFailed {
        webhooks::load_failed(tx, feeds, key, &feed, task_id, task)?;
    }
    Ok(Some(feed))
}

/// What the feed learns from a load that ended.
fn learn(feed: &mut FeedRow, task_id: i64, task: &Task, now: Timestamp) {
    match task.status() {
        TaskStatus::TaskSucceeded => {
            feed.last_succeeded_task_id = task_id;
            (feed.failing_since, feed.death_told) = (0, false);
            know_content(feed, task_id, task, now);
        }
        TaskStatus::TaskRejected => know_content(feed, task_id, task, now),
        TaskStatus::TaskFailed if feed.failing_since == 0 => feed.failing_since = now.0,
        _ => {}
    }
}

/// From now on the same content needs no load: it went in, or a person is asked or has spoken. Not when another load has
/// begun meanwhile, which may have changed what this one left.
pub(crate) fn know_content(feed: &mut FeedRow, task_id: i64, task: &Task, now: Timestamp) {
    let (Some(file), Some(settings)) = (&task.file, &task.settings) else { return };
    if feed.began_task_id != task_id {
        return;
    }
    feed.known = Some(KnownContent {
        hash: file.hash.clone(),
        task_id,
        settings_version: settings.feed.as_ref().map_or(0, |settings| settings.version),
        catalog_version: settings.catalog_version,
        at: now.0,
    });
}

/// Rows of a feed's history that one read brings.
const PAGE: usize = 256;
/// Rows of fetches that brought nothing to process: this many of them are kept for each load that is.
const FETCHES_PER_LOAD: usize = 5;

/// All loads of a feed, page by page.
pub(crate) struct Pages {
    rest: Option<Range>,
}

impl Pages {
    pub(crate) fn oldest_first(key: &FeedKey) -> Result<Self> {
        Ok(Self { rest: Some(Range::prefix(key.row(), PAGE)?) })
    }

    fn newest_first(key: &FeedKey) -> Result<Self> {
        Ok(Self { rest: Some(Range::prefix(key.row(), PAGE)?.reversed()) })
    }

    /// The next loads; none: there are no more.
    pub(crate) async fn next(&mut self, reader: &impl store::Read) -> Result<Vec<(i64, Task)>> {
        let Some(range) = self.rest.take() else { return Ok(Vec::new()) };
        let rows = reader.scan(&TASKS, range.clone()).await?;
        if let Some((last, _)) = rows.last().filter(|_| rows.len() == PAGE) {
            self.rest = Some(if range.reverse { range.before(last)? } else { range.after(last)? });
        }
        Ok(rows.into_iter().map(|((.., task_id), task)| (task_id, task)).collect())
    }
}

/// Writes the loads that are no longer kept into `old_tasks`. Kept are the last N that were processed and what lies
/// between them, though not every fetch that brought nothing; the last that succeeded; and all that have not ended.
/// A page of older ones is enough: the clean-up comes back here with each load that it has forgotten.
pub(crate) async fn retire(tx: &mut Tx, feeds: &Feeds, key: &FeedKey, feed: &FeedRow) -> Result<()> {
    let keep = feeds.settings.keep_tasks;
    let (mut processed, mut fetches) = (0, 0);
    let mut pages = Pages::newest_first(key)?;
    loop {
        let had_all = processed >= keep;
        let page = pages.next(tx).await?;
        for (task_id, task) in &page {
            let is_fetch = is_final(task.status()) && !task.begun && !task.dry_run;
            fetches += usize::from(is_fetch);
            let too_many = is_fetch && fetches > FETCHES_PER_LOAD * keep;
            let is_kept = (processed < keep && !too_many) || *task_id == feed.last_succeeded_task_id;
            if !is_kept && is_final(task.status()) && !task.dry_run {
                make_old(tx, feeds, key, *task_id)?;
            }
            processed += usize::from(task.begun && !task.dry_run);
        }
        if had_all || page.is_empty() {
            return Ok(());
        }
    }
}

pub(crate) fn make_old(tx: &mut Tx, feeds: &Feeds, key: &FeedKey, task_id: i64) -> Result<()> {
    tx.put(&OLD_TASKS, key.task(task_id), &OldTask { since: feeds.clock.now().0 })?;
    tx.wake(crate::OLD_CHANNEL);
    Ok(())
}

/// Whether a load that may change offers waits behind this one.
pub(crate) async fn is_followed(tx: &Tx, key: &FeedKey, task_id: i64) -> Result<bool> {
    let range = Range::prefix(key.row(), usize::MAX)?.after(key.task(task_id))?;
    let waiting = tx.scan(&TASK_QUEUE, range).await?;
    let tasks = tx.get_many(&TASKS, waiting.iter().map(|((.., task_id), _)| key.task(*task_id))).await?;
    Ok(tasks.into_iter().flatten().any(|task| !task.dry_run))
}

pub(crate) async fn find(tx: &Tx, key: &FeedKey, task_id: i64) -> Result<Task> {
    let found = tx.get(&TASKS, key.task(task_id)).await?;
    found.ok_or_else(|| Error::NoTask { namespace: key.namespace.clone(), task_id })
}

/// Tells the offers that nothing more of the load counts. Should a newer load overtake this message, that one says the same.
pub(crate) async fn send_abort(
    tx: &mut Tx,
    key: &FeedKey,
    task_id: i64,
    task: &Task,
    reason: &str,
) -> Result<()> {
    let kind = feed_message::Kind::Abort(FeedAbort { reason: reason.to_owned() });
    let message = message(key, task_id, task, kind);
    Ok(topics::outbox::send(tx, model::topics::FEED_OFFERS, vec![message]).await?)
}

pub(crate) fn message(key: &FeedKey, task_id: i64, task: &Task, kind: feed_message::Kind) -> topics::Message {
    let message = FeedMessage {
        seller_id: key.seller.clone(),
        namespace: key.namespace.clone(),
        task_id,
        dry_run: task.dry_run,
        kind: Some(kind),
        after_erasure: task.after_erasure,
    };
    topics::Message::new(key.seller.as_str(), prost::Message::encode_to_vec(&message))
}

pub fn is_final(status: TaskStatus) -> bool {
    !matches!(
        status,
        TaskStatus::Unspecified
            | TaskStatus::TaskQueued
            | TaskStatus::TaskInProgress
            | TaskStatus::TaskNeedsConfirmation
    )
}

pub fn status_name(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Unspecified | TaskStatus::TaskQueued => "queued",
        TaskStatus::TaskInProgress => "in_progress",
        TaskStatus::TaskNeedsConfirmation => "needs_confirmation",
        TaskStatus::TaskSucceeded => "succeeded",
        TaskStatus::TaskPartial => "partial",
        TaskStatus::TaskFailed => "failed",
        TaskStatus::TaskUnchanged => "unchanged",
        TaskStatus::TaskRejected => "rejected",
        TaskStatus::TaskCancelled => "cancelled",
    }
}

pub fn source_name(source: TaskSource) -> &'static str {
    match source {
        TaskSource::Unspecified | TaskSource::SourceUpload => "upload",
        TaskSource::SourceUrl => "url",
        TaskSource::SourceParsed => "parsed",
        TaskSource::SourceRerun => "rerun",
        TaskSource::SourceFollowUp => "follow_up",
        TaskSource::SourceRemoval => "removal",
    }
}
