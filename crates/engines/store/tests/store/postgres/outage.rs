//! A server that dies under load and comes back: nothing acknowledged is lost, and nobody has to help.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use store::{Error, Kind, Read as _, Shard, Store};

use super::support::{COUNTERS, OwnServer, open, until};

#[derive(Default)]
struct Tally {
    acknowledged: AtomicU64,
    unknown: AtomicU64,
    failed: AtomicU64,
}

/// Counts in one shard until told to stop. Every answer is tallied for what it claims.
async fn count(store: Store, number: u64, tally: Arc<Tally>, stop: Arc<AtomicBool>) {
    let shard = Shard::wrapping(number);
    while !stop.load(Ordering::SeqCst) {
        let counted: Result<(), Error> = store
            .transact(shard, async |tx| {
                let count = tx.get(&COUNTERS, ("n",)).await?.unwrap_or_default() + 1;
                tx.put(&COUNTERS, ("n",), &count)
            })
            .await;
        match counted {
            Ok(()) => tally.acknowledged.fetch_add(1, Ordering::SeqCst),
            Err(error) if error.may_have_happened() => tally.unknown.fetch_add(1, Ordering::SeqCst),
            Err(error) => {
                assert_eq!(error.kind(), Kind::Unavailable, "{error}");
                tokio::time::sleep(Duration::from_millis(5)).await;
                tally.failed.fetch_add(1, Ordering::SeqCst)
            }
        };
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_loses_nothing_that_was_acknowledged() {
    let Some(mut server) = OwnServer::start(&[]).await else { return };
    let stores = [open(&server.url()).await, open(&server.url()).await];
    let (tally, stop) = (Arc::new(Tally::default()), Arc::new(AtomicBool::new(false)));
    // Two tasks of each process on each of eight shards.
    let tasks: Vec<_> = (0..32)
        .map(|number| {
            let store = stores[number % 2].clone();
            tokio::spawn(count(store, number as u64 / 4, tally.clone(), stop.clone()))
        })
        .collect();
    for round in 0..3 {
        let before = tally.acknowledged.load(Ordering::SeqCst);
        until("work goes on", async || tally.acknowledged.load(Ordering::SeqCst) > before + 200).await;
        server.kill();
        let failed = tally.failed.load(Ordering::SeqCst);
        until("the outage is felt", async || tally.failed.load(Ordering::SeqCst) > failed + 20).await;
        assert!(stores[0].engine().health().await.is_err(), "round {round}");
        server.restart().await;
        until("health is back", async || stores[0].engine().health().await.is_ok()).await;
    }
    let before = tally.acknowledged.load(Ordering::SeqCst);
    until("work goes on at the end", async || tally.acknowledged.load(Ordering::SeqCst) > before + 200).await;
    stop.store(true, Ordering::SeqCst);
    for task in tasks {
        task.await.unwrap();
    }
    let shards: Vec<Shard> = (0..8).map(Shard::wrapping).collect();
    let rows = stores[1].scan_shards(&COUNTERS, &shards, store::Range::all(1)).await.unwrap();
    let counted: u64 = rows.iter().map(|(_, _, count)| count).sum();
    let [acknowledged, unknown, failed] =
        [&tally.acknowledged, &tally.unknown, &tally.failed].map(|number| number.load(Ordering::SeqCst));
    eprintln!("{counted} counted: {acknowledged} acknowledged, {unknown} unknown, {failed} failed");
    assert!((acknowledged..=acknowledged + unknown).contains(&counted));
}
