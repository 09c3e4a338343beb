//! Outbox, relay and consumer together.

use async_trait::async_trait;
use kit::Shutdown;
use store::{Range, Read as _, Schema, Shard, Space, Store, Table, Tx};
use topics::consume::{Failure, Handler, Undecodable};
use topics::{Message, Options, Record, Tokens, Topics};

/// What a consumer saw, in the order of its effects.
const SEEN: Table<(i64,), Vec<u8>> = Table::new("test", "seen", &["number"], Space::Small);

fn schema() -> Schema {
    Schema::new(topics::tables().into_iter().chain([SEEN.spec()]))
}

/// Notes each payload in the shard of its key.
struct Notes;

#[async_trait]
impl Handler for Notes {
    fn shard_of(&self, record: &Record) -> Result<Shard, Undecodable> {
        match std::str::from_utf8(&record.key) {
            Ok(key) => Ok(Shard::of(key)),
            Err(error) => Err(Undecodable(error.to_string())),
        }
    }

    async fn apply(&self, tx: &mut Tx, records: &[Record]) -> Result<(), Failure> {
        let last = tx.scan(&SEEN, Range::all(1).reversed()).await?;
        let mut number = last.first().map_or(0, |((number,), _)| number + 1);
        for record in records {
            tx.put(&SEEN, (number,), &record.payload.to_vec())?;
            number += 1;
        }
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_transaction_sends_reaches_the_consumer_once_and_in_order() {
    let store = Store::memory(schema());
    let topics = Topics::open("embedded:", store.clone(), Tokens::all(), Options::default()).unwrap();
    topics.ensure("offers.changes", 4).await.unwrap();
    let shutdown = Shutdown::new();
    let relay = tokio::spawn(topics::relay::run(topics.clone(), shutdown.clone()));
    let consumer = tokio::spawn({
        let (topics, shutdown) = (topics.clone(), shutdown.clone());
        async move { topics::consume::run(topics, "offers.changes", "test", Notes, shutdown).await }
    });
    let shard = Shard::of("seller-1");
    for number in 0..20_u8 {
        store
            .transact(shard, async |tx| {
                topics::outbox::send(tx, "offers.changes", vec![Message::new("seller-1", vec![number])]).await
            })
            .await
            .unwrap();
    }
    let seen = loop {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        let seen = store.snapshot(shard).await.unwrap().scan(&SEEN, Range::all(100)).await.unwrap();
        if seen.len() >= 20 {
            break seen;
        }
    };
    let seen: Vec<_> = seen.into_iter().map(|(_, payload)| payload[0]).collect();
    assert_eq!(seen, (0..20).collect::<Vec<_>>());
    shutdown.call();
    relay.await.unwrap();
    consumer.await.unwrap();
    let lag: i64 = topics.lag("offers.changes", "test").await.unwrap().iter().map(|lag| lag.lag).sum();
    assert_eq!(lag, 0, "positions are committed at the end");
}
