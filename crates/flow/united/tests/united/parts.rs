use united::master_data::write_back;
use united::write::{ServiceWrite, Source, Written};
use united::{CLOCK, Edition};
use united::{shard_of, write::Writing};
use wire::united::{Colour, MarketMasterData, Offer, OfferKey, Part};

use crate::world::{BUSINESS, World, call, said, weight, write};

fn version(offer: &Offer) -> i64 {
    offer.meta.unwrap().version.unwrap()
}

#[tokio::test]
async fn only_a_trigger_ships_and_only_a_subscribed_field_makes_a_version() {
    let world = World::new();
    assert_eq!(world.write(call(1, said(1, 100, "a", 10))).await, [Written::Shipped]);
    let first = world.shipped().await;
    assert_eq!(first.len(), 1);
    let (basic, service) = (first[0].basic.as_ref().unwrap(), &first[0].service[&1]);
    assert_eq!((weight(basic), weight(service)), (100, 100));
    assert_eq!(version(basic), version(service));
    assert!(
        service.price.is_none() && service.meta.unwrap().updated_at.is_none(),
        "cut to what is subscribed"
    );
    assert_eq!(service.identifiers.as_ref().unwrap().shop_id, Some(1));
    let before = world.row().await.unwrap();

    // The same again costs nothing; another price is kept, without a version and without a shipment.
    assert_eq!(world.write(call(1, said(1, 100, "a", 10))).await, [Written::Kept]);
    assert_eq!(world.row().await.unwrap(), before);
    world.write(call(1, said(2, 100, "a", 20))).await;
    let priced = world.row().await.unwrap();
    assert_ne!(priced, before);
    assert_eq!(priced.services[&1].version, before.services[&1].version);
    // Shipped, but no trigger: a version, and no shipment.
    world.write(call(1, said(3, 100, "b", 20))).await;
    let linked = world.row().await.unwrap();
    assert!(linked.services[&1].version > before.services[&1].version);
    assert!(world.shipped().await.is_empty());
    // A trigger takes everything along.
    assert_eq!(world.write(call(1, said(4, 200, "b", 30))).await, [Written::Shipped]);
    let shipped = world.shipped().await;
    assert_eq!((shipped.len(), weight(&shipped[0].service[&1])), (1, 200));
    assert!(version(&shipped[0].service[&1]) > linked.services[&1].version);
}

#[tokio::test]
async fn a_value_that_is_said_again_keeps_its_time() {
    let world = World::new();
    world.write(call(1, said(1, 100, "a", 10))).await;
    let before = world.row().await.unwrap();
    world.write(call(1, said(9, 100, "a", 10))).await;
    let after = world.row().await.unwrap();
    assert_eq!(after.services[&1].version, before.services[&1].version);
    let content = |part: &Part| part.data.as_ref().unwrap().content.clone();
    assert_eq!(content(&after.services[&1]), content(&before.services[&1]));
}

#[tokio::test]
async fn the_changed_services_are_shipped_with_the_basic_part() {
    let world = World::new();
    world.write([call(1, said(1, 100, "a", 1)), call(2, said(2, 200, "a", 1))].concat()).await;
    let both = world.shipped().await;
    assert_eq!(both[0].service.keys().copied().collect::<Vec<_>>(), [1, 2]);
    world.write(call(1, said(1, 150, "a", 1))).await;
    let one = world.shipped().await;
    assert_eq!(one[0].service.keys().copied().collect::<Vec<_>>(), [1]);
    assert_eq!(weight(one[0].basic.as_ref().unwrap()), 200, "the newest service is the basic part");
}

#[tokio::test]
async fn the_basic_part_is_the_newest_service_in_any_order() {
    let mut words = vec![(1, said(5, 100, "a", 1)), (2, said(7, 200, "a", 1)), (3, said(7, 300, "a", 1))];
    for _ in 0..3 {
        words.rotate_left(1);
        let world = World::new();
        for (shop, data) in &words {
            world.write(call(*shop, data.clone())).await;
        }
        let basic = |row: &wire::united::OfferRow| weight(row.basic.as_ref().unwrap().data.as_ref().unwrap());
        assert_eq!(basic(&world.row().await.unwrap()), 300);
        world.with(|writing| writing.remove("sku", 3)).await;
        assert_eq!(basic(&world.row().await.unwrap()), 200, "a removed service speaks no more");
        world.with(|writing| writing.basic("sku", said(0, 900, "a", 1))).await;
        assert_eq!(basic(&world.row().await.unwrap()), 900, "written as such, now");
        world.with(|writing| writing.remove("sku", 2)).await;
        world.with(|writing| writing.remove("sku", 1)).await;
        let row = world.row().await.unwrap();
        assert!(!row.basic.as_ref().unwrap().removed, "it stands for itself");
    }
}

