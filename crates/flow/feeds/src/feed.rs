//! A seller's feed: its making, its settings, its pauses and its removal.
//!
//! Each verb is one transaction in the seller's shard; there is nothing between two steps for a crash to leave. A removal
//! ends all loads of the feed, writes them into `old_tasks`, and puts a last load without offers into the queue; the
//! processor tells the offers its end, in its turn, and the terminal result ends it.

use futures::future::try_join_all;
use kit::Timestamp;
use model::limits::MAX_ADDRESS_CHARS;
use store::{Range, Read as _, Tx};
use wire::feeds::{
    FeedRow, FeedSettings, FeedStatus, LoaderTask, OnMissing, QueueRow, QuotaRow, Task, TaskProgress,
    TaskSource, TaskStatus,
};

use crate::tables::{FEED, FEED_DUE, FEED_LOADER_TASK, TASK_QUEUE, TASKS};
use crate::tasks::{self, End, FeedKey, said};
use crate::{Error, Feeds, Result, cleanup, quota};

/// Once a year.
const MAX_PERIOD_MINUTES: i64 = 366 * 24 * 60;
const MAX_SECRET_CHARS: usize = 256;
/// A code of three characters, or a name or sign that feeds use for it.
const MAX_CURRENCY_CHARS: usize = 16;

pub fn is_active(feed: &FeedRow) -> bool {
    feed.status() == FeedStatus::FeedActive
}

/// The feed's row, which must be there and in use.
pub(crate) async fn active(tx: &Tx, key: &FeedKey) -> Result<FeedRow> {
    let found = tx.get(&FEED, key.row()).await?.filter(is_active);
    found.ok_or_else(|| Error::NoFeed(key.namespace.clone()))
}

/// The feed's row, made if there is none. Not written.
pub(crate) async fn open_or_make(tx: &mut Tx, feeds: &Feeds, key: &FeedKey) -> Result<FeedRow> {
    let found = tx.get(&FEED, key.row()).await?;
    match found {
        Some(feed) if is_active(&feed) => Ok(feed),
        found => {
            check_room(tx, feeds, key).await?;
            Ok(fresh(found.unwrap_or_default(), default_settings(feeds), feeds.clock.now()))
        }
    }
}

async fn check_room(tx: &Tx, feeds: &Feeds, key: &FeedKey) -> Result<()> {
    let most = feeds.settings.max_namespaces;
    let rows = tx.scan(&FEED, Range::prefix((key.seller.as_str(),), usize::MAX)?).await?;
    if rows.iter().filter(|(_, feed)| is_active(feed)).count() >= most {
        let detail = format!("a seller may have {most} feeds");
        return Err(Error::Quota { name: "quota_namespaces", detail });
    }
    Ok(())
}

/// A feed made anew goes on counting, and believes nothing that an earlier one knew.
fn fresh(before: FeedRow, mut settings: FeedSettings, now: Timestamp) -> FeedRow {
    settings.version = before.settings.map_or(0, |before| before.version) + 1;
    FeedRow {
        version: before.version + 1,
        status: FeedStatus::FeedActive.into(),
        settings: Some(settings),
        last_task_id: before.last_task_id,
        first_task_id: before.last_task_id + 1,
        created_at: now.0,
        updated_at: now.0,
        // Its file is released by the load that replaces it.
        fingerprints: before.fingerprints,
        ..FeedRow::default()
    }
}

pub fn default_settings(feeds: &Feeds) -> FeedSettings {
    FeedSettings {
        period_minutes: (feeds.settings.period.as_secs() / 60) as i64,
        on_missing: OnMissing::Delete.into(),
        guard_percent: feeds.settings.guard_percent,
        ..FeedSettings::default()
    }
}

/// Makes the feed, or changes its settings.
pub async fn put(feeds: &Feeds, key: &FeedKey, mut settings: FeedSettings) -> Result<FeedRow> {
    check_settings(feeds, &settings)?;
    let body = async |tx: &mut Tx| {
        let now = feeds.clock.now();
        let mut row = open_or_make(tx, feeds, key).await?;
        let before = row.settings.take().unwrap_or_default();
        // The url, the period and the webhook do not change what a load does.
        settings.version = before.version + i64::from(effect(&before) != effect(&settings));
        if !settings.webhook_url.is_empty() && settings.webhook_secret.is_empty() {
            settings.webhook_secret = match before.webhook_secret.as_str() {
                "" => kit::random_id(),
                secret => secret.to_owned(),
            };
        }
        row.version += 1;
        row.updated_at = now.0;
        row.settings = Some(settings.clone());
        tx.put(&FEED, key.row(), &row)?;
        schedule(tx, key, &row, now).await?;
        Ok(row)
    };
    feeds.store.transact(key.shard(), body).await
}

