//! Offers that are too large to be written together.

use store::{Range, Read as _};
use united::write::{ServiceWrite, Source};
use united::{OFFERS, shard_of};
use wire::united::Colour;

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