/// A price makes no part the newest: nobody would have heard of it, and nobody hears of it now.
#[tokio::test]
async fn a_price_of_another_shop_does_not_change_the_basic_part() {
    let world = World::new();
    world.write([call(1, said(1, 100, "a", 1)), call(2, said(2, 200, "a", 1))].concat()).await;
    world.shipped().await;
    assert_eq!(world.write(call(1, said(9, 100, "a", 50))).await, [Written::Kept]);
    assert!(world.shipped().await.is_empty());
    let basic = world.row().await.unwrap().basic.unwrap().data.unwrap();
    assert_eq!(weight(&basic), 200);
    // A weight does.
    world.write(call(1, said(10, 300, "a", 50))).await;
    assert_eq!(weight(world.shipped().await[0].basic.as_ref().unwrap()), 300);
}

#[tokio::test]
async fn the_last_removal_removes_the_offer() {
    let world = World::new();
    world.write([call(1, said(1, 100, "a", 1)), call(2, said(2, 200, "a", 1))].concat()).await;
    world.with(|writing| writing.remove("sku", 2)).await;
    assert_eq!(world.with(|writing| writing.remove("sku", 2)).await, Written::Repeated);
    world.with(|writing| writing.remove("sku", 1)).await;
    let shipped = world.shipped().await;
    assert_eq!(shipped.len(), 3);
    let removed = |offer: &Offer| offer.status.as_ref().is_some_and(|status| status.removed.is_some());
    assert!(removed(&shipped[2].service[&1]) && removed(shipped[2].basic.as_ref().unwrap()));
    // And it comes back.
    world.write(call(1, said(3, 100, "a", 1))).await;
    let back = world.shipped().await;
    assert!(!removed(&back[0].service[&1]) && !removed(back[0].basic.as_ref().unwrap()));
}

#[tokio::test]
async fn followed_parts_count_once_and_within_their_epoch() {
    let world = World::new();
    let follow = |epoch, version, grams| {
        let edition = Edition { offer_id: 1, made_at: 1, version };
        vec![write(1, Source::Follower { epoch, edition }, said(grams, grams, "a", 1))]
    };
    assert_eq!(world.write(follow(1, 5, 100)).await, [Written::Stale], "the shop is not mapped");
    world.map(1, Colour::Dbs, 2, false).await;
    assert_eq!(world.write(follow(1, 5, 100)).await, [Written::Stale]);
    assert_eq!(world.write(follow(2, 5, 100)).await, [Written::Shipped]);
    assert_eq!(world.write(follow(2, 5, 900)).await, [Written::Repeated]);
    assert_eq!(world.write(follow(2, 4, 900)).await, [Written::Repeated]);
    let row = world.row().await.unwrap();
    let colour = row.services[&1].data.as_ref().unwrap().meta.unwrap().rgb();
    assert_eq!(colour, Colour::Dbs, "the mapping says the colour");
    // Mapped anew: the same offer comes again under the new epoch, and nobody hears of it.
    world.shipped().await;
    world.map(1, Colour::Dbs, 3, false).await;
    assert_eq!(world.write(follow(3, 5, 100)).await, [Written::Kept]);
    assert!(world.shipped().await.is_empty());
    assert_eq!(world.row().await.unwrap().services[&1].epoch, 3);
    world.map(1, Colour::Dbs, 4, true).await;
    assert_eq!(world.write(follow(4, 9, 100)).await, [Written::Stale], "nobody is mapped");
}

