//! The round trips of the consumer's transaction do not grow with what it applies.

use photos::{Requested, Requests};
use prost::Message as _;
use store::Store;
use testing::{Counted, record, trips};
use topics::Record;
use wire::photos::PhotoRequest;

use crate::world::{World, releasing, request};

const MANY: i64 = 40;

async fn check(what: &str, store: &Store, counted: &Counted, handler: &Requests, requests: &[PhotoRequest]) {
    let record = |request: &PhotoRequest| record(0, "", request.encode_to_vec());
    let records: Vec<Record> = requests.iter().map(record).collect();
    let one = trips(store, counted, handler, &records[..1]).await;
    let many = trips(store, counted, handler, &records[1..]).await;
    assert!(many <= one + 1 && one <= 8, "{what}: {one} for one, {many} for {}", records.len() - 1);
}

#[tokio::test]
async fn requests_and_releases_share_their_questions() {
    let world = World::new().await;
    let (counted, store) = Counted::over(&world.store);
    let handler = Requests { clock: world.clock.clone() };
    let url = |offer: i64| world.gallery.url(&format!("{offer}.jpg"));
    let requests: Vec<_> =
        (0..MANY).map(|offer| request(&format!("r{offer}"), offer, &[&url(offer)])).collect();
    check("unknown urls", &store, &counted, &handler, &requests).await;
    // Answered with an error each, they are asked for again by other offers, and then let go.
    let now = world.clock.now();
    cluster::work::run_due(&Requested(world.photos()), &[World::shard()], now).await.unwrap();
    let releases: Vec<_> = (0..MANY).map(|offer| releasing(offer, &[&url(offer)])).collect();
    check("releases", &store, &counted, &handler, &releases).await;
}
