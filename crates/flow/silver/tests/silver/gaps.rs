//! Retention overtakes the reader of the shipments: what was lost is read again from united, and never skipped in silence.

use std::collections::BTreeSet;
use std::time::Duration;

use cluster::work::run_due;
use kit::Shutdown;
use silver::consume::Shipments;
use silver::reread::Rereads;
use silver::tables::REREADS;
use silver::{ROLE, Silver};
use store::Tx;
use topics::{Message, Options, Position, Topics};
use united::shard_of;
use united::write::Writing;
use wire::united::Colour;

use crate::world::{BUSINESS, State, World, said};

const BLUE: Colour = Colour::Blue;

/// A topic that the world's shipments go to.
struct Wire<'a> {
    world: &'a World,
    topics: Topics,
    silver: Silver,
}

impl Wire<'_> {
    async fn publish(&self) {
        let sent = self.world.sent(model::topics::UNITED_OFFERS).await;
        let messages = sent.into_iter().map(|payload| Message::new(BUSINESS.to_string(), payload)).collect();
        self.topics.publish(model::topics::UNITED_OFFERS, messages).await.unwrap();
    }

    /// Reads until everything is applied.
    async fn consume(&self) {
        let shutdown = Shutdown::new();
        let (topics, stop) = (self.topics.clone(), shutdown.clone());
        let handler = Shipments(self.silver.clone());
        let consumer = tokio::spawn(async move {
            topics::consume::run(topics, model::topics::UNITED_OFFERS, ROLE, handler, stop).await;
        });
        loop {
            let lag = self.topics.lag(model::topics::UNITED_OFFERS, ROLE).await.unwrap();
            if lag.iter().all(|lag| lag.lag == 0) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        shutdown.call();
        consumer.await.unwrap();
    }

    /// Everything that is in the topic goes.
    async fn trim(&self) {
        let lag = self.topics.lag(model::topics::UNITED_OFFERS, ROLE).await.unwrap();
        let ends: Vec<_> =
            lag.iter().map(|lag| Position { partition: lag.partition, next: lag.ends.high }).collect();
        self.topics.trim(model::topics::UNITED_OFFERS, &ends).await.unwrap();
    }

    async fn erase(&self, sku: &str, shop: u32) {
        let erase = async |tx: &mut Tx| {
            let mut writing =
                Writing::begin(&self.world.united, tx, BUSINESS, [sku.to_owned()], [shop]).await?;
            writing.erase(sku, shop)?;
            writing.finish(tx).await
        };
        self.world.united.store.transact(shard_of(BUSINESS), erase).await.unwrap();
    }

    async fn reread(&self) -> usize {
        let now = self.world.now();
        run_due(&Rereads(self.silver.clone()), &[shard_of(BUSINESS)], now).await.unwrap()
    }
}

fn skus(state: &State) -> BTreeSet<&str> {
    state.silver.keys().map(|(sku, _)| sku.as_str()).collect()
}

#[tokio::test]
async fn a_gap_is_read_again_from_united() {
    let world = World::in_memory();
    let store = world.united.store.clone();
    let topics = Topics::alone(store, Options::default());
    topics.ensure(model::topics::UNITED_OFFERS, 4).await.unwrap();
    let wire = Wire { world: &world, topics, silver: Silver::new(world.united.clone()) };
    let write = async |sku: &str, shop: u32, at: i64, name: &str| {
        let sent = world.write(sku, shop, said(at, BLUE, name, 5), false).await;
        let messages = sent.into_iter().map(|payload| Message::new(BUSINESS.to_string(), payload)).collect();
        wire.topics.publish(model::topics::UNITED_OFFERS, messages).await.unwrap();
    };
    for sku in ["changed", "erased", "half", "quiet"] {
        write(sku, 1, 1, "first").await;
    }
    write("half", 2, 2, "stays").await;
    wire.consume().await;
    assert_eq!(wire.reread().await, 0, "nothing was lost");
    // Imported by hand: united never had it, and a gap says nothing of it.
    let hand = world.write("by hand", 1, said(1, BLUE, "mine", 5), false).await;
    let delivered: Vec<_> = silver::convert::read_batch(&hand[0]).unwrap();
    let delivered: Vec<_> = delivered.into_iter().map(silver::convert::Delivered::by_hand).collect();
    let now = world.now();
    world
        .transact(async |tx| silver::import::import(tx, &world.settings.import, &delivered, now).await)
        .await;
    world.transact(async |tx| Ok(tx.delete(&united::OFFERS, (BUSINESS, "by hand"))?)).await;

    // All of this is lost before anybody has read it: a change, a new offer, an offer and a part that were erased.
    write("changed", 1, 3, "second").await;
    write("new", 1, 3, "new").await;
    wire.erase("erased", 1).await;
    wire.erase("half", 1).await;
    wire.publish().await;
    wire.trim().await;
    write("later", 1, 9, "later").await;
    wire.consume().await;
    assert_eq!(world.rows(&REREADS).await.len(), 1, "the business is noted before the reader goes on");
    assert!(skus(&world.state().await).contains("later"), "and the reader went on");
    assert!(!skus(&world.state().await).contains("new"));

    assert!(wire.reread().await > 0);
    let state = world.state().await;
    assert_eq!(skus(&state), ["by hand", "changed", "half", "later", "new", "quiet"].into());
    let text = format!("{state:?}");
    assert!(text.contains("second"), "{text}");
    let half = &state.silver[&("half".to_owned(), "SUPPLIER".to_owned())];
    assert_eq!(half.services.keys().copied().collect::<Vec<_>>(), [2]);
    assert!(world.rows(&REREADS).await.is_empty());
    // The gap is behind the group: what comes now finds none.
    write("last", 1, 10, "last").await;
    wire.consume().await;
    assert_eq!(wire.reread().await, 0);
    assert!(skus(&world.state().await).contains("last"));
}
