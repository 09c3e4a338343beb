//! The file goes out in batches.

use std::sync::Arc;
use std::time::Duration;

use store::{Read as _, Tx};
use tokio::sync::mpsc;
use tokio::time::Instant;
use wire::feeds::TaskStatus;

use super::Taken;
use super::cut::{Cut, Job, Progress, WholeFile, cut};
use super::input::input;
use super::survey;
use crate::fingerprints::{Known, Noted};
use crate::tables::TASKS;
use crate::upload::hash_of;
use crate::{Fatal, Feeds, Result, Unify, metrics};

/// Progress is noted this often, and a cancelled load noticed.
const NOTE_EVERY: Duration = Duration::from_secs(1);
/// Batches that wait to be sent, and that one call sends.
const WAITING: usize = 8;

/// How sending ended.
pub enum Sent {
    Whole(SentWhole),
    /// An earlier try has sent everything, and only the end is to be told.
    Before,
    /// The load was cancelled meanwhile; there is nothing left to do.
    Stopped,
    /// The file cannot be read.
    Broken(Fatal),
}

/// The whole file was sent, and every batch acknowledged.
pub struct SentWhole {
    pub(super) progress: Progress,
    pub(super) noted: Noted,
}

/// Reads, cuts and publishes. Batches of a seller share a key, so they stay in order.
pub async fn send(feeds: &Feeds, taken: &Taken) -> Result<Sent> {
    let file = taken.task.file.as_ref();
    let Some(hash) = file.and_then(|file| hash_of(&file.hash)) else {
        return Ok(Sent::Broken(Fatal::file_gone()));
    };
    let settings = taken.task.settings.clone().unwrap_or_default();
    let Some(unify) = unify(feeds, settings.catalog_version) else {
        return Ok(Sent::Broken(Fatal::no_catalog(settings.catalog_version)));
    };
    let survey = match survey::survey(feeds, taken, &hash, &unify).await? {
        Ok(survey) => survey,
        Err(fatal) => return Ok(Sent::Broken(fatal)),
    };
    // Only now: a connection that nobody reads from does not wait for long.
    let reading = match feeds.files.open(&hash).await {
        Ok(reading) => reading,
        Err(error) if error.kind() == files::Kind::NotFound => return Ok(Sent::Broken(Fatal::file_gone())),
        Err(error) => return Err(error.into()),
    };
    let job = Job {
        key: taken.key.clone(),
        task_id: taken.task_id,
        task: taken.task.clone(),
        settings,
        unify,
        known: known(feeds, taken).await?,
        survey,
    };
    let (sender, cuts) = mpsc::channel(WAITING);
    let input = input(reading);
    let cutting = tokio::task::spawn_blocking(move || cut(job, input, &sender));
    let published = publish(feeds, taken, cuts).await?;
    match cutting.await {
        Ok(_) if !published => Ok(Sent::Stopped),
        Ok(Ok(WholeFile { progress, noted })) => Ok(Sent::Whole(SentWhole { progress, noted })),
        Ok(Err(fatal)) => Ok(Sent::Broken(fatal)),
        // A panic while reading is ours, not the seller's, and the same file would panic again.
        Err(panic) => Ok(Sent::Broken(Fatal::bug(&panic.to_string()))),
    }
}

/// By the catalog that is pinned in the load: every try of it must say the same.
fn unify(feeds: &Feeds, version: u32) -> Option<Arc<dyn Unify>> {
    if feeds.unify.catalog_version() == version {
        return Some(feeds.unify.clone());
    }
    feeds.unify.of_version(version)
}

/// The hashes that the load is compared with; without them everything travels.
async fn known(feeds: &Feeds, taken: &Taken) -> Result<Option<Known>> {
    let same = taken.task.settings.as_ref().and_then(|settings| settings.same.as_ref());
    let Some(hash) = same.and_then(|same| hash_of(&same.file)) else { return Ok(None) };
    match feeds.files.open(&hash).await {
        Ok(reading) => Ok(Some(Known::new(input(reading)))),
        Err(error) if error.kind() == files::Kind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// `false`: the load was cancelled.
async fn publish(feeds: &Feeds, taken: &Taken, mut cuts: mpsc::Receiver<Cut>) -> Result<bool> {
    let mut ready = Vec::with_capacity(WAITING);
    let mut note_at = Instant::now() + NOTE_EVERY;
    while cuts.recv_many(&mut ready, WAITING).await > 0 {
        let progress = ready.last().map(|cut| cut.progress).unwrap_or_default();
        let mut messages = Vec::with_capacity(ready.len());
        for cut in ready.drain(..) {
            metrics::batch_sent(cut.records);
            messages.push(cut.message);
        }
        feeds.topics.publish(model::topics::FEED_OFFERS, messages).await?;
        if Instant::now() >= note_at {
            if !note(feeds, taken, progress).await? {
                return Ok(false);
            }
            note_at = Instant::now() + NOTE_EVERY;
        }
    }
    Ok(true)
}

/// T: how far it is; `false` when the load is no longer to be processed.
async fn note(feeds: &Feeds, taken: &Taken, read: Progress) -> Result<bool> {
    let body = async |tx: &mut Tx| {
        taken.lock.check(tx).await?;
        let key = taken.key.task(taken.task_id);
        let Some(mut task) = tx.get(&TASKS, key).await? else { return Ok(false) };
        if task.status() != TaskStatus::TaskInProgress {
            return Ok(false);
        }
        read.write_to(&mut task);
        task.updated_at = feeds.clock.now().0;
        tx.put(&TASKS, key, &task)?;
        Ok(true)
    };
    feeds.store.transact(taken.key.shard(), body).await
}
