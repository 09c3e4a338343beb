//! Outbox, relay and consumer together, on virtual time.

mod crashes;
mod letters;
mod polls;
mod processes;
mod retention;

use std::time::Duration;

use async_trait::async_trait;
use kit::Shutdown;
use store::{Range, Read as _, Schema, Shard, Space, Store, Table, Tx};
use tokio::task::JoinHandle;
use topics::consume::{Failure, Handler, Undecodable};
use topics::{Message, Options, Record, Topics};

/// What a consumer saw of each key, in the order of its effects.
const SEEN: Table<(String, i64), String> = Table::new("test", "seen", &["key", "number"], Space::Small);
pub(crate) const TOPIC: &str = "offers.changes";
pub(crate) const GROUP: &str = "test";
const PARTITIONS: u32 = 4;
pub(crate) const KEYS: [&str; 5] = ["seller-1", "seller-2", "seller-3", "seller-4", "seller-5"];

fn schema() -> Schema {
    Schema::new(topics::tables().into_iter().chain(cluster::tables()).chain([SEEN.spec()]))
}

pub(crate) fn memory() -> Store {
    Store::memory(schema())
}

fn open(store: &Store) -> Topics {
    Topics::alone(store.clone(), Options::default())
}

/// Notes each payload in the shard of its key; `bad` payloads fail, `!` ones cannot be decoded, `panic` and `?` ones make it
/// panic.
pub(crate) struct Notes;

#[async_trait]
impl Handler for Notes {
    type Message = (String, String);

    fn decode(&self, record: &Record) -> Result<(Shard, Self::Message), Undecodable> {
        if record.payload.starts_with(b"!") {
            return Err(Undecodable("it says nothing".to_owned()));
        }
        assert!(!record.payload.starts_with(b"?"), "on purpose");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((Shard::of_bytes(&record.key), (text(&record.key), text(&record.payload))))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<Self::Message>) -> Result<(), Failure> {
        for (key, payload) in messages {
            assert!(payload != "panic", "on purpose");
            if payload == "bad" && tx.get(&SEEN, ("mended", 0_i64)).await?.is_none_or(|word| word != "yes") {
                return Err(Failure::determinate("bad is bad"));
            }
            let last = tx.scan(&SEEN, Range::prefix((&key,), 1)?.reversed()).await?;
            let number = last.first().map_or(0, |((_, number), _)| number + 1);
            tx.put(&SEEN, (key, number), &payload)?;
        }
        Ok(())
    }
}

/// What was seen of a key.
pub(crate) async fn seen(store: &Store, key: &str) -> Vec<String> {
    let snapshot = store.snapshot(Shard::of(key)).await.unwrap();
    let rows = snapshot.scan(&SEEN, Range::prefix((key,), 1_000_000).unwrap()).await.unwrap();
    rows.into_iter().map(|(_, payload)| payload).collect()
}

pub(crate) async fn send(store: &Store, key: &str, payloads: &[String]) {
    let messages = payloads.iter().map(|payload| Message::new(key, payload.clone())).collect();
    store.transact(Shard::of(key), async |tx| topics::outbox::send(tx, TOPIC, messages).await).await.unwrap();
}

pub(crate) fn spawn_relay(topics: &Topics, shutdown: &Shutdown) -> JoinHandle<()> {
    tokio::spawn(topics::relay::run(topics.clone(), shutdown.clone()))
}

pub(crate) fn spawn_consumer(topics: &Topics, shutdown: &Shutdown) -> JoinHandle<()> {
    let (topics, shutdown) = (topics.clone(), shutdown.clone());
    tokio::spawn(async move { topics::consume::run(topics, TOPIC, GROUP, Notes, shutdown).await })
}

/// Waits until it holds, in virtual time.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    for _ in 0..20_000 {
        if condition().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it never came true: {what}");
}

