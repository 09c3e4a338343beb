//! Copies and backups of a store that is in use: of one moment, on one server and on several, however long they take.

use std::time::Duration;

use store::{Options, Range, Read as _, Schema, Shard, Space, Store, Table, Tx};

use super::support::{COUNTERS, Database, open};

const PLACES: Table<(String,), i64> = Table::new("test", "places", &["name"], Space::Small);

async fn count(store: &Store) -> usize {
    let shards: Vec<_> = Shard::all().collect();
    store.scan_shards(&PLACES, &shards, Range::all(10)).await.unwrap().len()
}

/// A token moves from shard to shard: at every moment there is one, or two while it moves. Shards are copied in the order
/// of their numbers, so a token that wanders downwards meets no copy that takes a moment for each shard.
async fn wander(store: Store) {
    for step in 0.. {
        let place = |step: u64| Shard::wrapping((1_023 - (step * 7) % 1_024) % 1_024);
        let (here, there) = (place(step), place(step + 1));
        store.transact(there, async |tx: &mut Tx| tx.put(&PLACES, ("token",), &1)).await.unwrap();
        store.transact(here, async |tx: &mut Tx| tx.delete(&PLACES, ("token",))).await.unwrap();
    }
}

async fn check_moment(urls: Vec<String>) {
    let schema = || Schema::new([PLACES.spec()]);
    let store = Store::open(&urls, schema(), &Options::default()).await.unwrap();
    let first = Shard::wrapping(1_023);
    store.transact(first, async |tx: &mut Tx| tx.put(&PLACES, ("token",), &1)).await.unwrap();
    let writer = tokio::spawn(wander(store.clone()));
    let folder = tempfile::tempdir().unwrap();
    for round in 0..4 {
        let copied = Store::memory(schema());
        store::copy(&store, &copied, |_| {}).await.unwrap();
        let tokens = count(&copied).await;
        assert!((1..=2).contains(&tokens), "a copy has {tokens} tokens");
        let file = folder.path().join(format!("{round}.dvb"));
        store::backup(&store, &file, |_| {}).await.unwrap();
        let restored = Store::memory(schema());
        store::restore(&file, &restored, |_| {}).await.unwrap();
        let tokens = count(&restored).await;
        assert!((1..=2).contains(&tokens), "a backup has {tokens} tokens");
    }
    assert!(!writer.is_finished(), "it never stopped writing");
    writer.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_of_a_server_in_use_is_of_one_moment() {
    let Some(database) = Database::create().await else { return };
    check_moment(vec![database.url.clone()]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_of_several_servers_in_use_is_of_one_moment() {
    let (Some(one), Some(two)) = (Database::create().await, Database::create().await) else { return };
    check_moment(vec![one.url.clone(), two.url.clone()]).await;
}

/// A token hops from server to server and back: whoever looks at one of them later than at the other misses it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_moment_of_several_servers_is_one_moment() {
    let (Some(one), Some(two)) = (Database::create().await, Database::create().await) else { return };
    let urls = [one.url.clone(), two.url.clone()];
    let store = Store::open(&urls, Schema::new([PLACES.spec()]), &Options::default()).await.unwrap();
    let ends = [Shard::wrapping(0), Shard::wrapping(1_023)];
    store.transact(ends[0], async |tx: &mut Tx| tx.put(&PLACES, ("token",), &1)).await.unwrap();
    let writer = tokio::spawn({
        let store = store.clone();
        async move {
            for [here, there] in [ends, [ends[1], ends[0]]].into_iter().cycle() {
                store.transact(there, async |tx: &mut Tx| tx.put(&PLACES, ("token",), &1)).await.unwrap();
                store.transact(here, async |tx: &mut Tx| tx.delete(&PLACES, ("token",))).await.unwrap();
            }
        }
    });
    let table = store.schema().id("test", "places").unwrap();
    for round in 0..40 {
        let moment = store.engine().moment().await.unwrap().expect("PostgreSQL has moments");
        let mut tokens = 0;
        for shard in ends {
            tokens += moment.reader(shard).scan(table, &Range::all(9)).await.unwrap().len();
        }
        assert!((1..=2).contains(&tokens), "moment {round} has {tokens} tokens");
    }
    assert!(!writer.is_finished(), "it never stopped hopping");
    writer.abort();
}

/// A snapshot that serves a page is bounded; one that a copy reads from is not.
#[tokio::test]
async fn a_long_copy_is_not_ended_by_the_limit_of_snapshots() {
    let Some(database) = Database::create().await else { return };
    let store = open(&database.url).await;
    let shard = Shard::of("x");
    store.transact(shard, async |tx: &mut Tx| tx.put(&COUNTERS, ("n",), &1)).await.unwrap();
    let moment = store.engine().moment().await.unwrap().expect("PostgreSQL has moments");
    let table = store.schema().id("lexicon", "counters").unwrap();
    let snapshot = store.snapshot(shard).await.unwrap();
    assert_eq!(snapshot.get(&COUNTERS, ("n",)).await.unwrap(), Some(1));
    store.transact(shard, async |tx: &mut Tx| tx.put(&COUNTERS, ("n",), &2)).await.unwrap();
    tokio::time::pause();
    tokio::time::advance(Duration::from_mins(6)).await;
    tokio::time::resume();
    assert!(snapshot.get(&COUNTERS, ("n",)).await.is_err(), "too old for a page");
    let rows = moment.reader(shard).scan(table, &Range::all(9)).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_ne!(
        rows[0].1,
        store
            .engine()
            .moment()
            .await
            .unwrap()
            .unwrap()
            .reader(shard)
            .scan(table, &Range::all(9))
            .await
            .unwrap()[0]
            .1
    );
}
