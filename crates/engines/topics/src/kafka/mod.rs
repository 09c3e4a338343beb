//! Topics in Kafka, through librdkafka. Its blocking calls run where blocking is allowed.

mod browse;
mod client;
mod describe;
mod error;
mod member;
mod prefixed;
mod producer;
mod relay;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rdkafka::admin::{AdminOptions, NewTopic, TopicReplication};
use rdkafka::consumer::{CommitMode, Consumer as _};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};
use store::Shard;

use self::browse::Browser;
use self::client::{CALL_LIMIT, Client, blocking};
use self::error::error;
pub(crate) use self::prefixed::Prefixed;
use self::producer::Producer;
use crate::backend::{Backend, Description, Ends, Leave, Member, OutboxBatch};
use crate::{Error, Kind, Message, Options, Placed, Position, Record, Result};

/// `max.message.bytes` of topics that we make.
pub(crate) const TOPIC_MESSAGE_BYTES: usize = 4 << 20;

pub(crate) struct Kafka {
    client: Client,
    producer: Producer,
    browser: Browser,
    options: Arc<Options>,
    /// Topics that were there once: a producer need not ask again.
    seen: Mutex<HashSet<String>>,
}

impl Kafka {
    /// Connects in the background: a broker that is down is waited for, not a reason to fail.
    pub(crate) fn open(brokers: &str, options: Arc<Options>) -> Result<Self> {
        let client = Client::new(brokers)?;
        let producer = Producer::new(client.config())?;
        let browser = Browser::new(&client)?;
        Ok(Self { client, producer, browser, options, seen: Mutex::default() })
    }

    async fn check_known(&self, topic: &str) -> Result<()> {
        if !self.seen.lock().unwrap_or_else(PoisonError::into_inner).contains(topic) {
            self.describe(topic).await?;
        }
        Ok(())
    }

    async fn wait_until_known(&self, topic: &str) -> Result<Description> {
        let mut backoff = kit::Backoff::new(std::time::Duration::from_millis(20), CALL_LIMIT / 8);
        loop {
            match self.describe(topic).await {
                Err(error) if error.kind() == Kind::UnknownTopic && backoff.failures() < 10 => {
                    tokio::time::sleep(backoff.next_wait()).await;
                }
                answer => return answer,
            }
        }
    }
}

#[async_trait]
impl Backend for Kafka {
    async fn create(&self, topic: &str, partitions: u32) -> Result<Description> {
        match self.describe(topic).await {
            Err(error) if error.kind() == Kind::UnknownTopic => {}
            answer => return answer,
        }
        let replication = match self.options.replication {
            0 => TopicReplication::Fixed(-1),
            copies => TopicReplication::Fixed(copies as i32),
        };
        let bytes = TOPIC_MESSAGE_BYTES.to_string();
        let retention_ms = self.options.retention.as_millis().to_string();
        let retention_bytes = self.options.retention_bytes.to_string();
        let new = NewTopic::new(topic, partitions as i32, replication)
            .set("max.message.bytes", &bytes)
            .set("retention.ms", &retention_ms)
            .set("retention.bytes", &retention_bytes);
        let options =
            AdminOptions::new().request_timeout(Some(CALL_LIMIT)).operation_timeout(Some(CALL_LIMIT));
        let answers = self.client.admin().create_topics([&new], &options).await;
        for answer in answers.map_err(|cause| error("a topic cannot be made", cause))? {
            match answer {
                // Another process was faster.
                Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
                Err((_, code)) => return Err(error::of_code(&format!("topic {topic} cannot be made"), code)),
            }
        }
        self.wait_until_known(topic).await
    }

    async fn describe(&self, topic: &str) -> Result<Description> {
        let (client, name) = (self.client.clone(), topic.to_owned());
        let description = blocking(move || describe::describe(&client, &name)).await?;
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(topic.to_owned());
        Ok(description)
    }

    async fn list(&self) -> Result<Vec<String>> {
        let client = self.client.clone();
        blocking(move || {
            let metadata = client.admin().inner().fetch_metadata(None, CALL_LIMIT);
            let metadata = metadata.map_err(|cause| error("topics cannot be listed", cause))?;
            let names = metadata.topics().iter().map(|topic| topic.name().to_owned());
            let mut names: Vec<_> = names.filter(|name| !name.starts_with("__")).collect();
            names.sort();
            Ok(names)
        })
        .await
    }

