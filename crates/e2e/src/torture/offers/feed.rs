//! A seller whose feed comes by topic: batches, a terminal message, the next load.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use prost::Message as _;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use wire::feeds::feed_message::Kind;
use wire::feeds::{FeedBatch, FeedMessage, FeedRecord, FeedTerminal, OnMissing};

use crate::http::Client;
use crate::load::offers::content;

pub(super) const NAMESPACE: &str = "default";
const IDS: u32 = 300;
const BATCH: usize = 40;

pub struct Feed {
    pub seller: String,
    category: String,
    rng: StdRng,
    pub task: i64,
    /// What the load under way still has to send; a message that was not acknowledged is sent again.
    waiting: Vec<FeedMessage>,
    /// Batches of each load that was begun.
    pub batches: Vec<i64>,
    /// The external ids of the newest load.
    pub present: BTreeSet<String>,
}

impl Feed {
    pub fn new(number: usize, category: &str, seed: u64) -> Self {
        Self {
            seller: format!("feed-{number}"),
            category: category.to_owned(),
            rng: StdRng::seed_from_u64(seed),
            task: 0,
            waiting: Vec::new(),
            batches: Vec::new(),
            present: BTreeSet::new(),
        }
    }

    /// Sends until the process dies.
    pub async fn work(&mut self, address: SocketAddr) -> anyhow::Result<()> {
        let Ok(mut client) = Client::connect(address).await else { return Ok(()) };
        loop {
            if self.waiting.is_empty() {
                self.begin_task();
            }
            // A small crowd of messages in one publication, as a processor sends them.
            let count = self.rng.random_range(1..=3).min(self.waiting.len());
            let Ok(answer) = self.publish(&mut client, count).await else { return Ok(()) };
            ensure!(answer == 201, "feed.offers refused a message: {answer}");
            self.waiting.drain(..count);
        }
    }

    /// Sends what is left of the load under way.
    pub async fn finish(&mut self, address: SocketAddr) -> anyhow::Result<()> {
        if self.task == 0 {
            self.begin_task();
        }
        let mut client = Client::connect(address).await?;
        let count = self.waiting.len();
        if count > 0 {
            ensure!(self.publish(&mut client, count).await? == 201, "feed.offers refused a message");
        }
        self.waiting.clear();
        Ok(())
    }

    async fn publish(&self, client: &mut Client, count: usize) -> anyhow::Result<u16> {
        let record = |message: &FeedMessage| {
            let payload = BASE64_STANDARD.encode(message.encode_to_vec());
            json!({"key": self.seller, "payload": payload, "encoding": "base64"})
        };
        let records: Vec<_> = self.waiting[..count].iter().map(record).collect();
        let answer = client.post("/v1/topics/feed.offers/records", &json!({ "records": records })).await;
        Ok(answer.context("the process died")?.status)
    }

    /// The next file: most of the ids, some with another price.
    fn begin_task(&mut self) {
        self.task += 1;
        let mut records = Vec::new();
        self.present.clear();
        for number in 0..IDS {
            if self.rng.random_bool(0.15) {
                continue;
            }
            let external_id = format!("x{number}");
            // One in ten has changed since the last load.
            let edition = if self.rng.random_bool(0.1) { self.task as u64 } else { 0 };
            let content = content(&self.category, u64::from(number) + edition * 1_000);
            let fingerprint = blake3::hash(&content.encode_to_vec()).as_bytes()[..16].to_vec();
            self.present.insert(external_id.clone());
            records.push(FeedRecord {
                external_id,
                line: i64::from(number) + 2,
                title: content.title.clone(),
                content: Some(content),
                fingerprint,
                ..FeedRecord::default()
            });
        }
        let message = |kind: Kind| FeedMessage {
            seller_id: self.seller.clone(),
            namespace: NAMESPACE.to_owned(),
            task_id: self.task,
            dry_run: false,
            kind: Some(kind),
            ..FeedMessage::default()
        };
        let batches = records.chunks(BATCH).enumerate().map(|(place, records)| {
            message(Kind::Batch(FeedBatch { number: place as i64 + 1, records: records.to_vec() }))
        });
        self.waiting = batches.collect();
        let count = self.waiting.len() as i64;
        self.waiting.push(message(Kind::Terminal(FeedTerminal {
            batches: count,
            on_missing: OnMissing::Delete.into(),
            guard_percent: 0,
            removal: false,
        })));
        self.batches.push(count);
    }
}
