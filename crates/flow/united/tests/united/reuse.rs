//! A seller's id comes to name another offer, and an offer comes to have another id.

use model::{OfferId, Origin, Status};
use united::{OFFERS, shard_of};
use wire::united::{Colour, OfferRow, Part};

use crate::world::{BUSINESS, World, fed};

impl World {
    async fn part(&self) -> Part {
        self.row().await.unwrap().services[&1].clone()
    }
}

fn title(part: &Part) -> &str {
    let content = part.data.as_ref().unwrap().content.as_ref().unwrap();
    content
        .partner
        .as_ref()
        .unwrap()
        .original
        .as_ref()
        .unwrap()
        .name
        .as_ref()
        .unwrap()
        .value
        .as_deref()
        .unwrap()
}

/// Versions begin anew with every offer.
#[tokio::test]
async fn a_new_offer_under_a_known_id_is_taken() {
    let world = World::new();
    world.map(1, Colour::Blue, 1, false).await;
    for version in 1..=5 {
        world.tell(fed(1, version, "old", Status::Active)).await;
    }
    world.tell(fed(1, 6, "old", Status::SoldHere)).await;
    assert!(world.part().await.removed);
    world.tell(fed(2, 1, "new", Status::Active)).await;
    assert_eq!((title(&world.part().await), world.part().await.removed), ("new", false));

    // What the sold one still says is late, whatever its version.
    world.tell(fed(1, 7, "old", Status::SoldElsewhere)).await;
    assert_eq!((title(&world.part().await), world.part().await.removed), ("new", false));
    world.tell(fed(2, 2, "newer", Status::Active)).await;
    world.tell(fed(2, 1, "new", Status::Active)).await;
    assert_eq!(title(&world.part().await), "newer");
}

/// A walk says offers in the order in which they were made; a change may come before it.
#[tokio::test]
async fn a_walk_brings_the_former_offer_last() {
    let world = World::new();
    world.map(1, Colour::Blue, 1, false).await;
    world.tell(fed(2, 1, "new", Status::Active)).await;
    world.tell(fed(1, 9, "old", Status::SoldHere)).await;
    assert_eq!((title(&world.part().await), world.part().await.removed), ("new", false));
}

/// An offer leaves its feed and is on sale by hand: it has one id, not two; and back.
#[tokio::test]
async fn an_offer_that_changes_its_id_lives_under_one() {
    let world = World::new();
    world.map(1, Colour::Blue, 1, false).await;
    let offer = fed(1, 1, "drill", Status::Active);
    let by_hand = OfferId::from_raw(offer.id).unwrap().to_string();
    let is_live = async |sku: &str| {
        let key = (BUSINESS, sku);
        let row: Option<OfferRow> = world.united.store.get(&OFFERS, shard_of(BUSINESS), key).await.unwrap();
        row.is_some_and(|row| row.services.get(&1).is_some_and(|part| !part.removed))
    };
    let (feed, none) = (offer.origin.clone(), Some(Origin::default()));
    world.tell(offer.clone()).await;
    let left = model::Offer { version: 2, origin: none.clone(), ..offer.clone() };
    world.tell_moved(left.clone(), feed).await;
    assert_eq!((is_live("sku").await, is_live(&by_hand).await), (false, true));
    world.tell_moved(model::Offer { version: 3, ..offer.clone() }, none.clone()).await;
    assert_eq!((is_live("sku").await, is_live(&by_hand).await), (true, false));

    // The id is another offer's by the time the first one leaves: that one stays.
    world.tell(fed(2, 1, "saw", Status::Active)).await;
    world.tell_moved(model::Offer { version: 4, ..left }, offer.origin).await;
    assert_eq!((is_live("sku").await, is_live(&by_hand).await), (true, true));
    assert_eq!(title(&world.part().await), "saw");
}
