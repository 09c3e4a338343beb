//! Feeds that are fetched: on their period, or now because somebody asked.
//!
//! | step | what | a crash behind it leaves |
//! | --- | --- | --- |
//! | [`take`] (T) | the feed's lock; its url and version as they are now | a lock of a dead holder and a due row: the next process takes both |
//! | [`fetch`] | a guarded, conditional GET into a temp file, hashed as it comes | a temp file |
//! | put (shard of the hash) | the object is stored, its reference pending | a pending reference; the sweep hears `Gone` |
//! | [`settle`] (T) | under the lock, and only if the feed's version is still the one the download began with: the load with its place in the queue (or a row of the history that says `unchanged` or `failed`), the next moment, the lock released | nothing |
//! | confirm | the reference is held | a pending reference; the sweep hears `Held` |
//!
//! Content is `unchanged` when the load that began last had it and ended well, or is a person's matter; while a load waits
//! in the queue nothing is, since that load will come between. A load that begins during the download makes the answer
//! worthless; then the feed is fetched again at once.
//!
//! A truncated body is an error of the download and never a file. Rows of the history that say the same as the one before
//! are one row that counts.

use std::time::Duration;

use async_trait::async_trait;
use cluster::Lock;
use cluster::work::{Done, Due, Entry, Plan, Work, WorkError as _, head};
use fetch::{Answer, Conditional};
use files::{Hash, Incoming, Limits, Referrer, Stored};
use kit::{Backoff, Timestamp};
use store::{Range, Read as _, Shard, Tx};
use wire::feeds::{FeedRow, KnownContent, LoaderTask, Task, TaskError, TaskFile, TaskSource, TaskStatus};

use crate::feed::{self, put_loader_task};
use crate::tables::{FEED, FEED_DUE, FEED_LOADER_TASK, TASK_QUEUE, TASKS};
use crate::tasks::{self, FeedKey, NewTask, said};
use crate::upload::new_referrer;
use crate::{Error, Feeds, Result, config, metrics, webhooks};

pub const ROLE: &str = "feed-loader";
const LOCK: &str = "feedloader";

/// A feed that this process fetches.
pub struct Taken {
    pub key: FeedKey,
    row: LoaderTask,
    lock: Lock,
    began: Timestamp,
}

/// What a download brought.
pub enum Fetched {
    NotModified,
    /// The content is the one that is known, of this hash.
    Same(Hash, Conditional),
    File(Stored, Referrer, Conditional),
    Failed(TaskError),
}

/// Feeds that are due.
pub struct DueFeeds(pub Feeds);

#[async_trait]
impl Work for DueFeeds {
    type Key = FeedKey;
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("feed loader", ROLE, crate::FETCH_CHANNEL, self.0.settings.downloads.max(1))
    }

    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<FeedKey>> {
        let entry = |(at, seller, namespace): (i64, String, String), ()| Entry {
            at: Timestamp(at),
            owner: seller.clone(),
            key: FeedKey { seller, namespace },
            long: false,
        };
        Ok(head(&self.0.store, &FEED_DUE, shards, now, entry).await?)
    }

    async fn run(&self, _: Shard, key: &FeedKey) -> Result<Done> {
        let fetched = load(&self.0, key).await?;
        Ok(if fetched { Done::Finished } else { Done::NotNow })
    }
}

/// One feed from its lock to its next moment; `false`: another is at it, or it is not due.
pub async fn load(feeds: &Feeds, key: &FeedKey) -> Result<bool> {
    let Some(taken) = take(feeds, key).await? else { return Ok(false) };
    let fetched = match fetch(feeds, &taken).await {
        Ok(fetched) => fetched,
        // Storing failed, not the seller: it is shown and tried again like any failure.
        Err(error) => Fetched::Failed(said("unavailable", error.to_string())),
    };
    let kept = match &fetched {
        Fetched::File(stored, referrer, _) => Some((*stored, referrer.clone())),
        _ => None,
    };
    // The lock is this process's own and nobody takes it over while it lives: it is given back however long the store is
    // away. A repeat of a transaction that did happen is fenced, since it gave the lock back.
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10));
    loop {
        match settle(feeds, &taken, &fetched).await {
            Ok(true) => {
                if let Some((stored, referrer)) = kept {
                    feeds.files.confirm(&stored.hash, &referrer).await?;
                }
                return Ok(true);
            }
            // The feed was changed meanwhile: what was fetched is nobody's.
            Ok(false) => {
                if let Some((stored, referrer)) = kept {
                    feeds.files.abandon(&stored.hash, &referrer).await;
                }
                return Ok(true);
            }
            Err(error) if error.is_fenced() => return Ok(false),
            Err(error) => {
                tracing::warn!(seller = key.seller, "a download cannot be settled yet: {error}");
                tokio::time::sleep(backoff.next_wait()).await;
            }
        }
    }
}

