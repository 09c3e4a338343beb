use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;
use serde_json::Value;

use super::backend::{Backend, segment};
use super::{Common, print, print_columns, print_json};
use crate::http::{
    Encoding, GroupItem, NewRecord, Publish, Published, RecordItem, Rewind, RewindTo, TopicItem,
};
use web::Page;

const FOLLOW_EVERY: Duration = Duration::from_millis(500);

/// Look into topics
#[derive(Subcommand)]
pub enum TopicCommand {
    /// List topics with their records and the lags of their readers
    #[command(after_help = "Example:\n  dvor topic list")]
    List,
    /// Print the last records of a topic
    #[command(
        after_help = "Examples:\n  dvor topic tail offers.changes\n  dvor topic tail offers.changes --limit 5 --follow --json\n  dvor topic tail offers.changes --raw"
    )]
    Tail {
        topic: String,
        /// How many
        #[arg(long, default_value_t = 10, value_name = "RECORDS")]
        limit: usize,
        /// Go on printing records as they come
        #[arg(long, short)]
        follow: bool,
        /// Print payloads as bytes in base64, not decoded
        #[arg(long)]
        raw: bool,
    },
    /// Publish one record
    #[command(
        after_help = "Examples:\n  dvor topic publish notes '{\"a\":1}' --key seller-1 --create\n  dvor topic publish notes hello"
    )]
    Publish {
        topic: String,
        /// JSON, or else plain text
        payload: String,
        /// Records of one key stay in order
        #[arg(long, default_value = "")]
        key: String,
        /// Make the topic if it is not there
        #[arg(long)]
        create: bool,
    },
    /// Move a group of readers to one end of a topic; what lies behind its new position is applied again
    #[command(after_help = "Example:\n  dvor topic rewind offers.changes --group snippets --to start")]
    Rewind {
        topic: String,
        #[arg(long)]
        group: String,
        #[arg(long, value_enum)]
        to: RewindTo,
    },
}

impl TopicCommand {
    pub async fn run(self, common: &Common) -> Result<()> {
        let backend = Backend::open(common).await?;
        let json = common.json;
        let done = match self {
            Self::List => list(&backend, json).await,
            Self::Tail { topic, limit, follow, raw } => {
                let encoding = if raw { "base64" } else { "decoded" };
                tail(&backend, json, &topic, limit, follow, encoding).await
            }
            Self::Publish { topic, payload, key, create } => {
                publish(&backend, json, &topic, record(key, payload), create).await
            }
            Self::Rewind { topic, group, to } => rewind(&backend, json, &topic, Rewind { group, to }).await,
        };
        backend.close().await?;
        done
    }
}

fn path(topic: &str, rest: &str) -> String {
    format!("/v1/topics/{}{rest}", segment(topic))
}

async fn list(backend: &Backend, json: bool) -> Result<()> {
    let page: Page<TopicItem> = backend.get("/v1/topics", &[]).await?;
    if json {
        return print_json(&page);
    }
    let mut rows = Vec::new();
    for topic in &page.items {
        let records: i64 = topic.partitions.iter().map(|partition| partition.high - partition.low).sum();
        let groups: Page<GroupItem> = backend.get(&path(&topic.topic, "/groups"), &[]).await?;
        let lags: Vec<_> =
            groups.items.iter().map(|group| format!("{} {}", group.group, group.lag)).collect();
        rows.push(vec![
            topic.topic.clone(),
            topic.partitions.len().to_string(),
            records.to_string(),
            lags.join(", "),
        ]);
    }
    print_columns(&["TOPIC", "PARTITIONS", "RECORDS", "GROUPS AND LAGS"], &rows)
}

/// With `json`, one record per line.
async fn tail(
    backend: &Backend,
    json: bool,
    topic: &str,
    limit: usize,
    follow: bool,
    encoding: &str,
) -> Result<()> {
    let encoding = ("encoding", encoding.to_owned());
    let mut query = vec![("limit", limit.to_string()), encoding.clone()];
    loop {
        let page: Page<RecordItem> = backend.get(&path(topic, "/records"), &query).await?;
        for record in &page.items {
            print(&if json { serde_json::to_string(record)? } else { line(record) })?;
        }
        let Some(cursor) = page.next_cursor.filter(|_| follow) else { return Ok(()) };
        query = vec![("cursor", cursor), encoding.clone()];
        if page.items.is_empty() {
            tokio::select! {
                () = tokio::time::sleep(FOLLOW_EVERY) => {}
                _ = tokio::signal::ctrl_c() => return Ok(()),
            }
        }
    }
}

fn line(record: &RecordItem) -> String {
    let payload = record.payload.as_str().map_or_else(|| record.payload.to_string(), str::to_owned);
    format!("{}  {}/{}  {}  {payload}", record.timestamp, record.partition, record.offset, record.key)
}

fn record(key: String, payload: String) -> NewRecord {
    let (payload, encoding) = match serde_json::from_str::<Value>(&payload) {
        Ok(json) => (json, Encoding::Json),
        Err(_) => (Value::from(payload), Encoding::Text),
    };
    NewRecord { key, payload, encoding, headers: Vec::new() }
}

async fn publish(backend: &Backend, json: bool, topic: &str, record: NewRecord, create: bool) -> Result<()> {
    if create {
        let _: TopicItem = backend.put(&path(topic, "")).await?;
    }
    let published: Published =
        backend.post(&path(topic, "/records"), &Publish { records: vec![record] }).await?;
    if json {
        return print_json(&published);
    }
    let placed = published
        .items
        .iter()
        .map(|placed| format!("partition {} offset {}", placed.partition, placed.offset));
    print(&placed.collect::<Vec<_>>().join("\n"))
}

async fn rewind(backend: &Backend, json: bool, topic: &str, rewind: Rewind) -> Result<()> {
    let done: Rewind = backend.post(&path(topic, "/rewind"), &rewind).await?;
    if json { print_json(&done) } else { print(&format!("{} is rewound", done.group)) }
}
