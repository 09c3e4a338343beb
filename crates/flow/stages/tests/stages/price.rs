//! Predicted prices: buckets are true of the active offers, and predictions follow them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use model::{Attribute, Content, Money, Offer, OfferId, Status, Value, value::Kind};
use offers::erase::SellerErasures;
use offers::write::{Expected, Verb, by_api};
use prost::Message as _;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use stages::builtin::price::{PriceChanges, PriceMoves};
use stages::tables::PRICE_POINTS;
use store::{Range, Read as _, Shard};
use testing::{Counted, record, trips};
use topics::consume::Handler;
use wire::offers::OfferChange;
use wire::stages::{PricePoint, PricePointMove};

use crate::simulation::waiting;
use crate::support::{World, content, seller};

const DAY: Duration = Duration::from_secs(86_400);

fn book(price: i64) -> Content {
    Content { category_id: "books".to_owned(), ..content("A book", price) }
}

fn phone(brand: &str, price: i64) -> Content {
    let attribute = |id: &str, kind: Kind| Attribute {
        id: id.to_owned(),
        values: vec![Value { kind: Some(kind) }],
        ..Attribute::default()
    };
    Content {
        category_id: "smartphones".to_owned(),
        attributes: vec![
            attribute("brand", Kind::Text(brand.to_owned())),
            attribute("storage", Kind::Number(128.0)),
        ],
        ..content("A phone", price)
    }
}

/// Takes what is in the outboxes to the consumers, as relay and topics do: in order per shard, once.
#[derive(Default)]
struct Carrier {
    /// How much of a shard's outbox was taken, by topic.
    taken: BTreeMap<(&'static str, Shard), usize>,
    /// Shards of buckets that something was written to.
    buckets: BTreeSet<Shard>,
    changes: VecDeque<Vec<u8>>,
    moves: VecDeque<Vec<u8>>,
}

impl Carrier {
    async fn collect(&mut self, world: &World) {
        let sellers = World::shards().into_iter();
        let senders: BTreeSet<_> = sellers.clone().chain(self.buckets.iter().copied()).collect();
        for (topic, shards) in [
            (model::topics::OFFERS_CHANGES, sellers.collect()),
            (model::topics::STAGES_PRICE_POINTS, senders),
        ] {
            for shard in shards {
                let sent = waiting(&world.offers.store, shard, topic).await;
                let taken = self.taken.entry((topic, shard)).or_default();
                let new = sent[*taken..].iter().cloned();
                *taken = sent.len();
                if topic == model::topics::OFFERS_CHANGES {
                    self.changes.extend(new);
                } else {
                    self.moves.extend(new);
                }
            }
        }
    }

    async fn change(&mut self, world: &World) {
        if let Some(payload) = self.changes.pop_front() {
            let handler = PriceChanges(world.offers.catalog.clone());
            self.buckets.insert(handler.decode(&record(0, "", payload.clone())).unwrap().0);
            apply(world, &handler, payload).await;
        }
    }

    async fn moved(&mut self, world: &World) {
        if let Some(payload) = self.moves.pop_front() {
            apply(world, &PriceMoves, payload).await;
        }
    }

