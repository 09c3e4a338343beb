//! The round trips of the consumer's transaction do not grow with what it applies.

use feeds::results::Results;
use prost::Message as _;
use testing::{Counted, record, trips};
use wire::feeds::{BatchResult, FeedResult, feed_result};

use crate::world::{World, goods, seller};

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
