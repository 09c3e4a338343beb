//! Telling those who wish to be told: a load failed, is held, or a feed has been dead for days.
//!
//! The row is written in the transaction of what it tells of, with the url and the secret as they are then; the sender
//! works under the shard's token and removes the row when the receiver has answered with 2xx, or after so many tries. A
//! crash between the answer and the removal tells twice: `event_id` is the receiver's key to know a repeat.
//!
//! The body is JSON; `Dvor-Signature: t=<seconds>,v1=<hex>` is HMAC-SHA-256 of `<seconds>.<body>` under the feed's
//! secret, so a receiver can tell our word from anybody's and an old word from a new one.

use std::fmt::Write as _;

use async_trait::async_trait;
use cluster::work::{Done, Due, Entry, Plan, Work, head};
use kit::Timestamp;
use ring::hmac;
use serde::Serialize;
use store::{Read as _, Shard, Tx};
use wire::feeds::{FeedRow, Task, WebhookRow};

use crate::tables::WEBHOOKS;
use crate::tasks::{FeedKey, source_name, status_name};
use crate::{Error, Feeds, Result, config, history, metrics, processor};

/// Calls at the same time.
const AT_ONCE: usize = 8;

#[derive(Serialize)]
struct Event<'a> {
    event: &'a str,
    event_id: &'a str,
    at: Timestamp,
    seller_id: &'a str,
    namespace: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<LoadPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failing_since: Option<Timestamp>,
}

#[derive(Serialize)]
struct LoadPart<'a> {
    task_id: i64,
    status: &'a str,
    source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    would_go: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    live_before: Option<i64>,
}

#[derive(Serialize)]
struct ErrorPart<'a> {
    code: &'a str,
    message: String,
    line: i64,
    column: i64,
}

pub(crate) fn load_failed(
    tx: &mut Tx,
    feeds: &Feeds,
    key: &FeedKey,
    feed: &FeedRow,
    task_id: i64,
    task: &Task,
) -> Result<()> {
    write(tx, feeds, key, feed, "load_failed", Some((task_id, task)))
}

pub(crate) fn load_held(
    tx: &mut Tx,
    feeds: &Feeds,
    key: &FeedKey,
    feed: &FeedRow,
    task_id: i64,
    task: &Task,
) -> Result<()> {
    write(tx, feeds, key, feed, "load_held", Some((task_id, task)))
}

pub(crate) fn feed_dead(tx: &mut Tx, feeds: &Feeds, key: &FeedKey, feed: &FeedRow) -> Result<()> {
    write(tx, feeds, key, feed, "feed_dead", None)
}

fn write(
    tx: &mut Tx,
    feeds: &Feeds,
    key: &FeedKey,
    feed: &FeedRow,
    event: &str,
    load: Option<(i64, &Task)>,
) -> Result<()> {
    let Some(settings) = feed.settings.as_ref().filter(|settings| !settings.webhook_url.is_empty()) else {
        return Ok(());
    };
    let (now, event_id) = (feeds.clock.now(), kit::random_id());
    let failing_since = (event == "feed_dead").then_some(Timestamp(feed.failing_since));
    let body = Event {
        event,
        event_id: &event_id,
        at: now,
        seller_id: &key.seller,
        namespace: &key.namespace,
        load: load.map(|(task_id, task)| load_part(task_id, task)),
        failing_since,
    };
    let row = WebhookRow {
        url: settings.webhook_url.clone(),
        secret: settings.webhook_secret.clone(),
        event: event.to_owned(),
        body: serde_json::to_string(&body).unwrap_or_default(),
        created_at: now.0,
        ..WebhookRow::default()
    };
    tx.put(&WEBHOOKS, (now.0, key.seller.as_str(), key.namespace.as_str(), event_id.as_str()), &row)?;
    tx.wake(crate::WEBHOOK_CHANNEL);
    Ok(())
}

fn load_part(task_id: i64, task: &Task) -> LoadPart<'_> {
    let error = |error| ErrorPart {
        message: history::sentence(error, model::Language::English),
        code: &error.code,
        line: error.line,
        column: error.column,
    };
    LoadPart {
        task_id,
        status: status_name(task.status()),
        source: source_name(task.source()),
        error: task.error.as_ref().map(error),
        would_go: task.held.map(|held| held.would_go),
        live_before: task.held.map(|held| held.live_before),
    }
}

/// The key of a row: (moment, seller, namespace, event).
type Key = (i64, String, String, String);

/// What is to be told now.
pub struct Webhooks(pub Feeds);

#[async_trait]
impl Work for Webhooks {
    type Key = Key;
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("feed webhooks", processor::ROLE, crate::WEBHOOK_CHANNEL, AT_ONCE)
    }

    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<Key>> {
        let entry = |key: Key, _| Entry { at: Timestamp(key.0), owner: key.1.clone(), key, long: false };
        Ok(head(&self.0.store, &WEBHOOKS, shards, now, entry).await?)
    }

    async fn run(&self, _: Shard, key: &Key) -> Result<Done> {
        tell(&self.0, key).await?;
        Ok(Done::Finished)
    }
}

async fn tell(feeds: &Feeds, key: &Key) -> Result<()> {
    let shard = Shard::of(&key.1);
    let Some(row) = feeds.store.get(&WEBHOOKS, shard, key).await? else { return Ok(()) };
    let seconds = feeds.clock.now().0 / 1_000_000;
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("dvor-event", row.event.clone()),
        ("dvor-signature", signature(&row.secret, seconds, &row.body)),
    ];
    let answer = feeds.fetcher.post(&row.url, &headers, row.body.clone().into()).await;
    let failed = match answer {
        Ok(200..=299) => None,
        Ok(status) => Some(format!("the receiver answered with status {status}")),
        Err(error) => Some(error.to_string()),
    };
    let body = async |tx: &mut Tx| {
        let Some(mut row) = tx.get(&WEBHOOKS, key).await? else { return Ok(()) };
        tx.delete(&WEBHOOKS, key)?;
        let Some(error) = &failed else {
            metrics::webhook("told");
            return Ok(());
        };
        row.tries += 1;
        row.last_error.clone_from(error);
        if row.tries >= feeds.settings.webhook_tries {
            metrics::webhook("given_up");
            tracing::warn!(
                seller = key.1,
                namespace = key.2,
                event = row.event,
                "a webhook is given up: {error}"
            );
            return Ok(());
        }
        metrics::webhook("failed");
        let next = feeds.clock.now().plus(config::wait(feeds.settings.webhook_backoff, row.tries)).0;
        tx.put(&WEBHOOKS, (next, key.1.as_str(), key.2.as_str(), key.3.as_str()), &row)?;
        Ok(())
    };
    feeds.store.transact(shard, body).await
}

/// What proves that the body is ours.
pub fn signature(secret: &str, seconds: i64, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("{seconds}.{body}").as_bytes());
    tag.as_ref().iter().fold(format!("t={seconds},v1="), |mut text, byte| {
        // Writing into a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