fn effect(settings: &FeedSettings) -> (i32, u32, &str, &str) {
    (settings.on_missing, settings.guard_percent, &settings.currency, &settings.address)
}

fn check_settings(feeds: &Feeds, settings: &FeedSettings) -> Result<()> {
    let least = (feeds.settings.min_period.as_secs() / 60) as i64;
    if settings.period_minutes < least {
        let message = format!("a feed is fetched every {least} minutes at most");
        return Err(Error::invalid("period_minutes", "too_small", message));
    }
    if settings.period_minutes > MAX_PERIOD_MINUTES {
        let message = format!("a feed is fetched every {MAX_PERIOD_MINUTES} minutes at least");
        return Err(Error::invalid("period_minutes", "too_large", message));
    }
    let texts = [
        ("webhook_secret", &settings.webhook_secret, MAX_SECRET_CHARS),
        ("currency", &settings.currency, MAX_CURRENCY_CHARS),
        ("address", &settings.address, MAX_ADDRESS_CHARS),
    ];
    for (field, text, most) in texts {
        if text.chars().count() > most {
            return Err(Error::invalid(field, "too_long", format!("it has at most {most} characters")));
        }
    }
    if settings.guard_percent > 100 {
        return Err(Error::invalid("guard_percent", "out_of_range", "a share is 0 to 100 percent"));
    }
    for (field, url) in [("url", &settings.url), ("webhook_url", &settings.webhook_url)] {
        let known = ["http://", "https://"].iter().any(|scheme| url.to_ascii_lowercase().starts_with(scheme));
        if !url.is_empty() && (!known || url.len() > 4_096) {
            return Err(Error::invalid(field, "bad_url", "an address begins with http:// or https://"));
        }
    }
    Ok(())
}

/// Gives the loader's row the feed's url, version and next moment, or takes the row away.
pub(crate) async fn schedule(tx: &mut Tx, key: &FeedKey, feed: &FeedRow, now: Timestamp) -> Result<()> {
    let before = tx.get(&FEED_LOADER_TASK, key.row()).await?;
    if let Some(before) = &before {
        tx.delete(&FEED_DUE, (before.next_fetch_at, key.seller.as_str(), key.namespace.as_str()))?;
    }
    let url = feed.settings.as_ref().map_or("", |settings| settings.url.as_str());
    if url.is_empty() || !is_active(feed) || feed.paused {
        return Ok(tx.delete(&FEED_LOADER_TASK, key.row())?);
    }
    let mut row = before.filter(|before| before.url == url).unwrap_or_else(|| LoaderTask {
        url: url.to_owned(),
        next_fetch_at: now.0,
        ..LoaderTask::default()
    });
    row.feed_version = feed.version;
    row.next_fetch_at = next_fetch(&row, feed, now);
    put_loader_task(tx, key, &row)
}

/// A shorter period takes effect at once.
fn next_fetch(row: &LoaderTask, feed: &FeedRow, now: Timestamp) -> i64 {
    if row.last_fetched_at == 0 || row.failures > 0 {
        return row.next_fetch_at;
    }
    let by_period = Timestamp(row.last_fetched_at).plus(period(feed)).0;
    by_period.max(now.0).min(row.next_fetch_at.max(now.0)).max(now.0)
}

pub(crate) fn period(feed: &FeedRow) -> std::time::Duration {
    let minutes = feed.settings.as_ref().map_or(0, |settings| settings.period_minutes);
    std::time::Duration::from_secs(minutes.clamp(1, MAX_PERIOD_MINUTES) as u64 * 60)
}

/// Writes the loader's row with its place among the due ones.
pub(crate) fn put_loader_task(tx: &mut Tx, key: &FeedKey, row: &LoaderTask) -> Result<()> {
    tx.put(&FEED_LOADER_TASK, key.row(), row)?;
    tx.put(&FEED_DUE, (row.next_fetch_at, key.seller.as_str(), key.namespace.as_str()), &())?;
    tx.wake(crate::FETCH_CHANNEL);
    Ok(())
}