    async fn all(&mut self, world: &World) {
        self.collect(world).await;
        while !self.changes.is_empty() || !self.moves.is_empty() {
            self.change(world).await;
            self.moved(world).await;
            if self.changes.is_empty() {
                self.collect(world).await;
            }
        }
    }
}

async fn apply<H: Handler>(world: &World, handler: &H, payload: Vec<u8>) {
    testing::apply(&world.offers.store, handler, &[record(0, "", payload)]).await.unwrap();
}

/// Which offer stands with which price in which bucket.
async fn points(world: &World) -> BTreeMap<i64, (String, i64)> {
    let mut found = BTreeMap::new();
    for shard in Shard::all() {
        let snapshot = world.offers.store.snapshot(shard).await.unwrap();
        for ((bucket, _), row) in snapshot.scan(&PRICE_POINTS, Range::all(1_000)).await.unwrap() {
            for point in row.points.into_iter().filter(|point| point.minor != 0) {
                let before = found.insert(point.offer_id, (bucket.clone(), point.minor));
                assert_eq!(before, None, "offer {} stands in two places", point.offer_id);
            }
        }
    }
    found
}

async fn create(world: &World, content: Content) -> Offer {
    world.offers.create(&seller(1), content, &by_api("test", "create")).await.unwrap()
}

async fn edit(world: &World, id: i64, content: Content) {
    let (id, actor) = (OfferId::from_raw(id).unwrap(), by_api("test", "edit"));
    world.offers.edit(id, Expected::Any, &actor, |_| Ok(content.clone())).await.unwrap();
}

async fn act(world: &World, id: i64, verb: Verb) {
    let id = OfferId::from_raw(id).unwrap();
    world.offers.act(id, verb, Expected::Any, &by_api("test", "act")).await.unwrap();
}

async fn look_at_all(world: &World) {
    world.stages.traverse("price", 0).await.unwrap();
    world.pass(Duration::from_secs(20)).await;
    world.rest().await;
    world.stages.maintain_once().await.unwrap();
}

async fn predicted(world: &World, id: i64) -> Option<(i64, u32)> {
    let offer = world.read(id).await;
    offer.predicted_price.map(|price| (price.minor, offer.predicted_from))
}

#[tokio::test(start_paused = true)]
async fn a_prediction_is_what_like_offers_cost() {
    let (world, mut carrier) = (World::with_builtins().await, Carrier::default());
    let mut ids = Vec::new();
    for price in [1_000, 1_100, 1_200, 1_300, 90_000] {
        ids.push(create(&world, book(price)).await.id);
    }
    create(&world, phone("acme", 1_200)).await;
    world.rest().await;
    carrier.all(&world).await;
    look_at_all(&world).await;
    assert_eq!(predicted(&world, ids[0]).await, None, "four others are too few");
    let sixth = create(&world, book(5)).await.id;
    world.rest().await;
    assert_eq!(predicted(&world, sixth).await, Some((1_200, 5)), "a new offer by hand gets one at once");
    carrier.all(&world).await;
    world.pass(DAY).await;
    world.stages.maintain_once().await.unwrap();
    world.pass(Duration::from_secs(20)).await;
    world.rest().await;
    let others = predicted(&world, ids[0]).await;
    assert_eq!(
        others,
        Some((1_200, 5)),
        "the others with the look of the next day, their own price left out"
    );
    let events = world.offers.events(OfferId::from_raw(ids[0]).unwrap(), None, 9).await.unwrap();
    let field = &events[0].row.fields[0];
    assert_eq!((field.path.as_str(), field.to.as_deref()), ("predicted_price", Some("12.00 RUB (5)")));
    assert_eq!((world.rows("pairs").await, world.rows("timers").await), (0, 0), "nothing is kept per offer");
}

#[tokio::test(start_paused = true)]
async fn a_prediction_is_written_only_when_it_moved() {
    let (world, mut carrier) = (World::with_builtins().await, Carrier::default());
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(create(&world, book(10_000)).await.id);
    }
    carrier.all(&world).await;
    look_at_all(&world).await;
    assert_eq!(predicted(&world, ids[0]).await, Some((10_000, 5)));
    let version = world.read(ids[0]).await.version;
    for id in &ids[1..] {
        edit(&world, *id, book(10_200)).await;
    }
    world.rest().await;
    carrier.all(&world).await;
    look_at_all(&world).await;
    assert_eq!(world.read(ids[0]).await.version, version, "two percent are nothing");
    for id in &ids[1..] {
        edit(&world, *id, book(10_400)).await;
    }
    world.rest().await;
    carrier.all(&world).await;
    look_at_all(&world).await;
    assert_eq!(predicted(&world, ids[0]).await, Some((10_400, 5)));
    for id in &ids[1..3] {
        act(&world, *id, Verb::Withdraw).await;
    }
    world.rest().await;
    carrier.all(&world).await;
    look_at_all(&world).await;
    assert_eq!(predicted(&world, ids[0]).await, None, "three others are left");
}

#[tokio::test(start_paused = true)]
async fn offers_that_are_not_active_any_more_leave_their_buckets() {
    let (world, mut carrier) = (World::with_builtins().await, Carrier::default());
    let mut ids = Vec::new();
    for price in 1..=5 {
        ids.push(create(&world, phone("acme", price)).await.id);
    }
    carrier.all(&world).await;
    assert_eq!(points(&world).await.len(), 5);
    act(&world, ids[0], Verb::Withdraw).await;
    act(&world, ids[1], Verb::Delete).await;
    edit(&world, ids[2], phone("bolt", 3)).await;
    edit(&world, ids[3], Content { price: None, ..phone("acme", 4) }).await;
    world.rest().await;
    carrier.all(&world).await;
    let found = points(&world).await;
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), {
        let mut left = vec![ids[2], ids[4]];
        left.sort_unstable();
        left
    });
    assert!(found[&ids[2]].0.contains("brand=bolt") && found[&ids[4]].0.contains("brand=acme"));
    world.offers.erase(&seller(1), "test").await.unwrap();
    let erasures = SellerErasures(world.offers.clone());
    cluster::work::run_due(&erasures, &World::shards(), world.clock.now()).await.unwrap();
    carrier.all(&world).await;
    assert_eq!(points(&world).await, BTreeMap::new(), "nothing of an erased seller stays");
}

