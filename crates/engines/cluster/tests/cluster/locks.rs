use std::time::Duration;

use cluster::{Error, Lock};
use store::{Shard, Store, Tx};

use crate::world::{Member, join, sleep_ms, store};

const HOUR: Duration = Duration::from_hours(1);

async fn try_lock(member: &Member, store: &Store, max_age: Duration) -> Option<Lock> {
    let cluster = member.cluster.clone();
    let locked = store.transact(Shard::of("seller"), async |tx: &mut Tx| {
        cluster.try_lock(tx, "feed", "seller/default", max_age).await
    });
    locked.await.unwrap()
}

async fn check(store: &Store, lock: &Lock) -> Result<(), Error> {
    store.transact(Shard::of("seller"), async |tx: &mut Tx| lock.check(tx).await).await
}

async fn release(store: &Store, lock: &Lock) {
    store.transact(Shard::of("seller"), async |tx: &mut Tx| lock.release(tx).await).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lock_has_one_holder_and_can_be_given_back() {
    let store = store();
    let (a, b) = (join(&store, "a").await, join(&store, "b").await);
    let lock = try_lock(&a, &store, HOUR).await.unwrap();
    assert_eq!(try_lock(&b, &store, HOUR).await, None);
    assert_eq!(try_lock(&a, &store, HOUR).await, None, "not even its holder takes it twice");
    check(&store, &lock).await.unwrap();
    release(&store, &lock).await;
    assert!(check(&store, &lock).await.unwrap_err().is_fenced());
    assert!(try_lock(&b, &store, HOUR).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_dead_holders_lock_is_taken_and_its_late_commit_refused() {
    let store = store();
    let (a, b) = (join(&store, "a").await, join(&store, "b").await);
    sleep_ms(100).await;
    let lock = try_lock(&a, &store, HOUR).await.unwrap();
    a.die().await;
    sleep_ms(3_000).await;
    assert_eq!(try_lock(&b, &store, HOUR).await, None);
    sleep_ms(6_000).await;
    let taken = try_lock(&b, &store, HOUR).await.unwrap();
    assert!(check(&store, &lock).await.unwrap_err().is_fenced());
    release(&store, &lock).await;
    check(&store, &taken).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_is_too_old_is_taken_from_the_living() {
    let store = store();
    let (a, b) = (join(&store, "a").await, join(&store, "b").await);
    let lock = try_lock(&a, &store, HOUR).await.unwrap();
    assert!(try_lock(&b, &store, Duration::ZERO).await.is_some());
    assert!(check(&store, &lock).await.is_err());
}