/// Fetches at the next opportunity.
pub async fn fetch_now(feeds: &Feeds, key: &FeedKey) -> Result<()> {
    let body = async |tx: &mut Tx| {
        let feed = active(tx, key).await?;
        if feed.paused {
            return Err(Error::conflict("paused", "the feed is paused; resume it first"));
        }
        let Some(mut row) = tx.get(&FEED_LOADER_TASK, key.row()).await? else {
            return Err(Error::conflict("no_url", "the feed has no url to fetch from"));
        };
        quota::charge(tx, feeds, key, &QuotaRow { fetches: 1, ..QuotaRow::default() }).await?;
        tx.delete(&FEED_DUE, (row.next_fetch_at, key.seller.as_str(), key.namespace.as_str()))?;
        row.asked_at = feeds.clock.now().0;
        row.next_fetch_at = row.next_fetch_at.min(row.asked_at);
        put_loader_task(tx, key, &row)
    };
    feeds.store.transact(key.shard(), body).await
}

/// Whether a feed works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    Paused,
    Running,
}

/// Nothing is fetched or begun while a feed is paused: its loads keep their places in the queue. A load under way goes on.
pub async fn set_paused(feeds: &Feeds, key: &FeedKey, pause: Pause) -> Result<FeedRow> {
    let paused = pause == Pause::Paused;
    let body = async |tx: &mut Tx| {
        let mut row = active(tx, key).await?;
        if row.paused != paused {
            row.paused = paused;
            row.version += 1;
            row.updated_at = feeds.clock.now().0;
            tx.put(&FEED, key.row(), &row)?;
            schedule(tx, key, &row, feeds.clock.now()).await?;
            if !paused {
                tasks::unpark(tx, key).await?;
            }
        }
        Ok(row)
    };
    feeds.store.transact(key.shard(), body).await
}

/// Removes the feed; its offers are deleted or made manual. The answer is the number of the load that does so.
pub async fn remove(feeds: &Feeds, key: &FeedKey, offers: OnMissing) -> Result<i64> {
    let body = async |tx: &mut Tx| {
        let mut row = active(tx, key).await?;
        end_all(tx, feeds, std::slice::from_ref(key)).await?;
        // Ending loads may have taught the feed something.
        row = tx.get(&FEED, key.row()).await?.unwrap_or(row);
        let now = feeds.clock.now();
        row.set_status(FeedStatus::FeedRemoved);
        row.version += 1;
        row.updated_at = now.0;
        row.known = None;
        let task_id = tasks::next_id(&mut row);
        let mut task = Task {
            status: TaskStatus::TaskInProgress.into(),
            source: TaskSource::SourceRemoval.into(),
            created_at: now.0,
            updated_at: now.0,
            settings: Some(tasks::pinned(feeds, &row)),
            terminal_pending: true,
            begun: true,
            progress: Some(TaskProgress::default()),
            after_erasure: tasks::last_erasure(tx, key).await?,
            ..Task::default()
        };
        if let Some(settings) = task.settings.as_mut().and_then(|pinned| pinned.feed.as_mut()) {
            settings.on_missing = offers.into();
        }
        tx.put(&TASKS, key.task(task_id), &task)?;
        tasks::enqueue(tx, key, task_id, QueueRow { not_before: now.0, ..QueueRow::default() })?;
        cleanup::release_fingerprints(tx, &mut row).await?;
        tx.put(&FEED, key.row(), &row)?;
        schedule(tx, key, &row, now).await?;
        Ok(task_id)
    };
    feeds.store.transact(key.shard(), body).await
}

/// Ends what is under way, and makes the whole history of these feeds old. Their pages are asked for together.
pub(crate) async fn end_all(tx: &mut Tx, feeds: &Feeds, keys: &[FeedKey]) -> Result<()> {
    let mut histories: Vec<_> = keys.iter().map(tasks::Pages::oldest_first).collect::<Result<_>>()?;
    loop {
        let reader = &*tx;
        let pages = try_join_all(histories.iter_mut().map(|pages| pages.next(reader))).await?;
        let page: Vec<_> = keys
            .iter()
            .zip(pages)
            .flat_map(|(key, page)| page.into_iter().map(move |(task_id, task)| (key, task_id, task)))
            .collect();
        if page.is_empty() {
            return Ok(());
        }
        let under_way = page.iter().filter(|(_, _, task)| !tasks::is_final(task.status()));
        tx.prefetch(&TASK_QUEUE, under_way.map(|(key, task_id, _)| key.task(*task_id))).await?;
        for (key, task_id, mut task) in page {
            if !tasks::is_final(task.status()) {
                if task.begun {
                    tasks::send_abort(tx, key, task_id, &task, "the feed was removed").await?;
                }
                let end = End::with(TaskStatus::TaskCancelled, said("feed_removed", "the feed was removed"));
                tasks::close(tx, feeds, key, task_id, &mut task, end).await?;
            }
            tasks::make_old(tx, feeds, key, task_id)?;
        }
    }
}
