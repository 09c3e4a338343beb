//! V1, V4 and V5: whatever the order, repetition, batching and failures, silver is the fold of the newest parts, draining gold
//! ships nothing, and nothing is owed that is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use silver::convert::{Delivered, read_batch};
use silver::ssku::{SourceType, existing_shops, is_supported, removal};
use silver::steps::detect::source_type;
use silver::steps::{DbsMode, Rules};
use silver::{debt, gold, import};
use united::shard_of;
use wire::silver::SskuRow;
use wire::united::{Colour, OfferKey, UnitedOffer};

use crate::world::{BUSINESS, World, said};

const SKUS: [&str; 2] = ["a", "b"];
const SHOPS: [u32; 3] = [1, 2, 3];

struct Run {
    world: World,
    rng: StdRng,
    messages: Vec<Vec<u8>>,
    /// What a shop said last cannot be imported.
    bad: BTreeSet<(&'static str, u32)>,
    tick: i64,
}

impl Run {
    fn new(seed: u64, rules: Rules) -> Self {
        let mut world = World::in_memory();
        world.settings.import = rules;
        let rng = StdRng::seed_from_u64(seed);
        Self { world, rng, messages: Vec::new(), bad: BTreeSet::new(), tick: 0 }
    }

    async fn write(&mut self, colours: &[Colour]) {
        let (sku, shop) = (SKUS[self.rng.random_range(0..2)], SHOPS[self.rng.random_range(0..3)]);
        let weight = if self.rng.random_bool(0.15) { -1 } else { self.rng.random_range(0..3) };
        let colour = colours[self.rng.random_range(0..colours.len())];
        let removed = self.rng.random_bool(0.2);
        self.say(sku, shop, colour, weight, removed).await;
    }

    async fn say(&mut self, sku: &'static str, shop: u32, colour: Colour, weight: i64, removed: bool) {
        self.tick += 1;
        let name = ["x", "y", "z"][self.rng.random_range(0..3)];
        let at = self.tick + self.rng.random_range(-3..3);
        let sent = self.world.write(sku, shop, said(at, colour, name, weight), removed).await;
        self.messages.extend(sent);
        if weight < 0 {
            self.bad.insert((sku, shop));
        } else {
            self.bad.remove(&(sku, shop));
        }
    }

    /// Everything that was said can be imported in the end.
    async fn mend(&mut self) {
        for (sku, shop) in self.bad.clone() {
            self.say(sku, shop, Colour::Blue, 5, false).await;
        }
    }

    /// Delivers some messages in batches, some of them to a process that dies before its commit.
    async fn deliver(&mut self, mut messages: Vec<Vec<u8>>) {
        messages.shuffle(&mut self.rng);
        while !messages.is_empty() {
            let size = self.rng.random_range(1..=messages.len().min(4));
            let batch: Vec<_> = messages.drain(..size).collect();
            if self.rng.random_bool(0.1) {
                self.die(&batch).await;
            }
            if self.rng.random_bool(0.2) {
                self.world.import(&batch).await;
            }
            self.world.import(&batch).await;
            match self.rng.random_range(0..4) {
                0 => self.drain().await,
                1 => {
                    self.world.united.clock.advance(Duration::from_secs(self.rng.random_range(0..20)));
                    self.world.import_again().await;
                }
                _ => {}
            }
            self.check_debts().await;
        }
    }

    async fn die(&self, batch: &[Vec<u8>]) {
        let delivered: Vec<Delivered> =
            batch.iter().flat_map(|message| read_batch(message).unwrap()).collect();
        let (now, before) = (self.world.now(), self.world.state().await);
        let body = async |tx: &mut store::Tx| {
            import::import(tx, &self.world.settings.import, &delivered, now).await?;
            Err::<(), _>(silver::Error::Invalid("killed".to_owned()))
        };
        self.world.united.store.transact(shard_of(BUSINESS), body).await.unwrap_err();
        assert_eq!(self.world.state().await, before, "nothing is half saved");
    }

    /// V4.
    async fn drain(&self) {
        self.world.drain_gold().await;
        assert!(
            self.world.sent(model::topics::UNITED_OFFERS).await.is_empty(),
            "draining gold ships nothing"
        );
    }

    /// V5.
    async fn check_debts(&self) {
        let state = self.world.state().await;
        for (sku, owed) in &state.failures {
            let row = state.silver.iter().find(|((of, _), _)| of == sku).map(|(_, row)| row);
            assert!(!debt::is_covered(&owed.part, row), "{sku} owes what is stored: {owed:?}");
        }
        assert_eq!(state.due, state.failures.values().filter(|owed| !owed.parked).count());
    }

    async fn settle(&mut self) {
        for _ in 0..50 {
            self.world.united.clock.advance(Duration::from_secs(4_000));
            self.world.import_again().await;
        }
        self.check_debts().await;
    }

