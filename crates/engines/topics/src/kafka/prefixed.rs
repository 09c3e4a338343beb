//! A broker that several installations share: each names its topics and groups under a prefix of its own.

use async_trait::async_trait;
use store::Shard;

use super::Kafka;
use crate::backend::{Backend, Description, Ends, Leave, Member, OutboxBatch};
use crate::{Message, Placed, Position, Record, Result};

/// Topics and groups as this installation knows them; on the broker they begin with the prefix.
pub(crate) struct Prefixed {
    broker: Kafka,
    prefix: String,
}

impl Prefixed {
    pub(crate) fn new(broker: Kafka, prefix: &str) -> Self {
        Self { broker, prefix: prefix.to_owned() }
    }

    fn name(&self, own: &str) -> String {
        format!("{}{own}", self.prefix)
    }

    fn own(&self, described: Description) -> Description {
        let topic = described.topic.strip_prefix(&self.prefix).unwrap_or(&described.topic).to_owned();
        Description { topic, ..described }
    }
}

#[async_trait]
impl Backend for Prefixed {
    async fn create(&self, topic: &str, partitions: u32) -> Result<Description> {
        Ok(self.own(self.broker.create(&self.name(topic), partitions).await?))
    }

    async fn describe(&self, topic: &str) -> Result<Description> {
        Ok(self.own(self.broker.describe(&self.name(topic)).await?))
    }

    async fn list(&self) -> Result<Vec<String>> {
        let all = self.broker.list().await?;
        Ok(all.iter().filter_map(|topic| topic.strip_prefix(&self.prefix)).map(str::to_owned).collect())
    }

    async fn publish(&self, topic: &str, messages: Vec<Message>) -> Result<Vec<Placed>> {
        self.broker.publish(&self.name(topic), messages).await
    }

    async fn relay(&self, source: Shard, rows: Vec<OutboxBatch>, leave: Leave<'_>) -> Result<()> {
        let named = |row: OutboxBatch| OutboxBatch { topic: self.name(&row.topic), ..row };
        self.broker.relay(source, rows.into_iter().map(named).collect(), leave).await
    }

    async fn ends(&self, topic: &str) -> Result<Vec<Ends>> {
        self.broker.ends(&self.name(topic)).await
    }

    async fn read(&self, topic: &str, from: &[Position], max: usize) -> Result<Vec<Record>> {
        self.broker.read(&self.name(topic), from, max).await
    }

    async fn positions(&self, topic: &str, group: &str) -> Result<Vec<Option<i64>>> {
        self.broker.positions(&self.name(topic), &self.name(group)).await
    }

    async fn reposition(&self, topic: &str, group: &str, positions: &[Position]) -> Result<()> {
        self.broker.reposition(&self.name(topic), &self.name(group), positions).await
    }

    async fn trim(&self, topic: &str, positions: &[Position]) -> Result<()> {
        self.broker.trim(&self.name(topic), positions).await
    }

    async fn subscribe(&self, topic: &str, group: &str) -> Result<Box<dyn Member>> {
        self.broker.subscribe(&self.name(topic), &self.name(group)).await
    }
}
