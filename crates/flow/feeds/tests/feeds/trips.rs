//! The round trips of the consumer's transaction do not grow with what it applies.

use feeds::FeedKey;
use feeds::erase::Erasures;
use feeds::results::Results;
use prost::Message as _;
use store::Shard;
use testing::{Counted, record, trips};
use topics::Record;
use wire::feeds::{BatchResult, FeedResult, TaskStatus, feed_result};

use crate::world::{World, goods, many, seller};

const MANY: i64 = 40;

#[tokio::test(start_paused = true)]
async fn results_share_their_questions() {
    let world = World::new().await;
    let key = seller();
    let task_id = world.upload(&key, &goods(&[("1", "Drill", 100)])).await;
    let (counted, store) = Counted::over(&world.feeds.store);
    let handler = Results(world.feeds.clone());
    let result = |number: i64| FeedResult {
        seller_id: key.seller.clone(),
        namespace: key.namespace.clone(),
        task_id,
        kind: Some(feed_result::Kind::Batch(BatchResult { number, ..BatchResult::default() })),
        ..FeedResult::default()
    };
    let records: Vec<_> =
        (1..=MANY).map(|number| record(number, key.seller.clone(), result(number).encode_to_vec())).collect();
    let one = trips(&store, &counted, &handler, &records[..1]).await;
    let many = trips(&store, &counted, &handler, &records[1..]).await;
    assert!(many <= one && one <= 6, "{one} for one, {many} for {}", records.len() - 1);
    let load = world.task(&key, task_id).await;
    assert_eq!(load.task.progress.unwrap().batches_acknowledged, MANY);
}

/// Sellers with a feed each, and one load that has ended and one that waits, are erased together.
#[tokio::test(start_paused = true)]
async fn erasures_share_their_questions() {
    let world = World::new().await;
    let names = (0..).map(|number| format!("seller-{number}"));
    let neighbours = names.filter(|name| Shard::of(name) == Shard::of("seller-0"));
    let sellers: Vec<_> = neighbours.take(MANY as usize).collect();
    let keys: Vec<_> = sellers.iter().map(|seller| FeedKey::new(seller, "default").unwrap()).collect();
    for key in &keys {
        world.load(key, &many(0..2)).await;
    }
    let mut waiting = Vec::new();
    for key in keys {
        let task_id = world.upload(&key, &many(0..3)).await;
        waiting.push((key, task_id));
    }
    let (counted, store) = Counted::over(&world.feeds.store);
    let handler = Erasures(world.feeds.clone());
    let record = |seller: &String| record(0, seller.clone(), model::erasure::write(seller, 7));
    let records: Vec<Record> = sellers.iter().map(record).collect();
    for (what, most) in [("erasures", 12), ("repeats", 2)] {
        let one = trips(&store, &counted, &handler, &records[..1]).await;
        let many = trips(&store, &counted, &handler, &records[1..]).await;
        assert!(many <= one + 1 && one <= most, "{what}: {one} for one, {many} for {}", records.len() - 1);
    }
    for (key, task_id) in &waiting {
        assert_eq!(world.task(key, *task_id).await.task.status(), TaskStatus::TaskCancelled);
        assert!(feeds::history::feed(&world.feeds, key).await.is_err(), "{key:?} is there");
    }
}
