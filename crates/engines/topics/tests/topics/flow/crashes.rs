//! Whatever breaks, nothing is lost, nothing is done twice, and the order of a key is kept.

use std::collections::BTreeMap;
use std::time::Duration;

use kit::Shutdown;
use store::{FaultPlan, Faults, Store};

use super::{
    KEYS, PARTITIONS, TOPIC, lag, memory, numbers, open, seen, send, spawn_consumer, spawn_relay, until,
};
use crate::seeds;

const MESSAGES: usize = 30;

/// A store that fails now and then, and dies for good after some commits.
fn breaking(store: &Store, seed: u64, commits: u64) -> Store {
    let plan = FaultPlan {
        delay: Duration::from_millis(30),
        delay_share: 0.2,
        error_before: 0.03,
        error_after: 0.05,
        crash_at_commit: Some(commits),
        ..FaultPlan::none(seed)
    };
    store.wrapped(|engine| Faults::new(engine, plan))
}

/// A process that runs the relay or a consumer (or both) on a breaking store until it is killed.
async fn process(store: &Store, seed: u64, relays: bool, consumes: bool) {
    let topics = open(&breaking(store, seed, seed * 7 % 23));
    let shutdown = Shutdown::new();
    let relay = relays.then(|| spawn_relay(&topics, &shutdown));
    let consumer = consumes.then(|| spawn_consumer(&topics, &shutdown));
    tokio::time::sleep(Duration::from_millis(20 + seed * 37 % 900)).await;
    // Killed, not ended: what was begun is left where it is.
    for task in [relay, consumer].into_iter().flatten() {
        task.abort();
        let _ = task.await;
    }
}

async fn payloads_by_key(store: &Store) -> BTreeMap<String, Vec<String>> {
    let topics = open(store);
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for partition in 0..PARTITIONS {
        for record in topics.read(TOPIC, partition, 0, 10_000).await.unwrap() {
            let key = String::from_utf8_lossy(&record.key).into_owned();
            found.entry(key).or_default().push(String::from_utf8_lossy(&record.payload).into_owned());
        }
    }
    found
}

#[test]
fn a_relay_that_dies_appends_nothing_twice() {
    seeds(200, async |seed| {
        let store = memory();
        open(&store).ensure(TOPIC, PARTITIONS).await.unwrap();
        let (early, late) = (numbers(MESSAGES / 2), numbers(MESSAGES)[MESSAGES / 2..].to_vec());
        for key in KEYS {
            for chunk in early.chunks(4) {
                send(&store, key, chunk).await;
            }
        }
        process(&store, seed, true, false).await;
        for key in KEYS {
            for number in &late {
                send(&store, key, std::slice::from_ref(number)).await;
            }
        }
        // Two at once: one that lost its token without knowing, and its heir.
        tokio::join!(process(&store, seed + 1_000, true, false), process(&store, seed + 2_000, true, false));

        let (topics, shutdown) = (open(&store), Shutdown::new());
        let relay = spawn_relay(&topics, &shutdown);
        let total = async || payloads_by_key(&store).await.values().map(Vec::len).sum::<usize>();
        until("all is sent", async || total().await >= MESSAGES * KEYS.len()).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        shutdown.call();
        relay.await.unwrap();
        for (key, payloads) in payloads_by_key(&store).await {
            assert_eq!(payloads, numbers(MESSAGES), "of {key}");
        }
    });
}

#[test]
fn a_consumer_that_dies_applies_nothing_twice() {
    seeds(200, async |seed| {
        let store = memory();
        let topics = open(&store);
        topics.ensure(TOPIC, PARTITIONS).await.unwrap();
        for key in KEYS {
            let message = |number: &String| topics::Message::new(key, number.clone());
            topics.publish(TOPIC, numbers(MESSAGES).iter().map(message).collect()).await.unwrap();
        }
        process(&store, seed, false, true).await;
        // Two at once that do not know of each other.
        tokio::join!(process(&store, seed + 1_000, false, true), process(&store, seed + 2_000, false, true));

        finish(&store, false).await;
    });
}

#[test]
fn whatever_dies_every_change_has_its_effect_once() {
    seeds(200, async |seed| {
        let store = memory();
        open(&store).ensure(TOPIC, PARTITIONS).await.unwrap();
        for key in KEYS {
            send(&store, key, &numbers(MESSAGES)[..10]).await;
        }
        process(&store, seed, true, true).await;
        for key in KEYS {
            send(&store, key, &numbers(MESSAGES)[10..]).await;
        }
        tokio::join!(process(&store, seed + 1_000, true, true), process(&store, seed + 2_000, true, true));

        finish(&store, true).await;
    });
}

/// A healthy process does the rest; then every key has seen everything once, in order.
async fn finish(store: &Store, relays: bool) {
    let (topics, shutdown) = (open(store), Shutdown::new());
    let relay = relays.then(|| spawn_relay(&topics, &shutdown));
    let consumer = spawn_consumer(&topics, &shutdown);
    for key in KEYS {
        until("all is seen", async || seen(store, key).await.len() >= MESSAGES).await;
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    shutdown.call();
    consumer.await.unwrap();
    if let Some(relay) = relay {
        relay.await.unwrap();
    }
    for key in KEYS {
        assert_eq!(seen(store, key).await, numbers(MESSAGES), "of {key}");
    }
    assert_eq!(lag(&topics).await, 0);
    let letters =
        topics::dead_letters::list(&topics, &topics::dead_letters::Filter::default(), None, 9).await;
    assert_eq!(letters.unwrap(), [], "a fault of the store is no fault of a record");
}
