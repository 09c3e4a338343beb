//! The transactions that end the processing of a load, each under its lock.

use bytes::Bytes;
use files::{Limits, Referrer, Stored};
use futures::stream;
use model::Language;
use store::{Read as _, Tx};
use wire::feeds::{
    FeedTerminal, Fingerprints, QueueRow, Task, TaskError, TaskSource, TaskStatus, feed_message,
};

use super::cut::Progress;
use super::send::SentWhole;
use super::{LOCK, Taken};
use crate::fingerprints::{self, Noted};
use crate::tables::{FEED, TASK_QUEUE, TASKS};
use crate::tasks::{self, End};
use crate::upload::new_referrer;
use crate::{Error, Fatal, Feeds, Result, cleanup, config};

/// Every batch is acknowledged: the end of the load is told, and the results decide.
pub async fn finish(feeds: &Feeds, taken: &Taken, whole: SentWhole) -> Result<()> {
    match seal(feeds, taken, whole).await? {
        Some(task) => conclude(feeds, taken, &task).await,
        None => release(feeds, taken).await,
    }
}

/// What is left to do for a load that can no longer be called back.
pub(super) async fn conclude(feeds: &Feeds, taken: &Taken, task: &Task) -> Result<()> {
    tell_end(feeds, taken, task).await?;
    leave(feeds, taken).await
}

/// T: from here on the load cannot be called back. `None`: it ended meanwhile.
pub async fn seal(feeds: &Feeds, taken: &Taken, whole: SentWhole) -> Result<Option<Task>> {
    let SentWhole { progress, noted } = whole;
    let kept = keep(feeds, taken, noted).await?;
    let body = async |tx: &mut Tx| {
        taken.lock.check(tx).await?;
        let key = &taken.key;
        let mut task = tasks::find(tx, key, taken.task_id).await?;
        if task.status() != TaskStatus::TaskInProgress {
            return Ok(None);
        }
        progress.write_to(&mut task);
        (task.records, task.batches) = (progress.records, progress.batches);
        task.terminal_pending = true;
        task.updated_at = feeds.clock.now().0;
        tx.put(&TASKS, key.task(taken.task_id), &task)?;
        name_fingerprints(tx, taken, kept.as_ref()).await?;
        Ok(Some(task))
    };
    let sealed: Result<Option<Task>> = feeds.store.transact(taken.key.shard(), body).await;
    let sealed = sealed?;
    if let Some((stored, referrer)) = &kept {
        // A load that was cancelled at the last moment does not name them; then the sweep lets them go.
        if let Err(error) = feeds.files.confirm(&stored.hash, referrer).await {
            tracing::debug!(%referrer, "fingerprints are not confirmed yet: {error}");
        }
    }
    Ok(sealed)
}

/// Publishes the terminal message; it is acknowledged when this returns.
pub async fn tell_end(feeds: &Feeds, taken: &Taken, task: &Task) -> Result<()> {
    let pinned = task.settings.as_ref().and_then(|settings| settings.feed.as_ref());
    let removal = task.source() == TaskSource::SourceRemoval;
    let terminal = FeedTerminal {
        batches: task.batches,
        on_missing: pinned.map_or(0, |settings| settings.on_missing),
        guard_percent: if removal { 0 } else { pinned.map_or(0, |settings| settings.guard_percent) },
        removal,
    };
    let kind = feed_message::Kind::Terminal(terminal);
    let message = tasks::message(&taken.key, taken.task_id, task, kind);
    feeds.topics.publish(model::topics::FEED_OFFERS, vec![message]).await?;
    Ok(())
}

/// T: the load makes way for the next one. Its results may have ended it already.
pub async fn leave(feeds: &Feeds, taken: &Taken) -> Result<()> {
    let body = async |tx: &mut Tx| {
        taken.lock.check(tx).await?;
        let key = &taken.key;
        let mut task = tasks::find(tx, key, taken.task_id).await?;
        if !tasks::is_final(task.status()) {
            let patience = feeds.clock.now().plus(feeds.settings.results_patience);
            tasks::set_timer(tx, key, taken.task_id, &mut task, Some(patience))?;
            tx.put(&TASKS, key.task(taken.task_id), &task)?;
        }
        tasks::dequeue(tx, key, taken.task_id).await?;
        Ok(taken.lock.release(tx).await?)
    };
    feeds.store.transact(taken.key.shard(), body).await
}

type Kept = Option<(Stored, Referrer)>;

/// Stores the load's hashes for the next one. A dry run leaves none: its content did not go in.
async fn keep(feeds: &Feeds, taken: &Taken, noted: Noted) -> Result<Kept> {
    if taken.task.dry_run {
        return Ok(None);
    }
    let broken = |error: std::io::Error| {
        Error::Engine(kit::Error::with_source(kit::Kind::Unavailable, "keeping the fingerprints", error))
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
    tasks::send_abort(tx, key, taken.task_id, &task, &error.code).await?;
    tasks::end(tx, feeds, key, taken.task_id, &mut task, End::with(TaskStatus::TaskFailed, error)).await
}

/// Nobody's fault, or not the file's: the load waits in the queue, and fails after its last try. One that can no longer be
/// called back is tried until it is told.
pub async fn put_off(feeds: &Feeds, taken: &Taken, error: TaskError) -> Result<()> {
    let body = async |tx: &mut Tx| {
        taken.lock.check(tx).await?;
        let key = &taken.key;
        let before = tx.get(&TASK_QUEUE, key.task(taken.task_id)).await?.unwrap_or_default();
        let tries = before.tries + 1;
        let mut task = tasks::find(tx, key, taken.task_id).await?;
        if tries >= feeds.settings.process_tries && !task.terminal_pending {
            let message = format!("given up after {tries} tries: {}", spoken(&error));
            fail(tx, feeds, taken, TaskError { message, ..error.clone() }).await?;
        } else if !tasks::is_final(task.status()) {
            let wait = config::wait(feeds.settings.process_backoff, tries);
            tasks::dequeue(tx, key, taken.task_id).await?;
            let not_before = feeds.clock.now().plus(wait).0;
            tasks::enqueue(tx, key, taken.task_id, QueueRow { not_before, tries, ..before })?;
            task.error = Some(error.clone());
            task.updated_at = feeds.clock.now().0;
            tx.put(&TASKS, key.task(taken.task_id), &task)?;
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