#[tokio::test]
async fn an_erased_service_leaves_no_trace() {
    let world = World::new();
    world.write([call(1, said(1, 100, "a", 1)), call(2, said(2, 200, "a", 1))].concat()).await;
    let before = world.shipped().await;
    world.with(|writing| writing.erase("sku", 2)).await;
    let shipped = world.shipped().await;
    let erased = |offer: &Offer| offer.status.as_ref().is_some_and(|status| status.erased.is_some());
    assert!(erased(&shipped[0].service[&2]) && shipped[0].service[&2].content.is_none());
    assert!(version(&shipped[0].service[&2]) > version(&before[0].service[&2]));
    assert_eq!(weight(shipped[0].basic.as_ref().unwrap()), 100, "the basic part is another's now");
    world.with(|writing| writing.erase("sku", 1)).await;
    let last = world.shipped().await;
    assert!(erased(last[0].basic.as_ref().unwrap()) && erased(&last[0].service[&1]));
    assert_eq!(world.row().await, None);
    // The clock stays: what comes under the same key is newer than all that was.
    let clock = world.united.store.get(&CLOCK, shard_of(BUSINESS), (BUSINESS,)).await.unwrap().unwrap();
    world.write(call(1, said(5, 100, "a", 1))).await;
    assert!(version(&world.shipped().await[0].service[&1]) > clock);
}

#[tokio::test]
async fn versions_grow_even_when_the_clock_stands() {
    let world = World::new();
    let mut last = 0;
    for grams in 1..5 {
        world
            .transact(async |tx| {
                let mut writing =
                    Writing::begin(&world.united, tx, BUSINESS, ["sku".to_owned()], [1]).await?;
                writing.service(write(1, Source::Caller, said(1, grams, "a", 1)))?;
                writing.finish(tx).await
            })
            .await;
        let next = version(&world.shipped().await[0].service[&1]);
        assert!(next > last);
        last = next;
    }
}

#[tokio::test]
async fn the_golden_record_comes_back_without_a_shipment() {
    let world = World::new();
    world.write(call(1, said(1, 100, "a", 1))).await;
    world.shipped().await;
    let before = world.row().await.unwrap();
    let gold = MarketMasterData { version: Some(3), parameter: Vec::new() };
    let records = vec![("sku".to_owned(), Some(gold.clone())), ("unknown".to_owned(), Some(gold.clone()))];
    world.transact(async |tx| write_back(tx, BUSINESS, records).await).await;
    assert!(world.shipped().await.is_empty());
    let after = world.row().await.unwrap();
    assert_eq!((&after.basic, &after.services), (&before.basic, &before.services));
    // It is read with the offer, and a change of the offer leaves it alone.
    world.write(call(1, said(2, 200, "a", 1))).await;
    let key = |shop_sku: &str| OfferKey { business_id: BUSINESS, shop_sku: shop_sku.to_owned() };
    let read = world.united.get(&[key("sku"), key("unknown")]).await.unwrap();
    let offer = read[0].as_ref().unwrap();
    assert_eq!(offer.basic.as_ref().unwrap().content.as_ref().unwrap().master_data, Some(gold));
    assert_eq!(offer.service[&1].price.as_ref().unwrap().minor, Some(1), "read whole");
    assert!(read[1].is_none());
    let shipped = world.shipped().await;
    assert!(shipped[0].basic.as_ref().unwrap().content.as_ref().unwrap().master_data.is_none());
    assert!(world.united.get(&vec![key("sku"); 501]).await.is_err());
}

#[tokio::test]
async fn what_cannot_be_kept_is_refused_whole() {
    let world = World::new();
    let large = said(1, 1, &"x".repeat(500_000), 1);
    for (shop_sku, data) in [("", said(1, 1, "a", 1)), ("a\0", said(1, 1, "a", 1)), ("sku", large)] {
        let write = ServiceWrite { shop_sku: shop_sku.to_owned(), ..write(1, Source::Caller, data) };
        let refused = world
            .united
            .store
            .transact(shard_of(BUSINESS), async |tx| {
                let mut writing =
                    Writing::begin(&world.united, tx, BUSINESS, [shop_sku.to_owned()], [1]).await?;
                writing.service(write)?;
                writing.finish(tx).await
            })
            .await;
        assert!(matches!(refused, Err(united::Error::Invalid(_))), "{shop_sku:?}");
    }
    assert!(world.shipped().await.is_empty());
}
