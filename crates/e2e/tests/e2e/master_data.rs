//! V2 and V3: sellers, offers, shops, erasures, migrations and lost messages at random; in the end the united offers are the live offers of
//! mapped sellers, each in one home, and silver and gold are what they ship.
//!
//! Everything runs in one process on the memory engine. What a relay and consumers do is done here by hand, so that messages
//! of different shards come in any order, and come twice.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use catalog::Catalog;
use cluster::work::run_due;
use kit::{Clock, Timestamp};
use model::{Content, Money, OfferId, Status};
use offers::write::{Expected, Verb, by_api};
use offers::{Offers, Preset};
use prost::Message as _;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use silver::Silver;
use silver::tables::{EXISTENCE, GOLD, SSKU};
use spine::Base;
use store::{Range, Shard, Store};
use testing::{OUTBOX, OutboxMessage};
use topics::Record;
use topics::consume::{Gap, Handler};
use united::{OFFERS, United, shard_of};
use wire::united::{Colour, MigrationDone, MigrationRequest, Part};

const BEGINNING: Timestamp = Timestamp(1_790_000_000_000_000);
const SELLERS: [&str; 3] = ["north", "south", "west"];
const BUSINESSES: [u32; 2] = [7, 8];
const SHOPS: [u32; 2] = [1, 2];

struct World {
    offers: Offers,
    united: United,
    silver: Silver,
    rng: StdRng,
    shards: Vec<Shard>,
    done: Vec<String>,
    requests: usize,
    titles: usize,
    /// Sellers who have written nothing since they were erased.
    erased: BTreeSet<&'static str>,
}

impl World {
    fn new(seed: u64) -> Self {
        let store = Store::memory(testing::schema([offers::tables(), united::tables(), silver::tables()]));
        let base = Base::alone(store, Clock::manual(BEGINNING));
        let offers = Offers::new(&base, offers::Settings::default(), Catalog::shipped());
        let united = United::new(&base, Catalog::shipped());
        let owners = SELLERS.iter().map(|seller| Shard::of(seller));
        let shards: BTreeSet<Shard> = owners.chain(BUSINESSES.iter().map(|id| shard_of(*id))).collect();
        Self {
            offers,
            silver: Silver::new(united.clone()),
            united,
            rng: StdRng::seed_from_u64(seed),
            shards: shards.into_iter().collect(),
            done: Vec::new(),
            requests: 0,
            titles: 0,
            erased: BTreeSet::new(),
        }
    }

    fn store(&self) -> &Store {
        &self.united.store
    }

    /// Carries the first row of some shard's outbox to who reads it; says whether there was one.
    async fn relay(&mut self) -> bool {
        let heads = self.store().scan_shards(&OUTBOX, &self.shards, Range::all(1)).await.unwrap();
        if heads.is_empty() {
            return false;
        }
        let (shard, key, row) = heads[self.rng.random_range(0..heads.len())].clone();
        let times = if self.rng.random_bool(0.2) { 2 } else { 1 };
        for time in 0..times {
            for message in &row.messages {
                self.deliver(&row.topic, message, time == 0).await;
            }
        }
        self.store().transact(shard, async |tx| tx.delete(&OUTBOX, key)).await.unwrap();
        true
    }

    async fn deliver(&mut self, topic: &str, message: &OutboxMessage, is_first: bool) {
        let united = self.united.clone();
        match topic {
            model::topics::OFFERS_FOLLOW => self.hand(&offers::follow::Follows, message).await,
            model::topics::UNITED_PARTS => self.hand(&united::receive::FollowedParts(united), message).await,
            model::topics::MIGRATIONS_REQUESTS => self.hand(&united::moves::Requests(united), message).await,
            model::topics::UNITED_MOVES => self.hand(&united::moves::Moves(united), message).await,
            model::topics::UNITED_OFFERS => {
                self.hand(&silver::consume::Shipments(self.silver.clone()), message).await;
            }
            model::topics::MIGRATIONS_DONE if is_first => {
                self.done.push(MigrationDone::decode(message.payload.as_slice()).unwrap().request_id);
            }
            _ => {}
        }
    }

    /// A message of a topic is lost before it is read, and its reader hears of the gap.
    async fn lose(&mut self) {
        let heads = self.store().scan_shards(&OUTBOX, &self.shards, Range::all(1)).await.unwrap();
        let lossy = [model::topics::UNITED_OFFERS, model::topics::UNITED_PARTS];
        let Some((shard, key, row)) = heads.into_iter().find(|(.., row)| lossy.contains(&row.topic.as_str()))
        else {
            return;
        };
        self.store().transact(shard, async |tx| tx.delete(&OUTBOX, key)).await.unwrap();
        let gap = Gap { topic: row.topic.clone(), partition: 0, partitions: 1, from: 1, to: 2 };
        if row.topic == model::topics::UNITED_OFFERS {
            silver::consume::Shipments(self.silver.clone()).gap(&gap).await.unwrap();
        } else {
            united::receive::FollowedParts(self.united.clone()).gap(&gap).await.unwrap();
        }
    }

