//! What a transaction costs, and what becomes of it when the line is cut.

use std::sync::atomic::Ordering;

use store::{Kind, Options, Range, Read as _, Schema, Shard, Space, Store, Table};

use super::proxy;
use super::support::{COUNTERS, Database, WORDS, open};

const OFFERS: Table<(String, i64), Vec<u8>> =
    Table::new("offers", "content", &["seller", "offer"], Space::Large);
const KINDS: Table<(String, i64, String), Vec<u8>> =
    Table::new("offers", "kinds", &["seller", "offer", "kind"], Space::Small);
const PRESETS: Table<(String, String, i64), ()> =
    Table::new("offers", "presets", &["seller", "preset", "offer"], Space::Small);
const OUTBOX: Table<(i64,), Vec<u8>> = Table::new("topics", "outbox", &["seq"], Space::Queue);
const TIMERS: Table<(kit::Timestamp, String, i64), ()> =
    Table::new("stages", "timers", &["due", "seller", "offer"], Space::Queue);

async fn hundred_offers(store: &Store, round: i64) {
    let keys: Vec<_> = (0..100).map(|offer| ("seller", offer)).collect();
    let write = async |tx: &mut store::Tx| {
        tx.get_many(&OFFERS, keys.clone()).await?;
        tx.get_many(&KINDS, keys.iter().map(|(seller, offer)| (*seller, *offer, "billing"))).await?;
        for (seller, offer) in &keys {
            tx.put(&OFFERS, (*seller, *offer), &vec![round as u8; 500])?;
            tx.put(&KINDS, (*seller, *offer, "billing"), &vec![1])?;
            tx.put(&KINDS, (*seller, *offer, "moderation"), &vec![2])?;
            tx.put(&PRESETS, (*seller, "new", *offer), &())?;
            tx.delete(&TIMERS, (kit::Timestamp(round - 1), *seller, *offer))?;
            tx.put(&TIMERS, (kit::Timestamp(round), *seller, *offer), &())?;
            tx.put(&OUTBOX, (round * 1000 + offer,), &vec![3; 100])?;
        }
        Ok::<_, store::Error>(())
    };
    store.transact(Shard::of("seller"), write).await.unwrap();
}

/// On one thread, so that what is sent together is seen together.
#[tokio::test]
async fn a_hundred_offers_cost_four_round_trips() {
    let Some(database) = Database::create().await else { return };
    let (line, url) = proxy::start(&database.url).await;
    let schema = Schema::new([OFFERS.spec(), KINDS.spec(), PRESETS.spec(), OUTBOX.spec(), TIMERS.spec()]);
    let store = Store::open(&[url], schema, &Options::default()).await.unwrap();
    // The connection for wake-ups is made meanwhile; when both are there, only the transactions are counted.
    hundred_offers(&store, 0).await;
    let count = async |round| {
        let before = line.trips.load(Ordering::SeqCst);
        hundred_offers(&store, round).await;
        line.trips.load(Ordering::SeqCst) - before
    };
    let mut counts = Vec::new();
    for round in 1..10 {
        counts.push(count(round).await);
    }
    eprintln!("round trips of transactions with 100 offers and 700 rows: {counts:?}");
    assert_eq!(counts.last(), Some(&4));
    let snapshot = store.snapshot(Shard::of("seller")).await.unwrap();
    assert_eq!(snapshot.scan(&TIMERS, Range::all(1000)).await.unwrap().len(), 100);
    assert_eq!(snapshot.scan(&OUTBOX, Range::all(1000)).await.unwrap().len(), 1000);
}

/// A connection is there, but has seen none of the transaction's statements.
#[tokio::test]
async fn statements_that_are_new_to_a_connection_cost_no_round_trips() {
    let Some(database) = Database::create().await else { return };
    let (line, url) = proxy::start(&database.url).await;
    let store = open(&url).await;
    // The one of the opening may still be on its way back to the pool.
    let of_another_table = async |tx: &mut store::Tx| tx.put(&WORDS, ("word", 1_i64), &vec![1]);
    store.transact(Shard::of("counter"), of_another_table).await.unwrap();
    let listens = async || line.listens.load(Ordering::SeqCst);
    super::support::until("the connection for wake-ups is there", listens).await;
    let before = line.trips.load(Ordering::SeqCst);
    increment(&store).await.unwrap();
    let cost = line.trips.load(Ordering::SeqCst) - before;
    assert_eq!(cost, 3, "begin, read, commit");

    let before = line.trips.load(Ordering::SeqCst);
    let names: Vec<_> = (0..100).map(|number| format!("counter {number}")).collect();
    let asked = names.iter().map(String::as_str).chain(["counter"]).map(|name| (Shard::of(name), (name,)));
    let found = store.get_many(&COUNTERS, asked).await.unwrap();
    assert_eq!((found.iter().flatten().count(), found.last().unwrap()), (1, &Some(1)));
    let cost = line.trips.load(Ordering::SeqCst) - before;
    assert_eq!(cost, 1, "rows of many shards");
}

async fn increment(store: &Store) -> Result<u64, store::Error> {
    store
        .transact(Shard::of("counter"), async |tx| {
            let count = tx.get(&COUNTERS, ("counter",)).await?.unwrap_or_default() + 1;
            tx.put(&COUNTERS, ("counter",), &count)?;
            Ok(count)
        })
        .await
}

async fn counted(store: &Store) -> u64 {
    let snapshot = store.snapshot(Shard::of("counter")).await.unwrap();
    snapshot.get(&COUNTERS, ("counter",)).await.unwrap().unwrap_or_default()
}

#[tokio::test]
async fn an_answer_that_is_lost_is_said_to_be_unknown() {
    let Some(database) = Database::create().await else { return };
    let (line, url) = proxy::start(&database.url).await;
    let store = open(&url).await;
    assert_eq!(increment(&store).await.unwrap(), 1);

    line.cut_after_commit.store(true, Ordering::SeqCst);
    let error = increment(&store).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unknown, "{error}");
    assert_eq!(counted(&store).await, 2, "the server had it");

    line.cut_before_commit.store(true, Ordering::SeqCst);
    let error = increment(&store).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unknown, "{error}");
    assert_eq!(counted(&store).await, 2, "the server never had it");
    assert_eq!(increment(&store).await.unwrap(), 3, "and life goes on");
}

/// COMMIT after a failed write is answered with ROLLBACK, which looks like success to the driver.
#[tokio::test]
async fn a_refused_write_undoes_the_whole_transaction_and_says_so() {
    let Some(database) = Database::create().await else { return };
    let store = open(&database.url).await;
    let client = database.client().await;
    client.batch_execute("ALTER TABLE lexicon.words ADD CHECK (octet_length(value) < 100)").await.unwrap();
    let error = store
        .transact(Shard::of("counter"), async |tx| {
            tx.put(&COUNTERS, ("counter",), &7)?;
            tx.put(&WORDS, ("fine", 1_i64), &vec![1])?;
            tx.put(&WORDS, ("too long", 1_i64), &vec![1; 200])?;
            tx.wake("never");
            Ok::<_, store::Error>(())
        })
        .await
        .unwrap_err();
    assert!(!error.may_have_happened() && error.kind() == Kind::Invalid, "{error:?}");
    assert_eq!(counted(&store).await, 0);
    assert_eq!(increment(&store).await.unwrap(), 1);
}
