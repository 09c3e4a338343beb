//! Wake-ups within a process and between processes.

use std::time::Duration;

use store::{Shard, Store};

use super::support::{COUNTERS, Database, open, until};

async fn wake(store: &Store, shard: Shard, write: bool) {
    store
        .transact(shard, async |tx| {
            if write {
                tx.put(&COUNTERS, ("wake",), &1)?;
            }
            tx.wake("relay");
            Ok::<_, store::Error>(())
        })
        .await
        .unwrap();
}

#[tokio::test]
async fn a_commit_wakes_its_own_process_at_once_and_others_soon() {
    let Some(database) = Database::create().await else { return };
    let (here, there) = (open(&database.url).await, open(&database.url).await);
    let (near, far) = (here.wakes().listen("relay"), there.wakes().listen("relay"));
    let shards: Vec<Shard> = (0..300).map(Shard::wrapping).collect();
    wake(&here, shards[0], true).await;
    assert_eq!(near.take().into_iter().collect::<Vec<_>>(), shards[..1]);
    // The other process may begin to listen later than that; from here on it does.
    until("the other process hears", async || {
        wake(&here, shards[0], false).await;
        tokio::time::timeout(Duration::from_millis(200), far.woken()).await.is_ok()
    })
    .await;
    far.take();
    near.take();
    for shard in &shards {
        wake(&here, *shard, false).await;
    }
    assert_eq!(near.take().into_iter().collect::<Vec<_>>(), shards);
    let mut heard = std::collections::BTreeSet::new();
    until("the other process hears of all shards", async || {
        heard.extend(far.take());
        heard.len() == shards.len()
    })
    .await;
    assert_eq!(near.take(), std::collections::BTreeSet::new(), "one's own notifications are not heard twice");
}

#[tokio::test]
async fn listening_begins_again_after_a_lost_connection() {
    let Some(database) = Database::create().await else { return };
    let (here, there) = (open(&database.url).await, open(&database.url).await);
    let far = there.wakes().listen("relay");
    let shard = Shard::of("again");
    for _ in 0..2 {
        until("the other process hears", async || {
            wake(&here, shard, false).await;
            tokio::time::timeout(Duration::from_millis(200), far.woken()).await.is_ok()
        })
        .await;
        let text = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        database.client().await.query_one(text, &[]).await.unwrap();
    }
}