    async fn hand<H: Handler>(&self, handler: &H, message: &OutboxMessage) {
        let record = Record {
            partition: 0,
            offset: 0,
            key: message.key.clone(),
            payload: message.payload.clone().into(),
            headers: Vec::new(),
            timestamp: BEGINNING,
        };
        let (shard, decoded) = handler.decode(&record).unwrap();
        let body = async |tx: &mut store::Tx| handler.apply(tx, vec![decoded]).await;
        self.store().transact(shard, body).await.unwrap();
    }

    async fn work(&self) -> usize {
        self.united.clock.advance(Duration::from_secs(1));
        let now = self.united.clock.now();
        let walks = offers::follow::FollowerWalks(self.offers.clone());
        let erasures = offers::erase::SellerErasures(self.offers.clone());
        let queued = silver::Queued::new(self.silver.clone());
        let mut worked = run_due(&walks, &self.shards, now).await.unwrap();
        worked += run_due(&erasures, &self.shards, now).await.unwrap();
        worked += run_due(&united::Endings(self.united.clone()), &self.shards, now).await.unwrap();
        worked += run_due(&silver::Debts(self.silver.clone()), &self.shards, now).await.unwrap();
        worked += run_due(&silver::reread::Rereads(self.silver.clone()), &self.shards, now).await.unwrap();
        worked + run_due(&queued, &self.shards, now).await.unwrap()
    }

    async fn settle(&mut self) {
        loop {
            let mut moved = false;
            while self.relay().await {
                moved = true;
            }
            if self.work().await == 0 && !moved {
                return;
            }
        }
    }

    fn seller(&mut self) -> &'static str {
        SELLERS[self.rng.random_range(0..SELLERS.len())]
    }

    fn title(&mut self, seller: &str) -> Content {
        self.titles += 1;
        let price = Money { minor: self.rng.random_range(1..1_000), currency: "RUB".into() };
        let title = format!("{seller} {}", self.titles % 5);
        Content { title, price: Some(price), ..Content::default() }
    }

    async fn live(&self, seller: &str) -> Vec<model::Offer> {
        self.offers.page(seller, Preset::All, None, 1_000).await.unwrap().0
    }

    async fn change_offer(&mut self) {
        let seller = self.seller();
        self.erased.remove(seller);
        let listed = self.live(seller).await;
        if listed.is_empty() || self.rng.random_bool(0.3) {
            let content = self.title(seller);
            self.offers.create(seller, content, &by_api("test", "create")).await.unwrap();
            return;
        }
        let id = OfferId::from_raw(listed[self.rng.random_range(0..listed.len())].id).unwrap();
        if self.rng.random_bool(0.6) {
            let content = self.title(seller);
            let edit = |_: &model::Offer| Ok(content.clone());
            // An offer in some states cannot be edited; then nothing changes.
            drop(self.offers.edit(id, Expected::Any, &by_api("test", "edit"), edit).await);
        } else {
            let verbs = [Verb::Withdraw, Verb::Activate, Verb::SellElsewhere, Verb::Delete];
            let verb = verbs[self.rng.random_range(0..verbs.len())];
            drop(self.offers.act(id, verb, Expected::Any, &by_api("test", verb.reason())).await);
        }
    }

    async fn map(&mut self, business: u32, seller: &str) {
        let shop = SHOPS[self.rng.random_range(0..SHOPS.len())];
        if self.rng.random_bool(0.3) {
            self.united.unmap_shop(business, shop).await.unwrap();
        } else {
            let colour = [Colour::Blue, Colour::Dbs][self.rng.random_range(0..2)];
            self.united.map_shop(business, shop, seller, colour).await.unwrap();
        }
    }

    async fn step(&mut self, migrates: bool) {
        self.united.clock.advance(Duration::from_micros(self.rng.random_range(1..1_000)));
        match self.rng.random_range(0..20) {
            0..=7 => self.change_offer().await,
            8..=9 => {
                let business = BUSINESSES[self.rng.random_range(0..2)];
                let at = self.rng.random_range(0..SELLERS.len());
                // With migrations a seller has one business, so that every offer has one home.
                let business = if migrates { BUSINESSES[at % 2] } else { business };
                self.map(business, SELLERS[at]).await;
            }
            10 if self.rng.random_bool(0.3) => {
                let seller = self.seller();
                self.offers.erase(seller, "test").await.unwrap();
                self.erased.insert(seller);
            }
            11 if migrates => self.migrate().await,
            12 => drop(self.work().await),
            13 if !migrates && self.rng.random_bool(0.3) => self.lose().await,
            _ => drop(self.relay().await),
        }
    }

    async fn migrate(&mut self) {
        let seller = self.seller();
        let listed = self.live(seller).await;
        let Some(offer) = listed.first() else { return };
        let at = self.rng.random_range(0..2);
        self.requests += 1;
        let request = MigrationRequest {
            request_id: format!("r{}", self.requests),
            source_business_id: BUSINESSES[at],
            target_business_id: BUSINESSES[1 - at],
            shop_sku: united::fill::shop_sku(offer),
        };
        self.united.migrate(request).await.unwrap();
    }

    /// (business, shop, sku) → name, of all parts that are live.
    async fn parts(&self) -> BTreeMap<(u32, u32, String), String> {
        let mut parts = BTreeMap::new();
        for (_, (business, sku), row) in
            self.store().scan_shards(&OFFERS, &self.shards, Range::all(10_000)).await.unwrap()
        {
            for (shop, part) in row.services.iter().filter(|(_, part)| !part.removed) {
                parts.insert((business, *shop, sku.clone()), name(part));
            }
        }
        parts
    }

    /// What the mapped shops must have.
    async fn expected(&self) -> BTreeMap<(u32, u32, String), String> {
        let mut expected = BTreeMap::new();
        for business in BUSINESSES {
            for (shop, row) in self.united.shops(business).await.unwrap() {
                if row.gone {
                    continue;
                }
                for offer in self.live(&row.seller_id).await {
                    let is_live =
                        matches!(offer.status(), Status::Active | Status::Inactive | Status::Banned);
                    if is_live {
                        let title = offer.content.clone().unwrap_or_default().title;
                        expected.insert((business, shop, united::fill::shop_sku(&offer)), title);
                    }
                }
            }
        }
        expected
    }

    async fn check_silver(&self) {
        let parts = self.parts().await;
        let markers = self.store().scan_shards(&EXISTENCE, &self.shards, Range::all(10_000)).await.unwrap();
        let markers: BTreeSet<_> =
            markers.into_iter().map(|(_, (business, sku, shop), ())| (business, shop, sku)).collect();
        assert_eq!(markers, parts.keys().cloned().collect(), "silver exists where united is live");
        let gold = self.store().scan_shards(&GOLD, &self.shards, Range::all(10_000)).await.unwrap();
        let made: BTreeSet<_> = gold.into_iter().map(|(_, key, _)| key).collect();
        assert_eq!(made, parts.into_keys().map(|(business, _, sku)| (business, sku)).collect());
    }

    /// Nothing that an erased seller wrote is anywhere.
    async fn check_erased(&self) {
        for seller in &self.erased {
            let united = self.store().scan_shards(&OFFERS, &self.shards, Range::all(10_000)).await.unwrap();
            let silver = self.store().scan_shards(&SSKU, &self.shards, Range::all(10_000)).await.unwrap();
            let gold = self.store().scan_shards(&GOLD, &self.shards, Range::all(10_000)).await.unwrap();
            let text = format!("{united:?} {silver:?} {gold:?}");
            assert!(!text.contains(&format!("{seller} ")), "{seller} was erased: {text}");
        }
    }
}