/// T: this process fetches the feed, if it is due and nobody else does.
pub async fn take(feeds: &Feeds, key: &FeedKey) -> Result<Option<Taken>> {
    let body = async |tx: &mut Tx| {
        let Some(row) = tx.get(&FEED_LOADER_TASK, key.row()).await? else { return Ok(None) };
        let began = feeds.clock.now();
        if row.next_fetch_at > began.0 {
            return Ok(None);
        }
        let lock = feeds.cluster.try_lock(tx, LOCK, &key.lock_name(), feeds.settings.lock_age).await?;
        Ok(lock.map(|lock| Taken { key: key.clone(), row, lock, began }))
    };
    feeds.store.transact(key.shard(), body).await
}

/// The download, and the file in its place.
pub async fn fetch(feeds: &Feeds, taken: &Taken) -> Result<Fetched> {
    let known = known(feeds, &taken.key).await?;
    // «Not modified» is of use only while what it was is known and still counts.
    let was = Hash::from_bytes(taken.row.last_hash.as_slice().try_into().unwrap_or_default());
    let counts = known.as_ref().is_some_and(|known| known.hash == was.as_bytes());
    let text = |text: &String| (counts && !text.is_empty()).then(|| text.clone());
    let conditional =
        Conditional { etag: text(&taken.row.etag), last_modified: text(&taken.row.last_modified) };
    let mut download = match feeds.fetcher.get(&taken.row.url, &conditional).await {
        Ok(Answer::NotModified) => return Ok(Fetched::NotModified),
        Ok(Answer::Body(download)) => download,
        Err(error) => return Ok(Fetched::Failed(failure(&error))),
    };
    let validators = download.validators.clone();
    let limits = Limits { max_bytes: feeds.settings.max_file_bytes, expected_bytes: download.content_length };
    let received: std::result::Result<Incoming, files::Error> =
        feeds.files.receive(&mut *download, limits).await;
    let incoming = match (received, download.error()) {
        (_, Some(error)) => return Ok(Fetched::Failed(failure(error))),
        (received, None) => received?,
    };
    if known.is_some_and(|known| known.hash == incoming.hash().as_bytes()) {
        return Ok(Fetched::Same(incoming.hash(), validators));
    }
    let referrer = new_referrer(&taken.key)?;
    let stored = feeds.files.put(incoming, &referrer).await?;
    Ok(Fetched::File(stored, referrer, validators))
}

/// The content that need not be loaded again.
async fn known(feeds: &Feeds, key: &FeedKey) -> Result<Option<KnownContent>> {
    let snapshot = feeds.store.snapshot(key.shard()).await?;
    let feed = snapshot.get(&FEED, key.row()).await?.unwrap_or_default();
    if !snapshot.scan(&TASK_QUEUE, Range::prefix(key.row(), 1)?).await?.is_empty() {
        return Ok(None);
    }
    Ok(feed.known.clone().filter(|known| is_fresh(feeds, &feed, known)))
}

/// Content that is known is not loaded again, unless what would be made of it may differ.
fn is_fresh(feeds: &Feeds, feed: &FeedRow, known: &KnownContent) -> bool {
    let settings_version = feed.settings.as_ref().map_or(0, |settings| settings.version);
    let age = feeds.clock.now().since(Timestamp(known.at));
    known.settings_version == settings_version
        && known.catalog_version == feeds.catalog_version()
        && age < feeds.settings.unchanged_for
}

fn failure(error: &fetch::Error) -> TaskError {
    use fetch::Kind;
    let code = match error.kind() {
        Kind::BadUrl => "fetch_bad_url",
        Kind::ForbiddenAddress => "fetch_forbidden_address",
        Kind::Unreachable => "fetch_unreachable",
        Kind::IdleTimeout | Kind::TotalTimeout => "fetch_timeout",
        Kind::TooLarge => "fetch_too_large",
        Kind::Truncated => "fetch_truncated",
        Kind::BadStatus(_) => "fetch_bad_status",
        Kind::TooManyRedirects => "fetch_too_many_redirects",
        Kind::Sink | Kind::Options => "fetch_failed",
    };
    said(code, error.to_string())
}

/// T: what the download brought goes into the history; `false`: the feed was changed meanwhile and nothing does.
pub async fn settle(feeds: &Feeds, taken: &Taken, fetched: &Fetched) -> Result<bool> {
    let key = &taken.key;
    let body = async |tx: &mut Tx| {
        taken.lock.check(tx).await?;
        taken.lock.release(tx).await?;
        let (feed, row) = (tx.get(&FEED, key.row()).await?, tx.get(&FEED_LOADER_TASK, key.row()).await?);
        let (Some(mut feed), Some(mut row)) = (feed, row) else { return Ok(false) };
        if row.feed_version != taken.row.feed_version || !feed::is_active(&feed) || feed.paused {
            return Ok(false);
        }
        let now = feeds.clock.now();
        tx.delete(&FEED_DUE, (row.next_fetch_at, key.seller.as_str(), key.namespace.as_str()))?;
        let outdated = is_outdated(&feed, &row, fetched);
        if !outdated {
            record(tx, feeds, key, &mut feed, &mut row, fetched).await?;
        }
        row.next_fetch_at = match row.failures {
            // Somebody asked while it was fetched, and means what is there now.
            _ if outdated || row.asked_at > taken.began.0 => now.0,
            0 => now.plus(feed::period(&feed)).0,
            failures => now.plus(config::wait(feeds.settings.fetch_backoff, failures)).0,
        };
        tell_death(tx, feeds, key, &mut feed)?;
        tx.put(&FEED, key.row(), &feed)?;
        put_loader_task(tx, key, &row)?;
        Ok(true)
    };
    feeds.store.transact(key.shard(), body).await
}

