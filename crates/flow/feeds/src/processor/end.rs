//! The transactions that end the processing of a load, each under its lock.

use bytes::Bytes;
use files::{Limits, Referrer, Stored};
use futures::stream;
use model::Language;
use store::{Read as _, Tx};
use wire::feeds::{FeedAbort, FeedTerminal, Fingerprints, QueueRow, TaskError, TaskStatus, feed_message};

use super::cut::Progress;
use super::send::SentWhole;
use super::{LOCK, Taken};
use crate::fingerprints::{self, Noted};
use crate::tables::{FEED, TASK_QUEUE, TASKS};
use crate::tasks::{self, End};
use crate::upload::new_referrer;
use crate::{Error, Fatal, Feeds, Result, cleanup, config};

/// Every batch is acknowledged: the terminal message goes out and the results decide.
pub async fn finish(feeds: &Feeds, taken: &Taken, whole: SentWhole) -> Result<()> {
    let SentWhole { progress, noted } = whole;
    let kept = keep(feeds, taken, noted).await?;
    let body = async |tx: &mut Tx| {
        taken.lock.check(tx).await?;
        let key = &taken.key;
        let mut task = tasks::find(tx, key, taken.task_id).await?;
        if task.status() == TaskStatus::TaskInProgress {
            let now = feeds.clock.now();
            progress.write_to(&mut task);
            (task.records, task.batches) = (progress.records, progress.batches);
            task.terminal_pending = true;
            task.updated_at = now.0;
            let patience = now.plus(feeds.settings.results_patience);
            tasks::set_timer(tx, key, taken.task_id, &mut task, Some(patience))?;
            tx.put(&TASKS, key.task(taken.task_id), &task)?;
            tasks::dequeue(tx, key, taken.task_id).await?;
            let pinned = task.settings.as_ref().and_then(|settings| settings.feed.as_ref());
            let terminal = FeedTerminal {
                batches: progress.batches,
                on_missing: pinned.map_or(0, |settings| settings.on_missing),
                guard_percent: pinned.map_or(0, |settings| settings.guard_percent),
                removal: false,
            };
            let kind = feed_message::Kind::Terminal(terminal);
            tasks::tell_offers(tx, key, taken.task_id, &task, kind).await?;
            name_fingerprints(tx, taken, kept.as_ref()).await?;
        }
        Ok(taken.lock.release(tx).await?)
    };
    let done: Result<()> = feeds.store.transact(taken.key.shard(), body).await;
    done?;
    if let Some((stored, referrer)) = &kept {
        // A load that was cancelled at the last moment does not name them; then the sweep lets them go.
        if let Err(error) = feeds.files.confirm(&stored.hash, referrer).await {
            tracing::debug!(%referrer, "fingerprints are not confirmed yet: {error}");
        }
    }
    Ok(())
}

type Kept = Option<(Stored, Referrer)>;

/// Stores the load's hashes for the next one. A dry run leaves none: its content did not go in.
async fn keep(feeds: &Feeds, taken: &Taken, noted: Noted) -> Result<Kept> {
    if taken.task.dry_run {
        return Ok(None);
    }
    let broken = |error: std::io::Error| {
        Error::Files(files::Error::with_source(files::Kind::Unavailable, "keeping the fingerprints", error))
    };
    let file = tokio::fs::File::from_std(noted.end().map_err(broken)?);
    let chunks = stream::try_unfold(file, async |mut file| {
        let mut chunk = bytes::BytesMut::with_capacity(256 << 10);
        let read = tokio::io::AsyncReadExt::read_buf(&mut file, &mut chunk).await?;
        Ok::<_, std::io::Error>((read > 0).then(|| (Bytes::from(chunk), file)))
    });
    let incoming = feeds.files.receive(chunks, Limits::up_to(u64::MAX)).await?;
    let referrer = new_referrer(&taken.key)?;
    let stored = feeds.files.put(incoming, &referrer).await?;
    Ok(Some((stored, referrer)))
}

