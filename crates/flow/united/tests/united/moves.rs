//! An offer moves to another business and back, while its seller's words go after it.

use model::Status;
use store::{Range, Read as _, Tx};
use testing::{OUTBOX, apply, record};
use united::moves::Moves;
use united::{MIGRATIONS_OPEN, OFFERS, shard_of};
use wire::offers::FollowedOffers;
use wire::united::{Colour, MigrationRequest, Part, UnitedOffer};

use crate::world::{BUSINESS, World, fed, said, weight};

pub(crate) const OTHER: u32 = 8;
pub(crate) const THIRD: u32 = 9;

impl World {
    /// The seller of shop 1 says a title, in this version of the offer.
    pub(crate) async fn say(&self, version: i64, title: &str) {
        self.tell(fed(1, version, title, Status::Active)).await;
    }

    pub(crate) async fn ask(&self, id: &str, source_business_id: u32, target_business_id: u32) {
        let (request_id, shop_sku) = (id.to_owned(), "sku".to_owned());
        let request = MigrationRequest { request_id, source_business_id, target_business_id, shop_sku };
        self.united.migrate(request).await.unwrap();
    }

    /// Takes the moves that a business has sent out of its outbox, and hands them over; says how many.
    pub(crate) async fn carry(&self, from: u32) -> usize {
        let take = async |tx: &mut Tx| {
            let mut sent = Vec::new();
            for ((seq,), row) in tx.scan(&OUTBOX, Range::all(1_000)).await? {
                tx.delete(&OUTBOX, (seq,))?;
                if row.topic == model::topics::UNITED_MOVES {
                    sent.extend(row.messages.into_iter().map(|message| message.payload));
                }
            }
            Ok::<_, united::Error>(sent)
        };
        let sent = self.united.store.transact(shard_of(from), take).await.unwrap();
        for payload in &sent {
            let record = record(0, "", payload.clone());
            apply(&self.united.store, &Moves(self.united.clone()), &[record]).await.unwrap();
        }
        sent.len()
    }

    /// The seller of any shop says the same under the epoch.
    pub(crate) async fn say_in(&self, shop: u32, epoch: i64, version: i64, title: &str) {
        let offer = vec![fed(i64::from(shop), version, title, Status::Active)];
        self.hear(shop, epoch, FollowedOffers { offer, ..FollowedOffers::default() }).await;
    }

    pub(crate) async fn part_of(&self, business: u32, shop: u32) -> Option<Part> {
        let row = self.united.store.get(&OFFERS, shard_of(business), (business, "sku")).await.unwrap()?;
        row.services.get(&shop).cloned()
    }

    pub(crate) async fn settle(&self) {
        while self.carry(BUSINESS).await + self.carry(OTHER).await + self.carry(THIRD).await > 0 {}
    }

    /// The part of shop 1 in a business, if the offer lives there.
    pub(crate) async fn live(&self, business: u32) -> Option<Part> {
        let key = (business, "sku");
        let row = self.united.store.get(&OFFERS, shard_of(business), key).await.unwrap()?;
        row.services.get(&1).filter(|part| !part.removed).cloned()
    }

    pub(crate) async fn title(&self, business: u32) -> Option<String> {
        let part = self.live(business).await?;
        let original = part.data?.content?.partner?.original?;
        original.name?.value
    }
}

#[tokio::test]
async fn an_offer_that_comes_home_lives_again() {
    let world = World::new();
    world.map(1, Colour::Blue, 1, false).await;
    world.say(1, "first").await;
    world.ask("there", BUSINESS, OTHER).await;
    world.settle().await;
    assert_eq!((world.title(BUSINESS).await, world.title(OTHER).await.as_deref()), (None, Some("first")));
    world.say(2, "second").await;
    world.settle().await;
    assert_eq!(world.title(OTHER).await.as_deref(), Some("second"), "what comes later is forwarded");

    world.ask("back", OTHER, BUSINESS).await;
    world.settle().await;
    assert_eq!((world.title(BUSINESS).await.as_deref(), world.title(OTHER).await), (Some("second"), None));
    world.say(3, "third").await;
    assert_eq!(world.title(BUSINESS).await.as_deref(), Some("third"), "it is its seller's again");
}

