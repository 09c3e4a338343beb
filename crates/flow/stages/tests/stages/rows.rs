//! What an import costs with all stages on, and what it leaves behind.

use std::time::Duration;

use model::{Content, Photo, PhotoState};
use offers::Preset;
use offers::autoload::Batches;
use prost::Message as _;
use stages::builtin::price::PriceChanges;
use store::Store;
use testing::{Counted, record};
use wire::feeds::feed_message::Kind;
use wire::feeds::feed_result::Kind as ResultKind;
use wire::feeds::{FeedBatch, FeedMessage, FeedRecord, FeedResult};

use crate::builtin::answer;
use crate::simulation::waiting;
use crate::support::{BEGINNING, World, built_in, catalog, content, offers_on, schema, seller};

const OFFERS: usize = 600;
const BATCH: usize = 100;
/// Rows that an import may write per offer, whatever the stages.
const MAX_ROWS: f64 = 6.1;

fn records(numbers: std::ops::Range<usize>) -> Vec<FeedRecord> {
    let record = |number: usize| {
        let content = Content {
            category_id: "books".to_owned(),
            catalog_version: catalog().version(),
            photo_urls: vec![
                format!("https://example.com/{number}/a"),
                format!("https://example.com/{number}/b"),
            ],
            ..content(&format!("Book {number}"), 100 + number as i64)
        };
        FeedRecord {
            external_id: format!("sku-{number}"),
            content: Some(content),
            fingerprint: vec![1 + (number / 256) as u8, number as u8],
            ..FeedRecord::default()
        }
    };
    numbers.map(record).collect()
}

/// A load of all offers, whose batches are polled together as they are while an import runs, followed by the stages and by
/// those who keep the prices.
async fn load(world: &World, task: i64) {
    let batch = |number: usize| {
        let records = records(number * BATCH..(number + 1) * BATCH);
        let message = FeedMessage {
            seller_id: seller(1),
            namespace: "default".to_owned(),
            task_id: task,
            kind: Some(Kind::Batch(FeedBatch { number: number as i64 + 1, records })),
            ..FeedMessage::default()
        };
        record(0, seller(1), message.encode_to_vec())
    };
    let batches: Vec<_> = (0..OFFERS / BATCH).map(batch).collect();
    let shard = store::Shard::of(&seller(1));
    let told = waiting(&world.offers.store, shard, model::topics::OFFERS_CHANGES).await.len();
    testing::apply(&world.offers.store, &Batches(world.offers.clone()), &batches).await.unwrap();
    world.rest().await;
    let changes = waiting(&world.offers.store, shard, model::topics::OFFERS_CHANGES).await;
    let new: Vec<_> = changes[told..].iter().map(|change| record(0, "", change.clone())).collect();
    let prices = PriceChanges(world.offers.catalog.clone());
    testing::apply(&world.offers.store, &prices, &new).await.unwrap();
}

/// How many records of a load were created and unchanged.
async fn outcomes(world: &World, task: i64) -> (i64, i64) {
    let shard = store::Shard::of(&seller(1));
    let sent = waiting(&world.offers.store, shard, model::topics::FEED_RESULTS).await;
    let results = sent.iter().map(|payload| FeedResult::decode(payload.as_slice()).unwrap());
    let (mut created, mut unchanged) = (0, 0);
    for result in results.filter(|result| result.task_id == task) {
        if let Some(ResultKind::Batch(batch)) = result.kind {
            let tally = batch.tally.unwrap_or_default();
            (created, unchanged) = (created + tally.created, unchanged + tally.unchanged);
        }
    }
    (created, unchanged)
}

async fn left_behind(world: &World) -> Vec<(&'static str, usize)> {
    let mut found = Vec::new();
    for table in ["changed", "pairs", "queue", "timers", "parked", "counts"] {
        found.push((table, world.rows(table).await));
    }
    found.retain(|(_, rows)| *rows > 0);
    found
}

#[tokio::test(start_paused = true)]
async fn an_import_with_all_stages_keeps_to_its_rows_and_leaves_nothing_behind() {
    let memory = Store::memory(schema());
    let (counted, store) = Counted::over(&memory);
    let world = World::of(offers_on(store, kit::Clock::manual(BEGINNING), catalog()), built_in).await;
    assert!(world.stages.entries().iter().all(|entry| entry.row.paused_at == 0));
    // The first walks are over.
    world.pass(Duration::from_secs(20)).await;
    world.rest().await;
    counted.take_all_written();
    load(&world, 1).await;
    let rows = counted.take_all_written() as f64 / OFFERS as f64;
    assert!(rows <= MAX_ROWS, "{rows} rows per offer");
    assert_eq!(outcomes(&world, 1).await, (OFFERS as i64, 0));
    assert_eq!(left_behind(&world).await, []);
}

#[tokio::test(start_paused = true)]
async fn a_load_of_the_same_file_changes_nothing_after_stages_have_changed_offers() {
    let world = World::with_builtins().await;
    load(&world, 1).await;
    let (offers, _) = world.offers.page(&seller(1), Preset::All, None, 20).await.unwrap();
    for offer in &offers {
        let photo = |photo: &Photo, sharpness: u32| Photo {
            state: PhotoState::Ready.into(),
            hash: photo.url.clone(),
            width: 1_000,
            height: 1_000,
            sharpness,
            exposure: 900,
            ..photo.clone()
        };
        answer(&world, offer.id, vec![photo(&offer.photos[0], 100), photo(&offer.photos[1], 900)]).await;
    }
    world.rest().await;
    let ordered = world.read(offers[0].id).await;
    assert_eq!(ordered.photo_order.len(), 2);
    load(&world, 2).await;
    assert_eq!(outcomes(&world, 2).await, (0, OFFERS as i64));
    assert_eq!(world.read(offers[0].id).await, ordered);
}