async fn name_fingerprints(tx: &mut Tx, taken: &Taken, kept: Option<&(Stored, Referrer)>) -> Result<()> {
    let (Some((stored, referrer)), Some(mut feed)) = (kept, tx.get(&FEED, taken.key.row()).await?) else {
        return Ok(());
    };
    cleanup::release_fingerprints(tx, &mut feed).await?;
    let pinned = taken.task.settings.as_ref();
    feed.fingerprints = Some(Fingerprints {
        file: stored.hash.as_bytes().to_vec(),
        referrer: referrer.as_str().to_owned(),
        task_id: taken.task_id,
        settings_version: pinned.and_then(|pinned| pinned.feed.as_ref()).map_or(0, |feed| feed.version),
        catalog_version: pinned.map_or(0, |pinned| pinned.catalog_version),
        bytes: stored.size as i64,
        format: fingerprints::FORMAT,
    });
    Ok(tx.put(&FEED, taken.key.row(), &feed)?)
}

/// The load cannot be processed: it fails, and the offers forget what they have of it.
pub async fn give_up(feeds: &Feeds, taken: &Taken, error: TaskError) -> Result<()> {
    let body = async |tx: &mut Tx| {
        taken.lock.check(tx).await?;
        fail(tx, feeds, taken, error.clone()).await?;
        Ok(taken.lock.release(tx).await?)
    };
    feeds.store.transact(taken.key.shard(), body).await
}

async fn fail(tx: &mut Tx, feeds: &Feeds, taken: &Taken, error: TaskError) -> Result<()> {
    let key = &taken.key;
    let mut task = tasks::find(tx, key, taken.task_id).await?;
    if task.status() != TaskStatus::TaskInProgress {
        return Ok(());
    }
    let abort = FeedAbort { reason: error.code.clone() };
    let kind = feed_message::Kind::Abort(abort);
    tasks::tell_offers(tx, key, taken.task_id, &task, kind).await?;
    tasks::end(tx, feeds, key, taken.task_id, &mut task, End::with(TaskStatus::TaskFailed, error)).await
}

/// Nobody's fault, or not the file's: the load waits in the queue, and fails after so many tries.
pub async fn put_off(feeds: &Feeds, taken: &Taken, error: TaskError) -> Result<()> {
    let body = async |tx: &mut Tx| {
        taken.lock.check(tx).await?;
        let key = &taken.key;
        let before = tx.get(&TASK_QUEUE, key.task(taken.task_id)).await?.unwrap_or_default();
        let tries = before.tries + 1;
        if tries >= feeds.settings.process_tries {
            let message = format!("given up after {tries} tries: {}", spoken(&error));
            fail(tx, feeds, taken, TaskError { message, ..error.clone() }).await?;
        } else {
            let mut task = tasks::find(tx, key, taken.task_id).await?;
            if task.status() == TaskStatus::TaskInProgress {
                let wait = config::wait(feeds.settings.process_backoff, tries);
                tasks::dequeue(tx, key, taken.task_id).await?;
                let not_before = feeds.clock.now().plus(wait).0;
                tasks::enqueue(tx, key, taken.task_id, QueueRow { not_before, tries })?;
                task.error = Some(error.clone());
                task.updated_at = feeds.clock.now().0;
                tx.put(&TASKS, key.task(taken.task_id), &task)?;
            }
        }
        Ok(taken.lock.release(tx).await?)
    };
    feeds.store.transact(taken.key.shard(), body).await
}

/// The load ended without this process.
pub(super) async fn release(feeds: &Feeds, taken: &Taken) -> Result<()> {
    let body = async |tx: &mut Tx| Ok(taken.lock.release(tx).await?);
    tracing::debug!(context = LOCK, task_id = taken.task_id, "a load ended while it was processed");
    feeds.store.transact(taken.key.shard(), body).await
}

pub(super) fn error_of(fatal: &Fatal) -> TaskError {
    TaskError {
        code: fatal.code.to_owned(),
        parameters: fatal.parameters.clone(),
        message: String::new(),
        line: fatal.line as i64,
        column: fatal.column as i64,
    }
}

fn spoken(error: &TaskError) -> String {
    if error.message.is_empty() {
        crate::history::sentence(error, Language::English)
    } else {
        error.message.clone()
    }
}

impl Progress {
    pub(super) fn write_to(self, task: &mut wire::feeds::Task) {
        let progress = task.progress.get_or_insert_default();
        progress.bytes_read = self.bytes as i64;
        progress.offers = self.records;
        progress.batches_sent = self.batches;
    }
}
