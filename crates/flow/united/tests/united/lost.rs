//! Retention overtakes the readers of united's topics: moves are asked for again, mappings told again, and nothing is lost.

use std::time::Duration;

use cluster::work::run_due;
use prost::Message as _;
use store::{Range, Read as _, Tx};
use topics::consume::{Gap, Handler as _};
use united::moves::Moves;
use united::{GIVEN, MIGRATIONS, Retold, shard_of};
use wire::offers::Follow;
use wire::united::{Colour, MigrationState, UnitedOffer};

use crate::moves::{OTHER, THIRD};
use testing::OUTBOX;

use crate::world::{BUSINESS, World, said};

impl World {
    /// Everything that a business has sent is lost.
    async fn lose(&self, from: u32) {
        let lose = async |tx: &mut Tx| {
            for ((seq,), _) in tx.scan(&OUTBOX, Range::all(1_000)).await? {
                tx.delete(&OUTBOX, (seq,))?;
            }
            Ok::<_, united::Error>(())
        };
        self.united.store.transact(shard_of(from), lose).await.unwrap();
    }

    /// The reader of moves finds that some are missing.
    async fn find_gap(&self) {
        let topic = model::topics::UNITED_MOVES.to_owned();
        let gap = Gap { topic, partition: 0, partitions: 1, from: 0, to: 1 };
        Moves(self.united.clone()).gap(&gap).await.unwrap();
    }

    async fn state(&self, target: u32, id: &str) -> MigrationState {
        let row = self.united.store.get(&MIGRATIONS, shard_of(target), (target, id)).await.unwrap();
        row.unwrap().state()
    }

    async fn given(&self, business: u32) -> usize {
        let snapshot = self.united.store.snapshot(shard_of(business)).await.unwrap();
        snapshot.scan(&GIVEN, Range::all(100)).await.unwrap().len()
    }
}

#[tokio::test]
async fn a_lost_question_or_answer_is_asked_for_again() {
    // Lost is what the target has sent, what the source has sent, and the word that the offer is there.
    for lost in 0..3 {
        let world = World::new();
        world.map(1, Colour::Blue, 1, false).await;
        world.say(1, "first").await;
        world.ask("there", BUSINESS, OTHER).await;
        for step in 0..lost {
            world.carry(if step == 0 { OTHER } else { BUSINESS }).await;
        }
        world.lose(if lost == 1 { BUSINESS } else { OTHER }).await;
        world.settle().await;
        let is_taken = lost == 2;
        assert_eq!(world.live(OTHER).await.is_some(), is_taken, "{lost}");
        assert_eq!(world.given(BUSINESS).await, usize::from(lost > 0));
        world.find_gap().await;
        world.settle().await;
        // Parts may be among the lost: the shop is filled anew.
        world.end(1).await;
        world.say_in(1, 2, 1, "first").await;
        world.settle().await;
        assert_eq!(world.title(OTHER).await.as_deref(), Some("first"), "{lost}");
        assert_eq!(world.title(BUSINESS).await, None);
        assert_eq!(world.state(OTHER, "there").await, MigrationState::Shipped);
        assert_eq!(world.given(BUSINESS).await, 0, "what is there is kept no longer");
        // The gap is found once more, and nothing moves twice.
        world.find_gap().await;
        world.settle().await;
        assert_eq!(world.state(OTHER, "there").await, MigrationState::Shipped);
    }
}

/// The basic part as somebody wrote it goes along, the second time too.
#[tokio::test]
async fn what_is_sent_again_is_what_was_sent() {
    let world = World::new();
    let offer =
        UnitedOffer { basic: Some(said(5, 900, "b", 1)), service: [(1, said(5, 100, "a", 1))].into() };
    world.united.put(BUSINESS, "sku", offer).await.unwrap();
    world.ask("there", BUSINESS, OTHER).await;
    world.carry(OTHER).await;
    world.lose(BUSINESS).await;
    world.find_gap().await;
    world.settle().await;
    let row = world.united.offer_view(OTHER, "sku").await.unwrap().row.unwrap();
    assert!(row.basic.unwrap().own && !row.services[&1].removed);
}

/// The seller is erased while the answer is lost: nothing of theirs is sent again.
#[tokio::test]
async fn what_ended_on_its_way_is_not_sent_again() {
    for erased in [false, true] {
        let world = World::new();
        world.map(1, Colour::Blue, 1, false).await;
        world.say(1, "first").await;
        world.ask("there", BUSINESS, OTHER).await;
        world.carry(OTHER).await;
        world.lose(BUSINESS).await;
        if erased {
            world.erase_seller().await;
        } else {
            world.united.unmap_shop(BUSINESS, 1).await.unwrap();
            world.end(1).await;
        }
        world.settle().await;
        world.find_gap().await;
        world.settle().await;
        assert_eq!(world.live(OTHER).await, None, "{erased}");
        assert_eq!(world.state(OTHER, "there").await, MigrationState::Shipped);
    }
}

/// A part that went after an offer through two homes is lost: its shop is filled anew.
#[tokio::test]
async fn a_lost_part_is_asked_for_anew() {
    let world = World::new();
    world.map(1, Colour::Blue, 1, false).await;
    world.say(1, "first").await;
    world.ask("one", BUSINESS, OTHER).await;
    world.settle().await;
    world.ask("two", OTHER, THIRD).await;
    world.settle().await;
    world.say(2, "second").await;
    world.lose(BUSINESS).await;
    world.find_gap().await;
    let wishes = world.wishes().await;
    assert_eq!(wishes.iter().map(|wish| (wish.epoch, wish.gone)).collect::<Vec<_>>(), [(2, false)]);
}

/// The word on a mapping is lost: it is said again within the hour.
#[tokio::test]
async fn mappings_are_told_again() {
    let world = World::new();
    world.united.map_shop(BUSINESS, 1, "s", Colour::Blue).await.unwrap();
    world.united.map_shop(BUSINESS, 2, "s", Colour::Blue).await.unwrap();
    world.united.unmap_shop(BUSINESS, 2).await.unwrap();
    world.lose(BUSINESS).await;
    let retold = Retold(world.united.clone());
    let tell = async || {
        run_due(&retold, &[shard_of(BUSINESS)], world.united.clock.now()).await.unwrap();
        world.wishes().await.into_iter().map(|wish| (wish.follower, wish.epoch)).collect::<Vec<_>>()
    };
    let told = [(united::shops::follower(BUSINESS, 1), 1)];
    assert_eq!(tell().await, told);
    assert!(tell().await.is_empty(), "not at once again");
    world.united.clock.advance(Duration::from_secs(3_601));
    assert_eq!(tell().await, told);
}

impl World {
    /// What sellers' shards are told, taken out of the outbox.
    async fn wishes(&self) -> Vec<Follow> {
        self.transact(async |tx| {
            let mut wishes = Vec::new();
            for ((seq,), row) in tx.scan(&OUTBOX, Range::all(1_000)).await? {
                tx.delete(&OUTBOX, (seq,))?;
                if row.topic == model::topics::OFFERS_FOLLOW {
                    let payloads = row.messages.iter().map(|message| message.payload.as_slice());
                    wishes.extend(payloads.map(|payload| Follow::decode(payload).unwrap()));
                }
            }
            Ok(wishes)
        })
        .await
    }
}
