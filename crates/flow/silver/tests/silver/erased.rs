//! An erasure beside offers that cannot be imported, that are cut, or that are owed: it is never lost, and takes nothing of
//! others along.

use std::time::Duration;

use silver::ssku::SourceType;
use united::shard_of;
use united::write::Writing;
use wire::united::Colour;

use crate::world::{BUSINESS, World, said};

const BLUE: Colour = Colour::Blue;
const WHITE: Colour = Colour::White;

/// The seller of a shop is erased; returns what is shipped.
async fn erase(world: &World, sku: &str, shop: u32) -> Vec<Vec<u8>> {
    world.united.clock.advance(Duration::from_micros(1));
    let erase = async |tx: &mut store::Tx| {
        let mut writing = Writing::begin(&world.united, tx, BUSINESS, [sku.to_owned()], [shop]).await?;
        writing.erase(sku, shop)?;
        writing.finish(tx).await
    };
    world.united.store.transact(shard_of(BUSINESS), erase).await.unwrap();
    world.sent(model::topics::UNITED_OFFERS).await
}

async fn pay(world: &World) {
    for _ in 0..5 {
        world.united.clock.advance(Duration::from_secs(60));
        world.import_again().await;
    }
}

/// The shops that silver has a part of.
async fn shops(world: &World, sku: &str) -> Vec<u32> {
    let row = world.record(sku, SourceType::Supplier).await;
    row.map(|row| row.services.keys().copied().collect()).unwrap_or_default()
}

/// The basic part that is shipped with the erasure cannot be used: the erasure passes all the same.
#[tokio::test]
async fn an_erasure_passes_beside_a_part_that_cannot_be_imported() {
    let world = World::in_memory();
    world.import(&world.write("a", 1, said(1, BLUE, "mine", 5), false).await).await;
    world.import(&world.write("a", 2, said(2, BLUE, "other", 5), false).await).await;
    world.import(&world.write("a", 2, said(3, BLUE, "other", -5), false).await).await;
    assert_eq!(shops(&world, "a").await, [1, 2]);
    world.import(&erase(&world, "a", 1).await).await;
    assert_eq!(shops(&world, "a").await, [2]);
    assert_eq!(world.state().await.failures.keys().collect::<Vec<_>>(), ["a"], "the rest is owed");
}

/// The last service that silver has is erased beside one that cannot be imported: that one is still owed.
#[tokio::test]
async fn an_erasure_of_the_last_service_forgets_no_debt() {
    let world = World::in_memory();
    world.import(&world.write("a", 1, said(1, BLUE, "mine", 5), false).await).await;
    world.import(&world.write("a", 2, said(2, BLUE, "other", -5), false).await).await;
    world.import(&erase(&world, "a", 1).await).await;
    assert!(world.state().await.silver.is_empty());
    assert!(world.state().await.failures.contains_key("a"));
    world.write("a", 2, said(3, BLUE, "other", 5), false).await;
    pay(&world).await;
    assert_eq!(shops(&world, "a").await, [2]);
    assert!(world.state().await.failures.is_empty());
}

/// The message with the erasure could not be read at all: reading the offer again finds what is gone.
#[tokio::test]
async fn what_united_has_no_longer_is_erased_when_a_debt_is_paid() {
    for is_last in [false, true] {
        let world = World::in_memory();
        world.import(&world.write("a", 1, said(1, BLUE, "marker", 5), false).await).await;
        if !is_last {
            world.import(&world.write("a", 2, said(2, BLUE, "other", 5), false).await).await;
        }
        world.drain_gold().await;
        let mut broken = world.write("a", 1, said(3, BLUE, "marker", 6), false).await.remove(0);
        let at = broken.windows(6).position(|bytes| bytes == b"marker").unwrap();
        broken[at] = 0xff;
        world.import(&[broken]).await;
        erase(&world, "a", 1).await;
        pay(&world).await;
        assert_eq!(shops(&world, "a").await, if is_last { Vec::new() } else { vec![2] });
        world.drain_gold().await;
        let state = world.state().await;
        assert!(state.failures.is_empty() && !format!("{state:?}").contains("marker"), "{state:?}");
    }
}

/// Of an SSKU that is not kept, one shop is erased: what was cut of another is still known.
#[tokio::test]
async fn an_erasure_forgets_no_cut_of_others() {
    let mut world = World::in_memory();
    world.settings.import.forbidden = [BUSINESS].into();
    world.import(&world.write("a", 1, said(1, BLUE, "mine", 5), false).await).await;
    world.import(&world.write("a", 2, said(2, BLUE, "other", 5), false).await).await;
    world.import(&erase(&world, "a", 1).await).await;
    pay(&world).await;
    assert_eq!(world.state().await.cuts["a"], ["forbidden"]);
    world.settings.import.forbidden.clear();
    let now = world.now();
    let rules = &world.settings.import;
    world.transact(async |tx| silver::again::reopen_cuts(tx, rules, None, 100, now).await).await;
    pay(&world).await;
    assert_eq!(shops(&world, "a").await, [2]);
}

/// Something is owed and something was cut; the offer comes to be kept, and both are read again.
#[tokio::test]
async fn a_debt_does_not_hide_what_was_cut() {
    let world = World::in_memory();
    // Shop 1 is WHITE and cut; shop 2 cannot be imported; shop 3 makes us keep the offer, and then shop 2 comes.
    world.import(&world.write("a", 1, said(1, WHITE, "one", 5), false).await).await;
    world.import(&world.write("a", 2, said(2, BLUE, "two", -5), false).await).await;
    world.import(&world.write("a", 3, said(3, BLUE, "three", 5), false).await).await;
    world.import(&world.write("a", 2, said(4, BLUE, "two", 5), false).await).await;
    pay(&world).await;
    assert_eq!(shops(&world, "a").await, [1, 2, 3], "the cut one as a removal with its version");
    let state = world.state().await;
    assert!(state.cuts.is_empty() && state.failures.is_empty());
}