/// A word goes after the offer, and finds that it is on its way home.
#[tokio::test]
async fn what_was_on_its_way_comes_home_too() {
    let world = World::new();
    world.map(1, Colour::Blue, 1, false).await;
    world.say(1, "first").await;
    world.ask("there", BUSINESS, OTHER).await;
    world.settle().await;
    world.ask("back", OTHER, BUSINESS).await;
    // The question is with the other business, the answer is not here yet, and a word leaves.
    world.carry(BUSINESS).await;
    world.say(2, "second").await;
    world.settle().await;
    assert_eq!((world.title(BUSINESS).await.as_deref(), world.title(OTHER).await), (Some("second"), None));
}

/// There and back, and there and back again: each time it lives in one place, whole.
#[tokio::test]
async fn round_trips_lose_nothing() {
    let world = World::new();
    world.map(1, Colour::Blue, 1, false).await;
    world.say(1, "first").await;
    for round in 0..3 {
        world.ask(&format!("there {round}"), BUSINESS, OTHER).await;
        world.settle().await;
        assert_eq!((world.title(BUSINESS).await, world.title(OTHER).await.as_deref()), (None, Some("first")));
        world.ask(&format!("back {round}"), OTHER, BUSINESS).await;
        world.settle().await;
        assert_eq!((world.title(BUSINESS).await.as_deref(), world.title(OTHER).await), (Some("first"), None));
    }
}

#[tokio::test]
async fn round_trips_of_an_offer_that_a_caller_wrote() {
    let world = World::new();
    let offer = UnitedOffer { basic: None, service: [(1, said(5, 100, "a", 1))].into() };
    world.united.put(BUSINESS, "sku", offer).await.unwrap();
    let weights = async || {
        let (here, there) = (world.live(BUSINESS).await, world.live(OTHER).await);
        (here.map(|part| weight(&part.data.unwrap())), there.map(|part| weight(&part.data.unwrap())))
    };
    for round in 0..3 {
        world.ask(&format!("there {round}"), BUSINESS, OTHER).await;
        world.settle().await;
        assert_eq!(weights().await, (None, Some(100)));
        world.ask(&format!("back {round}"), OTHER, BUSINESS).await;
        world.settle().await;
        assert_eq!(weights().await, (Some(100), None));
    }
}

#[tokio::test]
async fn a_caller_does_not_revive_what_moved_away() {
    let world = World::new();
    let offer = UnitedOffer { basic: None, service: [(1, said(5, 100, "a", 1))].into() };
    world.united.put(BUSINESS, "sku", offer.clone()).await.unwrap();
    world.ask("there", BUSINESS, OTHER).await;
    world.settle().await;
    let refused = world.united.put(BUSINESS, "sku", offer.clone()).await;
    assert!(refused.is_err_and(|error| error.to_string().contains("business 8")));
    assert_eq!(world.live(BUSINESS).await, None);
    world.united.put(OTHER, "sku", offer).await.unwrap();
}

/// The seller is erased while the offer is two moves away: the home between keeps nothing either.
#[tokio::test]
async fn an_erasure_leaves_nothing_in_former_homes() {
    let world = World::new();
    world.map(1, Colour::Blue, 1, false).await;
    world.say(1, "first").await;
    world.ask("one", BUSINESS, OTHER).await;
    world.settle().await;
    world.ask("two", OTHER, THIRD).await;
    world.settle().await;
    assert_eq!(world.title(THIRD).await.as_deref(), Some("first"));
    world.erase_seller().await;
    world.settle().await;
    for business in [BUSINESS, OTHER, THIRD] {
        let row = world.united.store.get(&OFFERS, shard_of(business), (business, "sku")).await.unwrap();
        assert_eq!(row, None, "business {business}");
    }
}

