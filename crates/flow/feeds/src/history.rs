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

/// Sellers with feeds behind one of them, at most `limit`, in the order of (shard, seller).
pub async fn sellers(feeds: &Feeds, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
    let page = Range::all(limit.saturating_mul(feeds.settings.max_namespaces.max(1)));
    let rest = |seller: &str| Ok::<_, store::Error>((Shard::of(seller), page.clone().after((seller,))?));
    let mut last = String::new();
    let first_active = |(seller, _): (String, String), feed: FeedRow| {
        let is_new = feed::is_active(&feed) && last != seller;
        if is_new {
            last.clone_from(&seller);
        }
        is_new.then_some(seller)
    };
    let cursor = after.map(rest).transpose()?;
    Ok(feeds.store.scan_after(&FEED, &page, cursor, limit, first_active).await?)
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
    let page = Range::all(most + 1);
    let rest = |key: &FeedKey| Ok::<_, store::Error>((key.shard(), page.clone().after(key.row())?));
    let active = |(seller, namespace): (String, String), feed: FeedRow| {
        feed::is_active(&feed).then_some(FeedKey { seller, namespace })
    };
    let cursor = after.map(rest).transpose()?;
    let mut keys = feeds.store.scan_after(&FEED, &page, cursor, most + 1, active).await?;
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

/// What is said of a load that is not a success, in the reader's language.
pub fn sentence(error: &TaskError, language: Language) -> String {
    if !error.message.is_empty() {
        return error.message.clone();
    }
    let issue = Issue { code: error.code.clone(), parameters: error.parameters.clone(), ..Issue::default() };
    message::render(&issue, language)
}
