//! What one poll brings of several partitions.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use kit::Shutdown;
use store::{Range, Shard, Tx};
use topics::consume::{Failure, Handler, Undecodable};
use topics::{Message, Record};

use super::{PARTITIONS, SEEN, TOPIC, memory, open, until};

/// (partition, offset, payload) of each message, by transaction.
type Transactions = Arc<Mutex<Vec<Vec<(u32, i64, String)>>>>;

/// Notes which messages come together. They have their effect in the shard that their payload begins with.
struct Together(Transactions);

#[async_trait]
impl Handler for Together {
    type Message = (u32, i64, String);

    fn decode(&self, record: &Record) -> Result<(Shard, Self::Message), Undecodable> {
        let payload = String::from_utf8_lossy(&record.payload).into_owned();
        let shard = Shard::of(payload.split(' ').next().unwrap_or_default());
        Ok((shard, (record.partition, record.offset, payload)))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<Self::Message>) -> Result<(), Failure> {
        for (partition, offset, payload) in &messages {
            tx.put(&SEEN, (payload.as_str(), i64::from(*partition) << 32 | *offset), payload)?;
        }
        self.0.lock().unwrap().push(messages);
        Ok(())
    }
}

/// A commit costs the same for one record as for many, so those that meet in a shard share it, wherever they come from.
#[tokio::test(start_paused = true)]
async fn records_of_one_shard_share_a_transaction_over_all_partitions() {
    let store = memory();
    let topics = open(&store);
    topics.ensure(TOPIC, PARTITIONS).await.unwrap();
    let message = |number: usize| {
        let shard = if number.is_multiple_of(2) { "one" } else { "other" };
        Message::new(format!("key-{number}"), format!("{shard} {number}"))
    };
    topics.publish(TOPIC, (0..80).map(message).collect()).await.unwrap();

    let (transactions, shutdown) = (Transactions::default(), Shutdown::new());
    let consumer = tokio::spawn({
        let (topics, shutdown, handler) = (topics.clone(), shutdown.clone(), Together(transactions.clone()));
        async move { topics::consume::run(topics, TOPIC, "together", handler, shutdown).await }
    });
    until("all are applied", async || transactions.lock().unwrap().iter().map(Vec::len).sum::<usize>() == 80)
        .await;
    until("all is committed", async || {
        topics.lag(TOPIC, "together").await.unwrap().iter().all(|lag| lag.lag == 0)
    })
    .await;
    shutdown.call();
    consumer.await.unwrap();

    let transactions = transactions.lock().unwrap().clone();
    let sizes: Vec<_> = transactions.iter().map(Vec::len).collect();
    assert_eq!(sizes, [40, 40], "one for each shard");
    for messages in &transactions {
        let partitions: BTreeSet<_> = messages.iter().map(|(partition, ..)| *partition).collect();
        assert_eq!(partitions.len(), PARTITIONS as usize);
        for partition in partitions {
            let offsets: Vec<_> =
                messages.iter().filter(|(of, ..)| *of == partition).map(|(_, offset, _)| *offset).collect();
            assert!(offsets.is_sorted(), "those of a partition come in their order: {offsets:?}");
        }
    }
    let shards: Vec<_> = Shard::all().collect();
    assert_eq!(store.scan_shards(&SEEN, &shards, Range::all(100)).await.unwrap().len(), 80);
}