    /// Silver as it must be, from united alone and from which messages there were.
    async fn check(&self) {
        let state = self.world.state().await;
        assert!(state.failures.is_empty(), "{:?}", state.failures);
        let keys = SKUS.map(|sku| OfferKey { business_id: BUSINESS, shop_sku: sku.to_owned() });
        let united = self.world.united.get(&keys).await.unwrap();
        let mut expected: BTreeMap<(String, String), SskuRow> = BTreeMap::new();
        let mut existence = BTreeSet::new();
        for (sku, offer) in SKUS.iter().zip(united) {
            let Some(row) = offer.and_then(|offer| self.expected(sku, &offer)) else { continue };
            existence.extend(existing_shops(&row).map(|shop| ((*sku).to_owned(), shop)));
            expected.insert(((*sku).to_owned(), source_type(&row).name().to_owned()), row);
        }
        let silver: BTreeMap<_, _> = state
            .silver
            .iter()
            .map(|(key, row)| (key.clone(), SskuRow { removed_at: 0, ..row.clone() }))
            .collect();
        assert_eq!(silver, expected);
        assert_eq!(state.existence, existence);
        let queued: BTreeSet<_> = expected.keys().map(|(sku, _)| sku.clone()).collect();
        assert_eq!(state.erp_queue, queued, "ERP was never told, so all that ever changed waits");

        self.drain().await;
        let state = self.world.state().await;
        assert!(state.gold_queue.is_empty());
        let gold: BTreeMap<_, _> = state.gold.into_iter().map(|(sku, row)| (sku, row.value)).collect();
        let made = expected.iter().map(|((sku, source), row)| {
            let source = if source == "DBS" { SourceType::Dbs } else { SourceType::Supplier };
            (sku.clone(), gold::make(&self.world.settings.gold, &[(source, row)]))
        });
        assert_eq!(gold, made.filter(|(_, values)| !values.is_empty()).collect());
    }

    /// The newest parts, if any message made us keep the SSKU.
    fn expected(&self, sku: &str, offer: &UnitedOffer) -> Option<SskuRow> {
        let rules = &self.world.settings.import;
        let is_taken =
            |colour: Colour| colour == Colour::Blue || (colour == Colour::Dbs && rules.takes_dbs(BUSINESS));
        let all = self.messages.iter().flat_map(|message| read_batch(message).unwrap());
        let of_sku: Vec<Delivered> = all.filter(|delivered| delivered.key.shop_sku == sku).collect();
        let has_failed = of_sku.iter().any(|delivered| delivered.ssku.is_err());
        let newest = Delivered::of(offer).unwrap().ssku.unwrap();
        let good = of_sku.iter().filter_map(|delivered| delivered.ssku.as_ref().ok());
        let taken = good.chain(has_failed.then_some(&newest)).flat_map(|ssku| ssku.services.values());
        let is_kept = taken.into_iter().any(|part| is_taken(part.colour()));
        let settled = |part: &wire::silver::Part| {
            if is_supported(part.colour()) { part.clone() } else { removal(part) }
        };
        is_kept.then(|| SskuRow {
            basic: newest.basic.clone(),
            services: newest.services.iter().map(|(shop, part)| (*shop, settled(part))).collect(),
            version: newest.version(),
            removed_at: 0,
        })
    }
}

/// All colours, all modes; united stands still while its shipments arrive anyhow.
#[tokio::test]
async fn silver_is_the_fold_of_the_newest_parts() {
    let colours = [Colour::Blue, Colour::Dbs, Colour::White, Colour::Blue];
    let some = Rules { dbs_mode: DbsMode::BlueAndSomeDbs, ..Rules::default() };
    let ranged = Rules { dbs_ranges: vec![(BUSINESS, BUSINESS + 9)], ..some.clone() };
    for seed in 0..150 {
        let rules = [Rules::default(), some.clone(), ranged.clone()][seed as usize % 3].clone();
        let mut run = Run::new(seed, rules);
        // Few colours make histories in which an SSKU is never kept, or only for a moment.
        let first = run.rng.random_range(0..3);
        for _ in 0..run.rng.random_range(1..12) {
            let last = run.rng.random_range(first..4);
            run.write(&colours[first..=last]).await;
        }
        run.mend().await;
        // Some are lost at first, and all come again.
        let mut some = run.messages.clone();
        some.retain(|_| run.rng.random_bool(0.7));
        run.deliver(some).await;
        run.deliver(run.messages.clone()).await;
        run.settle().await;
        println!("seed {seed}");
        run.check().await;
    }
}

/// Writes and deliveries take turns.
#[tokio::test]
async fn and_so_it_is_while_united_changes() {
    for seed in 1_000..1_060 {
        let mut run = Run::new(seed, Rules::default());
        for _ in 0..4 {
            for _ in 0..run.rng.random_range(1..4) {
                run.write(&[Colour::Blue, Colour::Dbs]).await;
            }
            let count = run.messages.len();
            let newest = run.messages[count - count.min(3)..].to_vec();
            run.deliver(newest).await;
        }
        run.mend().await;
        run.deliver(run.messages.clone()).await;
        run.settle().await;
        println!("seed {seed}");
        run.check().await;
    }
}
