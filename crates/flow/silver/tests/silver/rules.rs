//! Other rules of gold hold for every SSKU, and statistics say what the import did.

use cluster::work::run_due;
use silver::settings::{self, GOLD_RULES};
use silver::{Queued, Requeued, Silver};
use united::shard_of;
use wire::silver::ErpSsku;
use wire::united::Colour;
use wire::united::value::Kind;

use prost::Message as _;

use crate::world::{BUSINESS, World, said};

const SKUS: usize = 450;

async fn weight(world: &World, sku: &str) -> i64 {
    let gold = world.state().await.gold[sku].clone();
    let weight = gold.value.iter().flat_map(|value| &value.value).find_map(|value| match value.kind {
        Some(Kind::Integer(weight)) => Some(weight),
        _ => None,
    });
    weight.unwrap()
}

#[tokio::test]
async fn new_rules_make_all_gold_anew_and_erp_hears_of_what_changed() {
    let world = World::in_memory();
    let silver = Silver::new(world.united.clone());
    let mut messages = Vec::new();
    for number in 0..SKUS {
        let sku = format!("s{number:03}");
        messages.extend(world.write(&sku, 1, said(1, Colour::Blue, "A", 5), false).await);
        // Every tenth SSKU has two words on its weight, equally new.
        if number % 10 == 0 {
            messages.extend(world.write(&sku, 2, said(2, Colour::Blue, "A", 3), false).await);
        }
    }
    world.import(&messages).await;
    let shards = [shard_of(BUSINESS)];
    let queued = Queued::new(silver.clone());
    run_due(&queued, &shards, world.now()).await.unwrap();
    assert_eq!(weight(&world, "s010").await, 5, "of equals the smallest shop's wins");
    assert_eq!(world.sent(model::topics::ERP_SSKU).await.len(), SKUS);
    assert_eq!(
        run_due(&Requeued(silver.clone()), &shards, world.now()).await.unwrap(),
        0,
        "no rules were set"
    );

    let rules = r#"{"parameters": {"weight": {"choose": "min"}}}"#;
    let before = silver.settings();
    let then = serde_json::from_str(rules).unwrap();
    let preview = silver::gold::preview::preview(&world.united.store, &before.gold, &then).await.unwrap();
    assert_eq!((preview.sskus, preview.changed_sskus, preview.samples.len()), (SKUS as u64, 45, 20));

    settings::set(&world.united.store, GOLD_RULES, rules, None, "test", world.now()).await.unwrap();
    silver.read_settings().await.unwrap();
    assert!(run_due(&Requeued(silver.clone()), &shards, world.now()).await.unwrap() > 0);
    assert_eq!(world.state().await.gold_queue.len(), SKUS, "every SSKU is queued");
    assert_eq!(run_due(&Requeued(silver.clone()), &shards, world.now()).await.unwrap(), 0, "once");

    // A process that has not heard of the rules yet makes nothing by the old ones.
    let late = Silver::new(world.united.clone());
    assert_eq!(late.settings().gold_version, 0);
    world.united.clock.advance(std::time::Duration::from_secs(1));
    run_due(&Queued::new(late.clone()), &shards, world.now()).await.unwrap();
    assert_eq!(late.settings().gold_version, 1);
    assert_eq!((weight(&world, "s010").await, weight(&world, "s011").await), (3, 5));
    let told = world.sent(model::topics::ERP_SSKU).await;
    let told: Vec<_> = told.iter().map(|told| ErpSsku::decode(told.as_slice()).unwrap().shop_sku).collect();
    assert_eq!(told.len(), 45, "ERP hears of what changed alone: {told:?}");
    assert!(world.sent(model::topics::UNITED_OFFERS).await.is_empty(), "and united ships nothing");
    let state = world.state().await;
    assert!(state.gold_queue.is_empty() && state.erp_queue.is_empty());
}

#[tokio::test]
async fn shipments_are_counted_by_the_field_that_caused_them() {
    let world = World::in_memory();
    let silver = Silver::new(world.united.clone());
    world.write("a", 1, said(1, Colour::Blue, "A", 5), false).await;
    world.write("b", 1, said(1, Colour::Blue, "B", 5), false).await;
    for weight in 6..=9 {
        world.write("a", 1, said(weight, Colour::Blue, "A", weight), false).await;
    }
    world.write("a", 1, said(10, Colour::Blue, "other", 9), false).await;
    let stats = world.united.stats(1).await.unwrap();
    let of = |field: &str| stats.fields.iter().find(|known| known.field == field).unwrap().clone();
    assert_eq!(stats.shipments, 7);
    assert_eq!(of(united::stats::NEW_OFFER).shipments, 2);
    assert_eq!(
        of("content.partner.original.weight").shipments,
        4,
        "once for an offer, not for each of its parts"
    );
    assert_eq!(of("content.partner.original.name").shipments, 1);
    assert_eq!(stats.fields[0].field, "content.partner.original.weight", "the busiest first");
    assert!(!stats.fields.iter().any(|field| field.flaps));

    // A setting says what is too much.
    let store = &world.united.store;
    settings::set(store, settings::FLAPPING, "3", None, "test", world.now()).await.unwrap();
    silver.read_settings().await.unwrap();
    let stats = world.united.stats(1).await.unwrap();
    assert_eq!(world.united.report(&stats, world.now()), ["content.partner.original.weight"]);
    assert!(world.united.report(&stats, world.now()).is_empty(), "once an hour");
    let later = world.now().plus(std::time::Duration::from_secs(3_600));
    assert_eq!(world.united.report(&stats, later).len(), 1);
    settings::set(store, settings::FLAPPING, "0", None, "test", world.now()).await.unwrap();
    silver.read_settings().await.unwrap();
    assert!(!world.united.stats(1).await.unwrap().fields.iter().any(|field| field.flaps), "0: never");
}