/// The download says «the same as before», and what was before is no longer what the feed has.
fn is_outdated(feed: &FeedRow, row: &LoaderTask, fetched: &Fetched) -> bool {
    let same = match fetched {
        Fetched::NotModified => row.last_hash.as_slice(),
        Fetched::Same(hash, _) => hash.as_bytes().as_slice(),
        Fetched::File(..) | Fetched::Failed(_) => return false,
    };
    feed.known.as_ref().is_none_or(|known| known.hash != same)
}

/// The rows that follow from a download.
async fn record(
    tx: &mut Tx,
    feeds: &Feeds,
    key: &FeedKey,
    feed: &mut FeedRow,
    row: &mut LoaderTask,
    fetched: &Fetched,
) -> Result<()> {
    let now = feeds.clock.now();
    if let Fetched::Failed(error) = fetched {
        metrics::fetched("failed");
        row.failures += 1;
        row.error = Some(error.clone());
        if feed.failing_since == 0 {
            feed.failing_since = now.0;
        }
        let first = repeat_or_add(tx, feeds, key, feed, row, TaskStatus::TaskFailed, Some(error)).await?;
        if let Some((task_id, task)) = first {
            webhooks::load_failed(tx, feeds, key, feed, task_id, &task)?;
        }
        return Ok(());
    }
    (row.failures, row.error, row.last_fetched_at) = (0, None, now.0);
    if let Fetched::Same(_, validators) | Fetched::File(_, _, validators) = fetched {
        row.etag = validators.etag.clone().unwrap_or_default();
        row.last_modified = validators.last_modified.clone().unwrap_or_default();
    }
    if let Fetched::File(stored, referrer, _) = fetched {
        metrics::fetched("file");
        row.last_hash = stored.hash.as_bytes().to_vec();
        row.results += 1;
        let file = TaskFile {
            hash: row.last_hash.clone(),
            bytes: stored.size as i64,
            referrer: referrer.as_str().to_owned(),
        };
        let new = NewTask {
            source: TaskSource::SourceUrl,
            source_name: fetch::shown(&row.url),
            file,
            dry_run: false,
            repeats_task_id: 0,
        };
        let (task_id, mut task) = tasks::create(tx, feeds, key, feed, new).await?;
        task.loader_task_id = format!("{}@{}", key.lock_name(), row.feed_version);
        task.loader_result_id = row.results;
        return Ok(tx.put(&TASKS, key.task(task_id), &task)?);
    }
    metrics::fetched("unchanged");
    if let Some(known) = &feed.known {
        row.last_hash.clone_from(&known.hash);
    }
    (feed.failing_since, feed.death_told) = (0, false);
    repeat_or_add(tx, feeds, key, feed, row, TaskStatus::TaskUnchanged, None).await.map(drop)
}

/// A row of the history that needs no processing. If the last one says the same, it only counts; else the new row is
/// given back.
async fn repeat_or_add(
    tx: &mut Tx,
    feeds: &Feeds,
    key: &FeedKey,
    feed: &mut FeedRow,
    row: &LoaderTask,
    status: TaskStatus,
    error: Option<&TaskError>,
) -> Result<Option<(i64, Task)>> {
    let now = feeds.clock.now();
    if let Some(mut last) = tx.get(&TASKS, key.task(feed.last_task_id)).await?
        && last.status() == status
        && !last.begun
        && last.source() == TaskSource::SourceUrl
        && last.error.as_ref().map(|error| &error.code) == error.map(|error| &error.code)
    {
        last.repeats += 1;
        (last.updated_at, last.finished_at) = (now.0, now.0);
        last.error = error.cloned();
        tx.put(&TASKS, key.task(feed.last_task_id), &last)?;
        return Ok(None);
    }
    let task_id = tasks::next_id(feed);
    let task = Task {
        status: status.into(),
        source: TaskSource::SourceUrl.into(),
        source_name: fetch::shown(&row.url),
        created_at: now.0,
        updated_at: now.0,
        finished_at: now.0,
        error: error.cloned(),
        repeats: 1,
        ..Task::default()
    };
    tx.put(&TASKS, key.task(task_id), &task)?;
    tasks::retire(tx, feeds, key, feed).await?;
    Ok(Some((task_id, task)))
}

/// Once, when nothing has gone well for days.
fn tell_death(tx: &mut Tx, feeds: &Feeds, key: &FeedKey, feed: &mut FeedRow) -> Result<()> {
    let failing = feed.failing_since != 0
        && feeds.clock.now().since(Timestamp(feed.failing_since)) >= feeds.settings.dead_after;
    if failing && !feed.death_told {
        feed.death_told = true;
        webhooks::feed_dead(tx, feeds, key, feed)?;
    }
    Ok(())
}