pub(crate) async fn lag(topics: &Topics) -> i64 {
    lag_of(topics, TOPIC).await
}

pub(crate) async fn lag_of(topics: &Topics, topic: &str) -> i64 {
    topics.lag(topic, GROUP).await.unwrap().iter().map(|lag| lag.lag).sum()
}

pub(crate) fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|number| number.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_transaction_sends_reaches_the_consumer_once_and_in_order() {
    check_whole_way(&memory()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_transaction_sends_reaches_the_consumer_on_an_embedded_store() {
    let folder = tempfile::tempdir().unwrap();
    check_whole_way(&open_store(format!("embedded:{}", folder.path().display())).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_transaction_sends_reaches_the_consumer_on_postgres() {
    let test = "what_a_transaction_sends_reaches_the_consumer_on_postgres";
    let Some(database) = servers::Database::create(test).await else { return };
    check_whole_way(&open_store(database.url.clone()).await).await;
}

async fn open_store(url: String) -> Store {
    Store::open(&[url], schema(), &store::Options::default()).await.unwrap()
}

async fn check_whole_way(store: &Store) {
    let topics = open(store);
    topics.ensure(TOPIC, PARTITIONS).await.unwrap();
    let shutdown = Shutdown::new();
    let (relay, consumer) = (spawn_relay(&topics, &shutdown), spawn_consumer(&topics, &shutdown));
    for number in numbers(20) {
        send(store, "seller-1", &[number]).await;
    }
    until("all is seen", async || seen(store, "seller-1").await.len() >= 20).await;
    assert_eq!(seen(store, "seller-1").await, numbers(20));
    shutdown.call();
    relay.await.unwrap();
    consumer.await.unwrap();
    assert_eq!(lag(&topics).await, 0, "positions are committed at the end");
}

#[tokio::test(start_paused = true)]
async fn a_transaction_that_fails_sends_nothing() {
    let store = memory();
    let topics = open(&store);
    topics.ensure(TOPIC, PARTITIONS).await.unwrap();
    let failed: Result<(), topics::Error> = store
        .transact(Shard::of("a"), async |tx| {
            topics::outbox::send(tx, TOPIC, vec![Message::new("a", "lost")]).await?;
            Err(topics::Error::invalid("changed my mind"))
        })
        .await;
    failed.unwrap_err();
    send(&store, "a", &numbers(1)).await;
    let shutdown = Shutdown::new();
    let relay = spawn_relay(&topics, &shutdown);
    until("it is sent", async || !topics.tail(TOPIC, 9).await.unwrap().is_empty()).await;
    shutdown.call();
    relay.await.unwrap();
    assert_eq!(topics.tail(TOPIC, 9).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_message_over_the_limit_of_the_outbox_is_refused_and_many_small_ones_become_rows() {
    let store = memory();
    let topics = open(&store);
    topics.ensure(TOPIC, 1).await.unwrap();
    let large = vec![Message::new("a", vec![0; topics::outbox::MAX_ROW_BYTES])];
    let refused =
        store.transact(Shard::of("a"), async |tx| topics::outbox::send(tx, TOPIC, large).await).await;
    assert_eq!(refused.unwrap_err().kind(), topics::Kind::Invalid);
    let many: Vec<_> = (0..30_u8).map(|number| Message::new("a", vec![number; 100_000])).collect();
    store.transact(Shard::of("a"), async |tx| topics::outbox::send(tx, TOPIC, many).await).await.unwrap();
    let shutdown = Shutdown::new();
    let relay = spawn_relay(&topics, &shutdown);
    until("all is sent", async || topics.info(TOPIC).await.unwrap().ends[0].high == 30).await;
    shutdown.call();
    relay.await.unwrap();
    let first: Vec<_> = topics.read(TOPIC, 0, 0, 99).await.unwrap().iter().map(|r| r.payload[0]).collect();
    assert_eq!(first, (0..30).collect::<Vec<_>>());
}
