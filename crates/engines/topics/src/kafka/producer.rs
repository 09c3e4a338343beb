use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use cluster::Hold;
use futures::future::join_all;
use rdkafka::config::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{DeliveryFuture, FutureProducer, FutureRecord, Producer as _};

use tokio::time::Instant;

use super::TOPIC_MESSAGE_BYTES;
use super::client::Log;
use super::error::error;
use crate::backend::Leave;
use crate::{Error, Kind, Message, Placed, Result};

/// A message is acknowledged in this time, or has failed: the relay counts on it.
pub(super) const MESSAGE_LIMIT: Duration = Duration::from_secs(3);
/// Waits while librdkafka's own queue is full.
const QUEUE_FULL_WAIT: Duration = Duration::from_millis(10);

/// The idempotent producer of the process. One that has failed for good (the broker lost what it acknowledged) is
/// replaced by a new one.
pub(super) struct Producer {
    config: ClientConfig,
    current: RwLock<Arc<FutureProducer<Log>>>,
}

impl Producer {
    pub(super) fn new(base: &ClientConfig) -> Result<Self> {
        let mut config = base.clone();
        config
            .set("enable.idempotence", "true")
            .set("acks", "all")
            .set("partitioner", "murmur2_random")
            .set("message.timeout.ms", MESSAGE_LIMIT.as_millis().to_string())
            .set("request.timeout.ms", MESSAGE_LIMIT.as_millis().to_string())
            .set("message.max.bytes", TOPIC_MESSAGE_BYTES.to_string())
            .set("linger.ms", "2")
            .set("queue.buffering.max.kbytes", (64 << 10).to_string());
        let current = RwLock::new(Arc::new(create(&config)?));
        Ok(Self { config, current })
    }

    /// Sends messages in their order and waits for all. Each may take [`MESSAGE_LIMIT`] from the moment when it is handed
    /// over, so `leave` is asked for again whenever one had to wait for that.
    pub(super) async fn publish(
        &self,
        topic: &str,
        messages: Vec<Message>,
        leave: Leave<'_>,
    ) -> Result<Vec<Placed>> {
        let mut deliveries = Vec::with_capacity(messages.len());
        let mut refused = Ok(());
        let mut hold = leave()?;
        for message in &messages {
            match self.hand_over(topic, message, leave, &mut hold).await {
                Ok(delivery) => deliveries.push(delivery),
                Err(error) => {
                    refused = Err(error);
                    break;
                }
            }
        }
        // Those handed over before a failure are waited for, so that nothing is in flight when this returns.
        let placed = join_all(deliveries.into_iter().map(|delivery| self.delivered(delivery))).await;
        let placed: Result<Vec<_>> = placed.into_iter().collect();
        let placed = placed?;
        // Some are there, so as a whole it may have happened.
        match refused {
            Err(error) if !placed.is_empty() => {
                Err(Error::with_source(Kind::Unknown, "a part of the messages was not sent", error))
            }
            Err(error) => Err(error),
            Ok(()) => Ok(placed),
        }
    }

    async fn hand_over(
        &self,
        topic: &str,
        message: &Message,
        leave: Leave<'_>,
        hold: &mut Option<Hold>,
    ) -> Result<DeliveryFuture> {
        let began = Instant::now();
        let headers = message.headers.iter().fold(OwnedHeaders::new(), |headers, (name, value)| {
            headers.insert(Header { key: name, value: Some(value) })
        });
        let mut record = FutureRecord::to(topic).payload(&message.payload[..]).headers(headers);
        if !message.key.is_empty() {
            record = record.key(&message.key[..]);
        }
        loop {
            let producer = self.current.read().unwrap_or_else(PoisonError::into_inner).clone();
            match producer.send_result(record) {
                Ok(delivery) => return Ok(delivery),
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), again)) => {
                    if began.elapsed() > MESSAGE_LIMIT {
                        let text = format!("Kafka's producer has had no room for {MESSAGE_LIMIT:?}");
                        return Err(Error::new(Kind::Unavailable, text));
                    }
                    record = again;
                    tokio::time::sleep(QUEUE_FULL_WAIT).await;
                    // The new one is there before the old one goes: in between nobody may take over.
                    *hold = leave()?;
                }
                Err((cause, _)) => {
                    self.replace_if_dead(&producer);
                    return Err(error("a message was not sent", cause));
                }
            }
        }
    }

    async fn delivered(&self, delivery: DeliveryFuture) -> Result<Placed> {
        match delivery.await {
            Ok(Ok(delivery)) => Ok(Placed { partition: delivery.partition as u32, offset: delivery.offset }),
            Ok(Err((cause, _))) => {
                let producer = self.current.read().unwrap_or_else(PoisonError::into_inner).clone();
                self.replace_if_dead(&producer);
                Err(error("a message was not acknowledged", cause))
            }
            Err(cause) => Err(Error::with_source(Kind::Unknown, "the producer is gone", cause)),
        }
    }

    fn replace_if_dead(&self, producer: &Arc<FutureProducer<Log>>) {
        let Some((code, reason)) = producer.client().fatal_error() else { return };
        tracing::error!(%code, reason, "the producer failed for good; a new one takes over");
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, producer) {
            match create(&self.config) {
                Ok(new) => *current = Arc::new(new),
                Err(error) => tracing::error!(%error, "no new producer"),
            }
        }
    }
}

fn create(config: &ClientConfig) -> Result<FutureProducer<Log>> {
    config.create_with_context(Log).map_err(|cause| error("no producer of Kafka", cause))
}