/// A shop that had no word when the offer moved has one later, and is unmapped; then its seller is erased.
#[tokio::test]
async fn what_went_after_an_offer_is_ended_and_erased_where_it_lives() {
    let world = World::new();
    world.map(1, Colour::Blue, 1, false).await;
    world.map(2, Colour::Blue, 1, false).await;
    world.say(1, "first").await;
    world.ask("there", BUSINESS, OTHER).await;
    world.settle().await;
    world.say_in(2, 1, 1, "second").await;
    world.settle().await;
    assert!(world.part_of(OTHER, 2).await.is_some_and(|part| !part.removed));
    assert!(world.united.unmap_shop(BUSINESS, 2).await.unwrap());
    world.end(2).await;
    world.settle().await;
    assert!(world.part_of(OTHER, 2).await.is_some_and(|part| part.removed));
    assert!(world.part_of(OTHER, 1).await.is_some_and(|part| !part.removed));
    world.erase_seller_of(2, 1).await;
    world.settle().await;
    assert_eq!(world.part_of(OTHER, 2).await, None);
    assert!(world.live(OTHER).await.is_some());
}

/// Nothing is left at the former home, and yet its seller's words go on to the offer.
#[tokio::test]
async fn a_second_erasure_reaches_the_offer_too() {
    let world = World::new();
    world.map(1, Colour::Blue, 1, false).await;
    world.say(1, "first").await;
    world.ask("there", BUSINESS, OTHER).await;
    world.settle().await;
    world.erase_seller().await;
    world.settle().await;
    assert_eq!((world.row().await, world.part_of(OTHER, 1).await), (None, None));
    world.map(1, Colour::Blue, 3, false).await;
    world.say_in(1, 3, 1, "again").await;
    world.settle().await;
    assert!(world.live(OTHER).await.is_some());
    world.erase_seller_of(1, 3).await;
    world.settle().await;
    assert_eq!(world.part_of(OTHER, 1).await, None);
}

/// A part that came after the offer had left comes home with it, as its shop's.
#[tokio::test]
async fn what_went_after_an_offer_comes_home_as_its_shops() {
    for unmapped in [false, true] {
        let world = World::new();
        world.map(1, Colour::Blue, 1, false).await;
        world.map(2, Colour::Blue, 1, false).await;
        world.say(1, "first").await;
        world.ask("there", BUSINESS, OTHER).await;
        world.settle().await;
        world.say_in(2, 1, 1, "second").await;
        world.settle().await;
        if unmapped {
            world.united.unmap_shop(BUSINESS, 2).await.unwrap();
        }
        world.ask("back", OTHER, BUSINESS).await;
        world.settle().await;
        let epoch = world.part_of(BUSINESS, 2).await.map(|part| part.epoch);
        assert_eq!(epoch, (!unmapped).then_some(1));
        world.united.unmap_shop(BUSINESS, 2).await.unwrap();
        world.end(2).await;
        assert!(world.part_of(BUSINESS, 2).await.is_none_or(|part| part.removed));
        assert!(world.live(BUSINESS).await.is_some());
    }
}

/// An offer of many large parts goes in pieces, and is settled by the last.
#[tokio::test]
async fn a_large_offer_moves_too() {
    let world = World::new();
    let long = "x".repeat(350_000);
    for shop in 1..=8 {
        let offer = UnitedOffer { basic: None, service: [(shop, said(5, 100, &long, 1))].into() };
        world.united.put(BUSINESS, "sku", offer).await.unwrap();
    }
    world.ask("there", BUSINESS, OTHER).await;
    world.settle().await;
    for shop in 1..=8 {
        assert!(world.part_of(OTHER, shop).await.is_some_and(|part| !part.removed), "shop {shop}");
    }
    let open = MIGRATIONS_OPEN;
    let open = world.united.store.get(&open, shard_of(OTHER), (OTHER, "sku")).await.unwrap().unwrap();
    assert_eq!(open.parts.keys().copied().collect::<Vec<_>>(), (0..=8).collect::<Vec<_>>());
}
