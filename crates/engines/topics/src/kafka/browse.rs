use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;

use super::client::{CALL_LIMIT, Client, Log, blocking};
use super::error::error;
use super::member::{passing, record};
use super::partition_list;
use crate::{Position, Record, Result};

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
            .set("fetch.message.max.bytes", (1 << 20).to_string());
        let consumer =
            config.create_with_context(Log).map_err(|cause| error("no consumer of Kafka", cause))?;
        Ok(Self(Arc::new(Mutex::new(consumer))))
    }

    pub(super) async fn read(&self, topic: &str, from: &[Position], max: usize) -> Result<Vec<Record>> {
        if from.is_empty() {
            return Ok(Vec::new());
        }
        let (this, list) = (self.clone(), partition_list(topic, from)?);
        let partitions = from.iter().map(|position| (position.partition, 0)).collect();
        blocking(move || {
            // One reader at a time: the assignment is the consumer's.
            let consumer = this.0.lock().unwrap_or_else(PoisonError::into_inner);
            let assigned = consumer.assign(&list).map_err(|cause| error("partitions cannot be read", cause));
            let records = assigned.and_then(|()| collect(&consumer, partitions, max));
            let unassigned = consumer.unassign().map_err(|cause| error("partitions cannot be let go", cause));
            unassigned.and(records)
        })
        .await
    }
}

/// Reads until each partition has given `max` records or has no more; `unread` counts what each has given.
fn collect(
    consumer: &BaseConsumer<Log>,
    mut unread: BTreeMap<u32, usize>,
    max: usize,
) -> Result<Vec<Record>> {
    let (mut records, mut bytes) = (Vec::new(), 0);
    let started = Instant::now();
    while !unread.is_empty() && bytes < READ_BYTES && started.elapsed() < CALL_LIMIT {
        match consumer.poll(POLL) {
            None => {}
            Some(Ok(message)) => {
                let record = record(&message);
                // Others have given enough.
                if let Some(count) = unread.get_mut(&record.partition) {
                    *count += 1;
                    if *count >= max {
                        unread.remove(&record.partition);
                    }
                    bytes += record.size();
                    records.push(record);
                }
            }
            Some(Err(KafkaError::PartitionEOF(partition))) => {
                unread.remove(&(partition as u32));
            }
            Some(Err(cause)) => passing(cause)?,
        }
    }
    records.sort_by_key(|record| (record.partition, record.offset));
    Ok(records)
}
