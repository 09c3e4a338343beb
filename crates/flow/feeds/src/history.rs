//! The history of a feed: its loads, newest first, each with its statistics.

use model::{Issue, Language, message};
use store::{Range, Read as _, Shard};
use wire::feeds::{FeedRow, LoaderTask, Statistics, Task, TaskError};

use crate::tables::{FEED, FEED_LOADER_TASK, FEED_STATISTICS, TASKS};
use crate::tasks::FeedKey;
use crate::{Error, Feeds, Result, feed};

/// A load with what became of its offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    pub task_id: i64,
    pub task: Task,
    pub statistics: Statistics,
}

/// A feed with what its loader knows.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedView {
    pub key: FeedKey,
    pub feed: FeedRow,
    pub loader: Option<LoaderTask>,
}

pub async fn load(feeds: &Feeds, key: &FeedKey, task_id: i64) -> Result<Load> {
    let snapshot = feeds.store.snapshot(key.shard()).await?;
    let task = snapshot.get(&TASKS, key.task(task_id)).await?;
    let task = task.ok_or_else(|| Error::NoTask { namespace: key.namespace.clone(), task_id })?;
    let statistics = snapshot.get(&FEED_STATISTICS, key.task(task_id)).await?.unwrap_or_default();
    Ok(Load { task_id, task, statistics })
}

/// Loads below `before` (all: `None`), newest first. A feed that was removed still shows its last loads until they are
/// cleared away.
pub async fn loads(feeds: &Feeds, key: &FeedKey, before: Option<i64>, limit: usize) -> Result<Vec<Load>> {
    let snapshot = feeds.store.snapshot(key.shard()).await?;
    if snapshot.get(&FEED, key.row()).await?.is_none() {
        return Err(Error::NoFeed(key.namespace.clone()));
    }
    let mut range = Range::prefix(key.row(), limit)?.reversed();
    if let Some(before) = before {
        range = range.before(key.task(before))?;
    }
    let rows = snapshot.scan(&TASKS, range).await?;
    let statistics =
        snapshot.get_many(&FEED_STATISTICS, rows.iter().map(|((.., task_id), _)| key.task(*task_id))).await?;
    let join = rows.into_iter().zip(statistics).map(|(((.., task_id), task), statistics)| Load {
        task_id,
        task,
        statistics: statistics.unwrap_or_default(),
    });
    Ok(join.collect())
}

pub async fn feed(feeds: &Feeds, key: &FeedKey) -> Result<FeedView> {
    let snapshot = feeds.store.snapshot(key.shard()).await?;
    let found = snapshot.get(&FEED, key.row()).await?.filter(feed::is_active);
    let feed = found.ok_or_else(|| Error::NoFeed(key.namespace.clone()))?;
    let loader = snapshot.get(&FEED_LOADER_TASK, key.row()).await?;
    Ok(FeedView { key: key.clone(), feed, loader })
}

/// The feeds of a seller. There are few, so they come whole.
pub async fn feeds_of(feeds: &Feeds, seller: &str) -> Result<Vec<FeedView>> {
    let snapshot = feeds.store.snapshot(Shard::of(seller)).await?;
    let rows = snapshot.scan(&FEED, Range::prefix((seller,), usize::MAX)?).await?;
    let mut found = Vec::new();
    for ((seller, namespace), feed) in rows {
        let key = FeedKey { seller, namespace };
        if feed::is_active(&feed) {
            let loader = snapshot.get(&FEED_LOADER_TASK, key.row()).await?;
            found.push(FeedView { key, feed, loader });
        }
    }
    Ok(found)
}

/// Shards asked at once when all are walked.
const SHARDS_AT_ONCE: usize = 128;

/// Sellers with feeds behind one of them, at most `limit`, in the order of (shard, seller).
pub async fn sellers(feeds: &Feeds, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
    let mut sellers: Vec<String> = Vec::new();
    let mut first = 0;
    // A seller has at most so many feeds, so this many rows hold at least `limit` sellers.
    let rows_at_once = limit.saturating_mul(feeds.settings.max_namespaces.max(1));
    if let Some(after) = after {
        let shard = Shard::of(after);
        let behind = Range::all(rows_at_once).after((after,))?;
        add_sellers(&mut sellers, feeds.store.scan_shards(&FEED, &[shard], behind).await?);
        first = shard.index() + 1;
    }
    let shards: Vec<_> = Shard::all().skip(first).collect();
    for shards in shards.chunks(SHARDS_AT_ONCE) {
        if sellers.len() >= limit {
            break;
        }
        add_sellers(&mut sellers, feeds.store.scan_shards(&FEED, shards, Range::all(rows_at_once)).await?);
    }
    sellers.truncate(limit);
    Ok(sellers)
}

fn add_sellers(sellers: &mut Vec<String>, rows: Vec<(Shard, (String, String), FeedRow)>) {
    for (_, (seller, _), feed) in rows {
        if feed::is_active(&feed) && sellers.last() != Some(&seller) {
            sellers.push(seller);
        }
    }
}

/// A feed with its newest load.
#[derive(Clone, Debug, PartialEq)]
pub struct Glance {
    pub view: FeedView,
    pub load: Option<Load>,
}

/// Feeds of all sellers behind one of them with their newest loads, at most `most`, and behind which there are more: a look
/// over the whole installation.
pub async fn glance(
    feeds: &Feeds,
    after: Option<&FeedKey>,
    most: usize,
) -> Result<(Vec<Glance>, Option<FeedKey>)> {
    let mut keys = Vec::new();
    let mut first = 0;
    if let Some(after) = after {
        let behind = Range::all(most + 1).after(after.row())?;
        add_feeds(&mut keys, feeds.store.scan_shards(&FEED, &[after.shard()], behind).await?);
        first = after.shard().index() + 1;
    }
    let shards: Vec<_> = Shard::all().skip(first).collect();
    for shards in shards.chunks(SHARDS_AT_ONCE) {
        if keys.len() > most {
            break;
        }
        add_feeds(&mut keys, feeds.store.scan_shards(&FEED, shards, Range::all(most + 1)).await?);
    }
    let more = keys.len() > most;
    keys.truncate(most);
    let next = keys.last().filter(|_| more).cloned();
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        // A feed that went in between is not shown.
        let Ok(view) = feed(feeds, &key).await else { continue };
        let load = loads(feeds, &key, None, 1).await?.pop();
        found.push(Glance { view, load });
    }
    Ok((found, next))
}

fn add_feeds(keys: &mut Vec<FeedKey>, rows: Vec<(Shard, (String, String), FeedRow)>) {
    let active = rows.into_iter().filter(|(.., feed)| feed::is_active(feed));
    keys.extend(active.map(|(_, (seller, namespace), _)| FeedKey { seller, namespace }));
}

/// What is said of a load that is not a success, in the reader's language.
pub fn sentence(error: &TaskError, language: Language) -> String {
    if !error.message.is_empty() {
        return error.message.clone();
    }
    let issue = Issue { code: error.code.clone(), parameters: error.parameters.clone(), ..Issue::default() };
    message::render(&issue, language)
}
