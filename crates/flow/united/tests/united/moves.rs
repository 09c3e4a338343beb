//! An offer moves to another business and back, while its seller's words go after it.

use model::Status;
use store::{Range, Read as _, Tx};
use testing::{apply, record};
use united::moves::Moves;
use united::{MOVES_TOPIC, OFFERS, shard_of};
use wire::united::{Colour, MigrationRequest, Part, UnitedOffer};

use crate::world::{BUSINESS, OUTBOX, World, fed, said, weight};

const OTHER: u32 = 8;
const THIRD: u32 = 9;

impl World {
    /// The seller of shop 1 says a title, in this version of the offer.
    async fn say(&self, version: i64, title: &str) {
        self.tell(fed(1, version, title, Status::Active)).await;
    }

    async fn ask(&self, id: &str, source_business_id: u32, target_business_id: u32) {
        let (request_id, shop_sku) = (id.to_owned(), "sku".to_owned());
        let request = MigrationRequest { request_id, source_business_id, target_business_id, shop_sku };
        self.united.migrate(request).await.unwrap();
    }

    /// Takes the moves that a business has sent out of its outbox, and hands them over; says how many.
    async fn carry(&self, from: u32) -> usize {
        let take = async |tx: &mut Tx| {
            let mut sent = Vec::new();
            for ((seq,), row) in tx.scan(&OUTBOX, Range::all(1_000)).await? {
                tx.delete(&OUTBOX, (seq,))?;
                if row.topic == MOVES_TOPIC {
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

    async fn settle(&self) {
        while self.carry(BUSINESS).await + self.carry(OTHER).await + self.carry(THIRD).await > 0 {}
    }

    /// The part of shop 1 in a business, if the offer lives there.
    async fn live(&self, business: u32) -> Option<Part> {
        let key = (business, "sku");
        let row = self.united.store.get(&OFFERS, shard_of(business), key).await.unwrap()?;
        row.services.get(&1).filter(|part| !part.removed).cloned()
    }

    async fn title(&self, business: u32) -> Option<String> {
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
