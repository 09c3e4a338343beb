//! Transactions of one shard exclude each other, whichever process they run in.

use std::time::Duration;

use bytes::Bytes;
use store::{Encode as _, Error, Read as _, Shard, Store};

use super::support::{COUNTERS, Database, WORDS, open};

async fn increment(store: &Store, shard: Shard) -> Result<u64, Error> {
    store
        .transact(shard, async |tx| {
            let count = tx.get(&COUNTERS, ("counter",)).await?.unwrap_or_default() + 1;
            tx.put(&COUNTERS, ("counter",), &count)?;
            Ok(count)
        })
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_count_exactly() {
    let Some(database) = Database::create().await else { return };
    let shard = Shard::of("counter");
    let stores = [open(&database.url).await, open(&database.url).await];
    let tasks: Vec<_> = (0..100)
        .map(|number| {
            let store = stores[number % 2].clone();
            tokio::spawn(async move { increment(&store, shard).await })
        })
        .collect();
    let mut seen = Vec::new();
    for task in tasks {
        seen.push(task.await.unwrap().unwrap());
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=100).collect::<Vec<u64>>());
}

#[tokio::test]
async fn a_heartbeat_waits_for_no_turn_and_survives_a_lost_connection() {
    let Some(database) = Database::create().await else { return };
    let store = open(&database.url).await;
    let shard = Shard::of("heart");
    let id = store.schema().id("lexicon", "words").unwrap();
    let beat = async |number: u8| {
        // A protobuf message of one byte string, as WORDS declares it.
        let value = Bytes::from(vec![10, 1, number]);
        store.engine().put_alone(shard, id, ("me", 1_i64).encode().unwrap(), value).await
    };
    let session = store.engine().begin(shard).await.unwrap();
    tokio::time::timeout(Duration::from_secs(5), beat(1)).await.unwrap().unwrap();
    end_connections(&database).await;
    beat(2).await.unwrap();
    drop(session);
    let read = async || {
        let snapshot = store.snapshot(shard).await.unwrap();
        snapshot.get(&WORDS, ("me", 1_i64)).await.unwrap()
    };
    assert_eq!(read().await, Some(vec![2]));
}

#[tokio::test]
async fn connections_that_died_idle_are_not_noticed() {
    let Some(database) = Database::create().await else { return };
    let store = open(&database.url).await;
    let shard = Shard::of("counter");
    for count in 1..=5 {
        assert_eq!(increment(&store, shard).await.unwrap(), count);
        end_connections(&database).await;
        assert!(store.snapshot(shard).await.unwrap().get(&COUNTERS, ("counter",)).await.unwrap().is_some());
        end_connections(&database).await;
        store.scan_shards(&COUNTERS, &[shard], store::Range::all(1)).await.unwrap();
        store.engine().health().await.unwrap();
        end_connections(&database).await;
    }
}

async fn end_connections(database: &Database) {
    let text = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    database.client().await.query_one(text, &[]).await.unwrap();
}

#[tokio::test]
async fn a_closed_store_refuses_and_has_lost_nothing() {
    let Some(database) = Database::create().await else { return };
    let store = open(&database.url).await;
    let shard = Shard::of("counter");
    let counting = {
        let store = store.clone();
        tokio::spawn(async move { increment(&store, shard).await })
    };
    assert_eq!(counting.await.unwrap().unwrap(), 1);
    store.engine().close().await.unwrap();
    let error = increment(&store, shard).await.unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
    let again = open(&database.url).await;
    assert_eq!(increment(&again, shard).await.unwrap(), 2);
}
