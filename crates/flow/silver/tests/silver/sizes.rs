//! Rows that are too large to be written together, or at all: a page has fewer of them, and nobody waits behind one.

use cluster::work::run_due;
use prost::Message as _;
use silver::consume::Shipments;
use silver::convert::Delivered;
use silver::reread::Rereads;
use silver::tables::{REREADS, RereadRow};
use silver::{Queued, Silver, import};
use testing::{apply, record};
use united::shard_of;
use web::Verdict;
use wire::united::{Colour, Offer, OfferIdentifiers, UnitedOffer, UnitedOffersBatch};

use crate::world::{BUSINESS, World, key, said};

const BLUE: Colour = Colour::Blue;
const TEXT_BYTES: usize = 250_000;
/// Written in one transaction, they would be over its limit.
const SSKUS: usize = 40;

fn long(letter: &str) -> String {
    letter.repeat(TEXT_BYTES)
}

async fn fill(world: &World) -> Vec<Vec<u8>> {
    let mut shipped = Vec::new();
    for number in 0..SSKUS {
        let sku = format!("s{number:02}");
        for shop in [1, 2] {
            shipped.extend(world.write(&sku, shop, said(i64::from(shop), BLUE, &long("x"), 0), false).await);
        }
    }
    shipped
}

/// A shop's word of a message that united never sent.
pub(crate) fn by_hand(sku: &str, shop: u32, version: i64, name: &str) -> Offer {
    let mut part = said(1, BLUE, name, 0);
    let offer_id = Some(sku.to_owned());
    part.identifiers = Some(OfferIdentifiers { business_id: Some(BUSINESS), offer_id, shop_id: Some(shop) });
    part.meta.as_mut().unwrap().version = Some(version);
    part
}

#[tokio::test]
async fn gold_of_large_offers_is_made_in_smaller_pages() {
    let world = World::in_memory();
    for message in fill(&world).await {
        world.import(&[message]).await;
    }
    let silver = Silver::new(world.united.clone());
    run_due(&Queued::new(silver), &[shard_of(BUSINESS)], world.now()).await.unwrap();
    let state = world.state().await;
    assert_eq!((state.gold.len(), state.gold_queue.len(), state.erp_queue.len()), (SSKUS, 0, 0));
}

#[tokio::test]
async fn gold_that_cannot_be_kept_waits_for_a_person_and_stops_nobody() {
    let world = World::in_memory();
    // Silver has room for it, and gold, which has the winner twice, has not.
    let service = (1..=67).map(|shop| (shop, by_hand("huge", shop, 1, &long("x")))).collect();
    let huge = Delivered::of(&UnitedOffer { basic: None, service }).unwrap().by_hand();
    let now = world.now();
    world.transact(async |tx| import::import(tx, &world.settings.import, &[huge], now).await).await;
    world.import(&world.write("after", 1, said(1, BLUE, "A", 0), false).await).await;
    let silver = Silver::new(world.united.clone());
    let queued = Queued::new(silver.clone());
    run_due(&queued, &[shard_of(BUSINESS)], world.now()).await.unwrap();
    let state = world.state().await;
    assert_eq!(state.gold.keys().collect::<Vec<_>>(), ["after"]);
    assert!(state.gold_queue.is_empty() && state.erp_queue.is_empty());
    let owed = &state.failures["huge"];
    assert!(owed.parked && owed.reason.contains("a row of gold"), "{owed:?}");

    // What changes is tried again without a person.
    let gone = UnitedOffer { basic: None, service: [(1, by_hand("huge", 1, 2, "short"))].into() };
    let changed = Delivered::of(&gone).unwrap().by_hand();
    world.transact(async |tx| import::import(tx, &world.settings.import, &[changed], now).await).await;
    assert!(world.state().await.failures.is_empty());
    run_due(&queued, &[shard_of(BUSINESS)], world.now()).await.unwrap();
    assert!(world.state().await.gold.contains_key("huge"));
    assert_eq!(silver.judge(&key("huge"), Verdict::Retry).await.unwrap(), None);
}

#[tokio::test]
async fn a_business_of_large_offers_is_read_again_in_smaller_pages() {
    let world = World::in_memory();
    fill(&world).await;
    world.transact(async |tx| Ok(tx.put(&REREADS, (BUSINESS,), &RereadRow::default())?)).await;
    let rereads = Rereads(Silver::new(world.united.clone()));
    run_due(&rereads, &[shard_of(BUSINESS)], world.now()).await.unwrap();
    assert_eq!(world.state().await.silver.len(), SSKUS);
}

/// A record that cannot be written is owed alone; what came with it is imported.
#[tokio::test]
async fn what_cannot_be_saved_is_owed_alone() {
    let world = World::in_memory();
    let service = (1..=67).map(|shop| (shop, by_hand("huge", shop, 1, &long("x")))).collect();
    let huge = Delivered::of(&UnitedOffer { basic: None, service }).unwrap().by_hand();
    let now = world.now();
    world.transact(async |tx| import::import(tx, &world.settings.import, &[huge], now).await).await;

    let offer = |sku: &str, shop, name: &str| UnitedOffer {
        basic: None,
        service: [(shop, by_hand(sku, shop, 2, name))].into(),
    };
    let batch = UnitedOffersBatch {
        offer: vec![offer("before", 1, "A"), offer("huge", 68, &long("x")), offer("later", 1, "B")],
    };
    let record = record(0, BUSINESS.to_string(), batch.encode_to_vec());
    let handler = Shipments(Silver::new(world.united.clone()));
    apply(&world.united.store, &handler, &[record]).await.unwrap();
    let state = world.state().await;
    let skus: Vec<_> = state.silver.keys().map(|(sku, _)| sku.as_str()).collect();
    assert_eq!(skus, ["before", "huge", "later"]);
    assert_eq!(state.failures.keys().collect::<Vec<_>>(), ["huge"]);
    let owed = &state.failures["huge"];
    assert!(owed.reason.contains("a row of ssku") && owed.part.len() == 1, "{owed:?}");
    assert_eq!(state.silver[&("huge".to_owned(), "SUPPLIER".to_owned())].services.len(), 67);
}