fn name(part: &Part) -> String {
    let content = part.data.as_ref().and_then(|data| data.content.as_ref());
    let original = content.and_then(|content| content.partner.as_ref()?.original.as_ref());
    original.and_then(|original| original.name.as_ref()?.value.clone()).unwrap_or_default()
}

#[tokio::test]
async fn united_is_the_live_offers_of_mapped_sellers() {
    for seed in 0..40 {
        println!("seed {seed}");
        let mut world = World::new(seed);
        for _ in 0..120 {
            world.step(false).await;
        }
        world.settle().await;
        assert_eq!(world.parts().await, world.expected().await);
        world.check_silver().await;
        world.check_erased().await;
    }
}

#[tokio::test]
async fn an_offer_has_one_home_and_a_request_one_answer() {
    for seed in 1_000..1_040 {
        println!("seed {seed}");
        let mut world = World::new(seed);
        for _ in 0..120 {
            world.step(true).await;
        }
        world.settle().await;
        let mut answered = world.done.clone();
        answered.sort();
        answered.dedup();
        assert_eq!(answered.len(), world.done.len(), "a request has one answer");
        assert_eq!(answered.len(), world.requests, "every request has its answer");
        let homes =
            |parts: BTreeMap<(u32, u32, String), String>| -> BTreeMap<(u32, String), Vec<(u32, String)>> {
                let mut homes: BTreeMap<_, Vec<_>> = BTreeMap::new();
                for ((business, shop, sku), name) in parts {
                    homes.entry((shop, sku)).or_default().push((business, name));
                }
                homes
            };
        let (found, expected) = (homes(world.parts().await), homes(world.expected().await));
        for (key, homes) in &found {
            assert_eq!(homes.len(), 1, "{key:?} lives in {homes:?}");
        }
        let names = |homes: BTreeMap<(u32, String), Vec<(u32, String)>>| -> BTreeMap<_, _> {
            homes.into_iter().map(|(key, homes)| (key, homes[0].1.clone())).collect()
        };
        assert_eq!(names(found), names(expected));
        world.check_silver().await;
        world.check_erased().await;
    }
}