#[tokio::test(start_paused = true)]
async fn a_look_at_all_offers_mends_buckets() {
    let (world, mut carrier) = (World::with_builtins().await, Carrier::default());
    let mut ids = Vec::new();
    for price in 1..=6 {
        ids.push(create(&world, book(price * 100)).await.id);
    }
    world.rest().await;
    // As if they were from before the stage: nobody has heard of them.
    carrier.collect(&world).await;
    carrier.changes.clear();
    look_at_all(&world).await;
    carrier.all(&world).await;
    assert_eq!(points(&world).await.len(), 6);
    look_at_all(&world).await;
    assert_eq!(predicted(&world, ids[0]).await, Some((400, 5)));
    carrier.collect(&world).await;
    assert_eq!(carrier.moves.len(), 0, "what is there is not sent again");
}

/// Changes and moves of random histories reach buckets of different shards in any order.
#[tokio::test(start_paused = true)]
async fn buckets_are_true_whatever_the_order_of_delivery() {
    for seed in 0..30 {
        let (world, mut carrier) = (World::with_builtins().await, Carrier::default());
        let mut dice = StdRng::seed_from_u64(seed);
        let mut ids = Vec::new();
        for _ in 0..4 {
            ids.push(create(&world, phone("acme", 100)).await.id);
        }
        for _ in 0..40 {
            let id = ids[dice.random_range(0..ids.len())];
            let status = world.read(id).await.status();
            match dice.random_range(0..4) {
                0 if status == Status::Active => act(&world, id, Verb::Withdraw).await,
                0 if status == Status::Inactive => act(&world, id, Verb::Activate).await,
                1 => edit(&world, id, book(dice.random_range(1..9))).await,
                _ => {
                    let brand = ["acme", "bolt", "core"][dice.random_range(0..3)];
                    edit(&world, id, phone(brand, dice.random_range(1..9))).await;
                }
            }
            carrier.collect(&world).await;
            for _ in 0..dice.random_range(0..3) {
                carrier.change(&world).await;
            }
            // Moves may overtake each other: they come from different shards.
            if dice.random_bool(0.3) && !carrier.moves.is_empty() {
                let late = dice.random_range(0..carrier.moves.len());
                carrier.moves.rotate_left(late);
                carrier.moved(&world).await;
            }
        }
        carrier.all(&world).await;
        let mut expected = BTreeMap::new();
        for id in &ids {
            let offer = world.read(*id).await;
            if offer.status() == Status::Active {
                expected.insert(*id, offer.content.unwrap().price.map_or(0, |price: Money| price.minor));
            }
        }
        let found: BTreeMap<_, _> =
            points(&world).await.into_iter().map(|(id, (_, minor))| (id, minor)).collect();
        assert_eq!(found, expected, "seed {seed}");
    }
}

#[tokio::test]
async fn round_trips_do_not_grow_with_what_is_applied() {
    let world = World::new(Vec::new()).await;
    let (counted, store) = Counted::over(&world.offers.store);
    let change = |id: i64, brand: &str| {
        let before = Offer { id, content: Some(phone("acme", 5)), ..Offer::default() };
        let after = Offer { content: Some(phone(brand, 5)), ..before.clone() };
        let [before, after] = [before, after].map(|mut offer| {
            offer.set_status(Status::Active);
            offer
        });
        let fields = offers::diff::diff(&before, &after);
        let change = OfferChange { offer: Some(after), version: 2, fields, ..OfferChange::default() };
        record(0, "", change.encode_to_vec())
    };
    let changes: Vec<_> = (1..=40).map(|id| change(id, "bolt")).collect();
    let handler = PriceChanges(world.offers.catalog.clone());
    let one = trips(&store, &counted, &handler, &changes[..1]).await;
    let many = trips(&store, &counted, &handler, &changes[1..]).await;
    assert!(many <= one + 1 && one <= 8, "changes: {one} for one, {many} for many");
    let moved = |offer_id: i64| {
        let point = PricePoint { offer_id, version: 3, minor: 0, at: 0 };
        let moved = PricePointMove { bucket: "smartphones|RUB".to_owned(), point: Some(point) };
        record(0, "", moved.encode_to_vec())
    };
    let moves: Vec<_> = (1..=40).map(moved).collect();
    let one = trips(&store, &counted, &PriceMoves, &moves[..1]).await;
    let many = trips(&store, &counted, &PriceMoves, &moves[1..]).await;
    assert!(many <= one + 1 && one <= 8, "moves: {one} for one, {many} for many");
}
