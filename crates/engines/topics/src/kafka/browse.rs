use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::{Offset, TopicPartitionList};

use super::client::{CALL_LIMIT, Client, Log, blocking};
use super::error::error;
use super::member::{passing, record};
use crate::{Record, Result};

/// A read stops after the record that passes this.
const READ_BYTES: usize = 4 << 20;
const POLL: Duration = Duration::from_millis(100);

/// Reads partitions for those who are in no group.
#[derive(Clone)]
pub(super) struct Browser(Arc<Mutex<BaseConsumer<Log>>>);

impl Browser {
    pub(super) fn new(client: &Client) -> Result<Self> {
        let mut config = client.config().clone();
        config
            .set("group.id", "dvor-browser")
            .set("enable.auto.commit", "false")
            .set("enable.partition.eof", "true")
            .set("auto.offset.reset", "earliest")
            .set("fetch.wait.max.ms", "50")
            .set("fetch.message.max.bytes", READ_BYTES.to_string());
        let consumer =
            config.create_with_context(Log).map_err(|cause| error("no consumer of Kafka", cause))?;
        Ok(Self(Arc::new(Mutex::new(consumer))))
    }

    pub(super) async fn read(
        &self,
        topic: &str,
        partition: u32,
        from: i64,
        max: usize,
    ) -> Result<Vec<Record>> {
        let (this, topic) = (self.clone(), topic.to_owned());
        blocking(move || {
            // One reader at a time: the assignment is the consumer's.
            let consumer = this.0.lock().unwrap_or_else(PoisonError::into_inner);
            let mut list = TopicPartitionList::new();
            let records = list
                .add_partition_offset(&topic, partition as i32, Offset::Offset(from.max(0)))
                .and_then(|()| consumer.assign(&list))
                .map_err(|cause| error("a partition cannot be read", cause))
                .and_then(|()| collect(&consumer, partition, max));
            let unassigned =
                consumer.unassign().map_err(|cause| error("a partition cannot be let go", cause));
            unassigned.and(records)
        })
        .await
    }
}

fn collect(consumer: &BaseConsumer<Log>, partition: u32, max: usize) -> Result<Vec<Record>> {
    let (mut records, mut bytes) = (Vec::new(), 0);
    let started = Instant::now();
    while records.len() < max && bytes < READ_BYTES && started.elapsed() < CALL_LIMIT {
        match consumer.poll(POLL) {
            None => {}
            Some(Ok(message)) => {
                let record = record(&message);
                // What an earlier read left in the queue is not ours.
                if record.partition == partition {
                    bytes += record.size();
                    records.push(record);
                }
            }
            Some(Err(KafkaError::PartitionEOF(_))) => break,
            Some(Err(cause)) => passing(cause)?,
        }
    }
    Ok(records)
}
