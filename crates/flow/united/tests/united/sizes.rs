//! Offers that are too large to be written together.

use store::{Range, Read as _};
use united::write::{ServiceWrite, Source};
use united::{OFFERS, shard_of};
use wire::united::{Colour, UnitedOffer};

use crate::world::{BUSINESS, World, said};

/// An unmapped shop's offers are ended, however large they are.
#[tokio::test]
async fn large_offers_are_ended_in_smaller_pages() {
    let world = World::new();
    world.map(1, Colour::Blue, 1, false).await;
    let long = "x".repeat(350_000);
    for number in 0..60 {
        let (shop_sku, source) = (format!("s{number:02}"), Source::Caller);
        let data = said(1, 100, &long, 1);
        let write = ServiceWrite { shop_sku, shop: 1, source, removed: false, data };
        world.write(vec![write]).await;
    }
    assert!(world.united.unmap_shop(BUSINESS, 1).await.unwrap());
    while world.transact(async |tx| united::shops::end_step(&world.united, tx, BUSINESS, 1).await).await {}
    let snapshot = world.united.store.snapshot(shard_of(BUSINESS)).await.unwrap();
    let rows = snapshot.scan(&OFFERS, Range::all(100)).await.unwrap();
    assert_eq!(rows.len(), 60);
    assert!(rows.iter().all(|(_, row)| row.services[&1].removed));
}

/// No part may be larger than a message has room for, the basic one no more than a shop's.
#[tokio::test]
async fn every_part_has_a_limit() {
    let world = World::new();
    let large = || said(1, 100, &"x".repeat(united::MAX_PART_BYTES), 1);
    let service = UnitedOffer { basic: None, service: [(1, large())].into() };
    let basic = UnitedOffer { basic: Some(large()), service: [(1, said(1, 100, "a", 1))].into() };
    for offer in [service, basic] {
        let refused = world.united.put(BUSINESS, "sku", offer).await;
        assert!(refused.is_err_and(|error| error.to_string().contains("the limit is")));
    }
    assert_eq!(world.row().await, None);
}
