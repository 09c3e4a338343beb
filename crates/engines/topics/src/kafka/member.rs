use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures::FutureExt as _;
use kit::Timestamp;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{
    BaseConsumer, CommitMode, Consumer as _, ConsumerContext, Rebalance, StreamConsumer,
};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Headers as _, Message as _};
use rdkafka::{Offset, TopicPartitionList};

use super::client::{CALL_LIMIT, Client, blocking, log};
use super::error::error;
use super::{TOPIC_MESSAGE_BYTES, partition_list};
use crate::backend::Member;
use crate::{Kind, Position, Record, Result};

/// A poll stops after the record that passes this.
const POLL_BYTES: usize = 8 << 20;

/// A member of a Kafka consumer group.
pub(super) struct KafkaMember {
    topic: String,
    /// Taken only when dropped.
    consumer: Option<Arc<StreamConsumer<Assignment>>>,
}

/// Notes which partitions the group gives to this member.
#[derive(Default)]
struct Assignment(Mutex<BTreeSet<u32>>);

impl Assignment {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientContext for Assignment {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::warn!(%error, reason, "Kafka");
    }
}

impl ConsumerContext for Assignment {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        // Cooperative groups name only what comes and what goes.
        let partitions = |list: &TopicPartitionList| -> Vec<u32> {
            list.elements().iter().map(|element| element.partition() as u32).collect()
        };
        match rebalance {
            Rebalance::Assign(list) => self.lock().extend(partitions(list)),
            Rebalance::Revoke(list) => {
                let gone = partitions(list);
                self.lock().retain(|partition| !gone.contains(partition));
            }
            Rebalance::Error(error) => tracing::warn!(%error, "a group could not share its partitions"),
        }
    }
}

impl KafkaMember {
    pub(super) fn join(client: &Client, topic: &str, group: &str) -> Result<Self> {
        let mut config = client.config().clone();
        config
            .set("group.id", group)
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("auto.offset.reset", "earliest")
            .set("partition.assignment.strategy", "cooperative-sticky")
            .set("session.timeout.ms", "10000")
            .set("heartbeat.interval.ms", "2000")
            .set("fetch.wait.max.ms", "100")
            .set("fetch.message.max.bytes", TOPIC_MESSAGE_BYTES.to_string())
            .set("queued.max.messages.kbytes", (32 << 10).to_string());
        let consumer: StreamConsumer<_> = config
            .create_with_context(Assignment::default())
            .map_err(|cause| error("no consumer of Kafka", cause))?;
        consumer.subscribe(&[topic]).map_err(|cause| error("a group cannot be joined", cause))?;
        Ok(Self { topic: topic.to_owned(), consumer: Some(Arc::new(consumer)) })
    }

    fn consumer(&self) -> &Arc<StreamConsumer<Assignment>> {
        self.consumer.as_ref().expect("the consumer is taken only when the member is dropped")
    }

    fn one(&self, partition: u32) -> TopicPartitionList {
        let mut list = TopicPartitionList::new();
        list.add_partition(&self.topic, partition as i32);
        list
    }
}

#[async_trait]
impl Member for KafkaMember {
    async fn poll(&mut self, max: usize) -> Result<Vec<Record>> {
        let consumer = self.consumer();
        let first = match consumer.recv().await {
            Ok(message) => record(&message),
            Err(cause) => return passing(cause).map(|()| Vec::new()),
        };
        // No waiting from here on: what was taken from the queue is given to the caller.
        let mut bytes = first.size();
        let mut records = vec![first];
        while records.len() < max && bytes < POLL_BYTES {
            match consumer.recv().now_or_never() {
                Some(Ok(message)) => {
                    let record = record(&message);
                    bytes += record.size();
                    records.push(record);
                }
                Some(Err(cause)) => tracing::warn!(%cause, topic = self.topic, "while reading from Kafka"),
                None => break,
            }
        }
        // A partition may have gone to another member since.
        let assigned = consumer.context().lock().clone();
        records.retain(|record| assigned.contains(&record.partition));
        // Partitions come mixed; each in order.
        records.sort_by_key(|record| record.partition);
        Ok(records)
    }

    fn assigned(&self) -> Vec<u32> {
        self.consumer().context().lock().iter().copied().collect()
    }

    async fn commit(&mut self, positions: &[Position]) -> Result<Vec<Position>> {
        let assigned = self.consumer().context().lock().clone();
        let mine: Vec<_> = positions.iter().filter(|p| assigned.contains(&p.partition)).copied().collect();
        if mine.is_empty() {
            return Ok(mine);
        }
        let (consumer, list) = (self.consumer().clone(), partition_list(&self.topic, &mine)?);
        let committed = blocking(move || {
            consumer
                .commit(&list, CommitMode::Sync)
                .map_err(|cause| error("positions were not committed", cause))
        });
        match committed.await {
            Ok(()) => Ok(mine),
            Err(error) if error.kind() == Kind::NotAssigned => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    async fn seek(&mut self, position: Position) -> Result<()> {
        if !self.consumer().context().lock().contains(&position.partition) {
            return Ok(());
        }
        let (consumer, topic) = (self.consumer().clone(), self.topic.clone());
        blocking(move || {
            let offset = Offset::Offset(position.next);
            consumer
                .seek(&topic, position.partition as i32, offset, CALL_LIMIT)
                .map_err(|cause| error("a partition cannot be read from an offset", cause))
        })
        .await
    }

    async fn pause(&mut self, partition: u32) -> Result<()> {
        let paused = self.consumer().pause(&self.one(partition));
        paused.map_err(|cause| error("a partition cannot be paused", cause))
    }

    async fn resume(&mut self, partition: u32) -> Result<()> {
        let resumed = self.consumer().resume(&self.one(partition));
        resumed.map_err(|cause| error("a partition cannot be resumed", cause))
    }
}

impl Drop for KafkaMember {
    fn drop(&mut self) {
        // Leaving the group waits for the broker.
        if let (Some(consumer), Ok(runtime)) = (self.consumer.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn_blocking(move || drop(consumer));
        }
    }
}

/// Errors that pass by themselves are said and waited out.
pub(super) fn passing(cause: KafkaError) -> Result<()> {
    use RDKafkaErrorCode as Code;
    let lasting = matches!(
        cause.rdkafka_error_code(),
        Some(
            Code::UnknownTopicOrPartition
                | Code::UnknownTopic
                | Code::TopicAuthorizationFailed
                | Code::GroupAuthorizationFailed
                | Code::PollExceeded
                | Code::Fatal
        )
    );
    if lasting || matches!(cause, KafkaError::MessageConsumptionFatal(_)) {
        return Err(error("a topic cannot be read", cause));
    }
    tracing::warn!(%cause, "while reading from Kafka");
    Ok(())
}

pub(super) fn record(message: &BorrowedMessage<'_>) -> Record {
    let headers = message.headers().map_or_else(Vec::new, |headers| {
        let header = |header: rdkafka::message::Header<'_, &[u8]>| {
            (header.key.to_owned(), header.value.unwrap_or_default().to_vec())
        };
        headers.iter().map(header).collect()
    });
    Record {
        partition: message.partition() as u32,
        offset: message.offset(),
        key: message.key().unwrap_or_default().to_vec(),
        payload: Bytes::copy_from_slice(message.payload().unwrap_or_default()),
        headers,
        timestamp: Timestamp(message.timestamp().to_millis().unwrap_or(0) * 1_000),
    }
}