    async fn publish(&self, topic: &str, messages: Vec<Message>) -> Result<Vec<Placed>> {
        self.check_known(topic).await?;
        // Whoever calls waits for the answer; nobody else may take over meanwhile.
        self.producer.publish(topic, messages, &|| Ok(None)).await
    }

    async fn relay(&self, _source: Shard, rows: Vec<OutboxBatch>, leave: Leave<'_>) -> Result<()> {
        let topics: HashSet<_> = rows.iter().map(|row| row.topic.as_str()).collect();
        for topic in topics {
            self.check_known(topic).await?;
        }
        relay::relay(&self.producer, rows, leave).await
    }

    async fn ends(&self, topic: &str) -> Result<Vec<Ends>> {
        let partitions = self.describe(topic).await?.partitions;
        let (client, topic) = (self.client.clone(), topic.to_owned());
        blocking(move || {
            let ends = |partition| {
                let marks = client.admin().inner().fetch_watermarks(&topic, partition as i32, CALL_LIMIT);
                let (low, high) =
                    marks.map_err(|cause| error("the ends of a partition are unknown", cause))?;
                Ok(Ends { low, high })
            };
            (0..partitions).map(ends).collect()
        })
        .await
    }

    async fn read(&self, topic: &str, from: &[Position], max: usize) -> Result<Vec<Record>> {
        self.check_known(topic).await?;
        self.browser.read(topic, from, max).await
    }

    async fn positions(&self, topic: &str, group: &str) -> Result<Vec<Option<i64>>> {
        let partitions = self.describe(topic).await?.partitions;
        let (client, topic, group) = (self.client.clone(), topic.to_owned(), group.to_owned());
        blocking(move || {
            let mut list = TopicPartitionList::new();
            list.add_partition_range(&topic, 0, partitions as i32 - 1);
            let found = client.idle_consumer(&group)?.committed_offsets(list, CALL_LIMIT);
            let found = found.map_err(|cause| error("the positions of a group are unknown", cause))?;
            let mut positions = vec![None; partitions as usize];
            for element in found.elements() {
                if let (Offset::Offset(next), Ok(partition)) =
                    (element.offset(), usize::try_from(element.partition()))
                {
                    positions[partition] = Some(next);
                }
            }
            Ok(positions)
        })
        .await
    }

    async fn reposition(&self, topic: &str, group: &str, positions: &[Position]) -> Result<()> {
        self.check_known(topic).await?;
        let (client, group) = (self.client.clone(), group.to_owned());
        let list = partition_list(topic, positions)?;
        blocking(move || {
            let consumer = client.idle_consumer(&group)?;
            consumer.commit(&list, CommitMode::Sync).map_err(|cause| match cause.rdkafka_error_code() {
                Some(RDKafkaErrorCode::UnknownMemberId | RDKafkaErrorCode::IllegalGeneration) => {
                    Error::invalid(format!(
                        "group {group} is being read, and Kafka moves only groups that are not: stop it first"
                    ))
                }
                _ => error("a group cannot be moved", cause),
            })
        })
        .await
    }

    async fn trim(&self, topic: &str, positions: &[Position]) -> Result<()> {
        let options =
            AdminOptions::new().request_timeout(Some(CALL_LIMIT)).operation_timeout(Some(CALL_LIMIT));
        let answers = self.client.admin().delete_records(&partition_list(topic, positions)?, &options).await;
        let answers = answers.map_err(|cause| error("records cannot be removed", cause))?;
        for element in answers.elements() {
            element.error().map_err(|cause| error("records cannot be removed", cause))?;
        }
        Ok(())
    }

    async fn subscribe(&self, topic: &str, group: &str) -> Result<Box<dyn Member>> {
        Ok(Box::new(member::KafkaMember::join(&self.client, topic, group)?))
    }
}

fn partition_list(topic: &str, positions: &[Position]) -> Result<TopicPartitionList> {
    let mut list = TopicPartitionList::new();
    for Position { partition, next } in positions {
        list.add_partition_offset(topic, *partition as i32, Offset::Offset(*next))
            .map_err(|cause| error("not a position", cause))?;
    }
    Ok(list)
}
