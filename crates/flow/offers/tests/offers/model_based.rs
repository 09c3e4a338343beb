//! Random sequences of operations against a plain model of them: the same answers, lists, counts and counters.

use std::collections::BTreeMap;
use std::time::Duration;

use kit::Timestamp;
use model::{Issue, Level, OfferId, Status};
use offers::autoload::sweep::Sweeps;
use offers::moderation::Effect;
use offers::presets::Preset;
use offers::tables::FEED;
use offers::write::{Expected, Verb, by_api};
use offers::{Error, Offers, Settings};
use prost::Message as _;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use servers::Database;
use topics::Record;
use topics::consume::Handler as _;
use wire::feeds::feed_message::Kind;
use wire::feeds::{FeedBatch, FeedMessage, FeedRecord, FeedTerminal, OnMissing};
use wire::offers::Opinion;
use wire::offers::opinion::Verdict;

use crate::kept::run_due;
use crate::plain::{Answer, DAY_US, Known, Loaded, Plain, Row};
use crate::support::{content, embedded, in_memory, postgres};

const SELLERS: [&str; 3] = ["north", "south", "empty"];

fn answer(result: Result<model::Offer, Error>) -> Answer {
    match result {
        Ok(offer) => Ok((offer.status(), offer.version)),
        Err(Error::NoOffer(_)) => Err("missing"),
        Err(Error::Stale { .. }) => Err("stale"),
        Err(Error::IllegalMove(_)) => Err("illegal"),
        Err(Error::ManagedByFeed { .. }) => Err("managed"),
        Err(error) => panic!("{error}"),
    }
}

struct Run {
    offers: Offers,
    plain: Plain,
    rng: StdRng,
}

impl Run {
    async fn step(&mut self) {
        self.offers.clock.advance(Duration::from_micros(self.rng.random_range(1..1_000)));
        let ids: Vec<_> = self.plain.offers.keys().copied().collect();
        let choice = if ids.is_empty() { 0 } else { self.rng.random_range(0..12) };
        match choice {
            0..=1 => return self.create().await,
            10 => return self.load().await,
            11 => return self.wait().await,
            _ => {}
        }
        let raw = ids[self.rng.random_range(0..ids.len())];
        let id = OfferId::from_raw(raw).unwrap();
        let version = self.plain.offers[&raw].version;
        let expected = match self.rng.random_range(0..4) {
            0 => Some(version - 1),
            1 => None,
            _ => Some(version),
        };
        let condition = expected.map_or(Expected::Any, Expected::Version);
        match choice {
            2..=3 => {
                let title = format!("title {}", self.rng.random_range(0..3));
                let price = self.rng.random_bool(0.7).then(|| self.rng.random_range(0..5) * 100);
                let new = content(&title, price);
                let edited =
                    self.offers.edit(id, condition, &by_api("test", "edit"), move |_| Ok(new.clone())).await;
                assert_eq!(answer(edited), self.plain.edit(raw, expected, &title, price));
            }
            4..=5 => self.opine(id).await,
            _ => {
                let verbs = [
                    Verb::Withdraw,
                    Verb::Activate,
                    Verb::Prolong,
                    Verb::SellHere,
                    Verb::SellElsewhere,
                    Verb::Delete,
                ];
                // Deleted is the end, so it is chosen seldom.
                let most = if self.rng.random_bool(0.1) { 6 } else { 5 };
                let verb = verbs[self.rng.random_range(0..most)];
                let acted = self.offers.act(id, verb, condition, &by_api("test", verb.reason())).await;
                assert_eq!(
                    answer(acted),
                    self.plain.act(raw, verb, expected, self.offers.clock.now().0),
                    "{verb:?}"
                );
            }
        }
    }

    async fn create(&mut self) {
        let seller = SELLERS[self.rng.random_range(0..2)];
        let price = self.rng.random_bool(0.7).then(|| self.rng.random_range(1..100) * 100);
        let made =
            self.offers.create(seller, content("new", price), &by_api("test", "create")).await.unwrap();
        let known = Known {
            seller,
            status: Status::Active,
            before_ban: Status::Unspecified,
            title: "new".to_owned(),
            price,
            version: 1,
            created_at: self.offers.clock.now().0,
            was_sold: false,
            opinion: None,
            reasons: Vec::new(),
            judged_for: Vec::new(),
            expires_at: self.offers.clock.now().0 + 60 * DAY_US,
            external_id: None,
            problems: false,
        };
        self.plain.offers.insert(made.id, known);
    }

    /// A load of a small feed: some ids missing, some broken, some twice.
    async fn load(&mut self) {
        let seller = SELLERS[self.rng.random_range(0..2)];
        let mut records = Vec::new();
        for number in 0..8 {
            if self.rng.random_bool(0.25) {
                continue;
            }
            let record = Loaded {
                external_id: format!("x{number}"),
                title: format!("feed {}", self.rng.random_range(0..2)),
                price: self.rng.random_bool(0.5).then_some(700),
                broken: self.rng.random_bool(0.1),
            };
            records.extend(std::iter::repeat_n(record, if self.rng.random_bool(0.1) { 2 } else { 1 }));
        }
        let task = self.plain.tasks.entry(seller).or_insert(0);
        *task += 1;
        let load = Load { seller, task: *task };
        let cut = self.rng.random_range(0..=records.len());
        for (place, part) in [&records[..cut], &records[cut..]].into_iter().enumerate() {
            load.send(&self.offers, Load::batch(place as i64 + 1, part)).await;
        }
        load.send(&self.offers, Load::terminal(2)).await;
        run_due(&self.offers, Sweeps, store::Shard::of(seller)).await.unwrap();
        let now = self.offers.clock.now().0;
        for record in self.plain.load(seller, &records, now) {
            self.adopt(seller, &record, now).await;
        }
    }

    /// A new offer of a feed: its id is the system's to choose, all else the model knows.
    async fn adopt(&mut self, seller: &'static str, record: &Loaded, now: i64) {
        let key = (seller, "default", record.external_id.as_str());
        let row = self.offers.store.get(&FEED, store::Shard::of(seller), key).await.unwrap().unwrap();
        let known = Known {
            seller,
            status: Status::Active,
            before_ban: Status::Unspecified,
            title: record.title.clone(),
            price: record.price,
            version: 1,
            created_at: now,
            was_sold: false,
            opinion: None,
            reasons: Vec::new(),
            judged_for: Vec::new(),
            expires_at: now + 60 * DAY_US,
            external_id: Some(record.external_id.clone()),
            problems: false,
        };
        assert!(self.plain.offers.insert(row.offer_id, known).is_none(), "{row:?} is not a new offer");
        let key = (seller, record.external_id.clone());
        self.plain.rows.insert(key, Row { offer: row.offer_id, dead: None });
    }

    /// Days go by.
    async fn wait(&mut self) {
        let days = self.rng.random_range(1..40);
        self.offers.clock.advance(Duration::from_micros(days * DAY_US as u64));
        for seller in SELLERS {
            offers::due::take_turn(&self.offers, store::Shard::of(seller)).await.unwrap();
        }
        self.plain.expire(self.offers.clock.now().0);
    }

    async fn opine(&mut self, id: OfferId) {
        let verdict = if self.rng.random_bool(0.5) { Verdict::Ban } else { Verdict::Unban };
        let opinion = Opinion {
            offer_id: id.to_string(),
            verdict: verdict.into(),
            reasons: vec![format!("reason {}", self.rng.random_range(0..2))],
            text: String::new(),
            // Few moments, so that some are equal and some late.
            timestamp: self.rng.random_range(1..8),
            moderator: "m".to_owned(),
        };
        let found = match self.offers.opine(id, &opinion).await.unwrap() {
            Effect::Applied(offer) => Ok((offer.status(), offer.version)),
            Effect::Older => Err("older"),
            Effect::Early => Err("early"),
        };
        let expected = self.plain.opine(id.raw(), opinion.timestamp, verdict, &opinion.reasons);
        assert_eq!(found, expected);
    }

    /// Everything a cabinet shows.
    async fn compare(&mut self) {
        for seller in SELLERS {
            let counts: BTreeMap<_, _> = self.offers.counts(seller).await.unwrap().into_iter().collect();
            for preset in Preset::EVERY {
                let expected = self.plain.list(seller, preset);
                let limit = self.rng.random_range(1..12);
                assert_eq!(self.pages(seller, preset, limit).await, expected, "{seller} {}", preset.name());
                assert_eq!(counts[&preset], expected.len() as i64, "{seller} {}", preset.name());
            }
            let mut counters = self.offers.counters(seller).await.unwrap();
            counters.money_earned.retain(|_, amount| *amount != 0);
            assert_eq!(counters, self.plain.counters(seller), "{seller}");
        }
        for (id, known) in &self.plain.offers {
            let offer = self.offers.get(OfferId::from_raw(*id).unwrap()).await.unwrap();
            assert_eq!((offer.status(), offer.version), (known.status, known.version));
            let snapshot = self.offers.store.snapshot(store::Shard::of(known.seller)).await.unwrap();
            let history = offers::write::events(&snapshot, &offer, None, Timestamp(0), 1_000).await.unwrap();
            let versions: Vec<_> = history.iter().map(|event| event.version).collect();
            assert_eq!(versions, (1..=known.version).rev().collect::<Vec<_>>(), "the history of {id}");
        }
    }

    async fn pages(&self, seller: &str, preset: Preset, limit: usize) -> Vec<i64> {
        let mut found = Vec::new();
        let mut place = None;
        loop {
            let (page, next) = self.offers.page(seller, preset, place, limit).await.unwrap();
            found.extend(page.iter().map(|offer| offer.id));
            let Some(next) = next else { return found };
            place = Some(next);
        }
    }
}

/// Sends a load's messages as the topic would.
struct Load {
    seller: &'static str,
    task: i64,
}

impl Load {
    async fn send(&self, offers: &Offers, kind: Kind) {
        let message = FeedMessage {
            seller_id: self.seller.to_owned(),
            namespace: "default".to_owned(),
            task_id: self.task,
            dry_run: false,
            kind: Some(kind),
            ..FeedMessage::default()
        };
        let record = Record {
            partition: 0,
            offset: 0,
            key: self.seller.into(),
            payload: message.encode_to_vec().into(),
            headers: Vec::new(),
            timestamp: Timestamp(0),
        };
        let handler = offers::autoload::Batches(offers.clone());
        let apply = async |tx: &mut store::Tx| {
            let (_, message) = handler.decode(&record).unwrap();
            let applied = handler.apply(tx, vec![message]).await;
            applied.map_err(|failure| Error::Missing(failure.to_string()))
        };
        offers.store.transact(store::Shard::of(self.seller), apply).await.unwrap();
    }

    fn batch(number: i64, records: &[Loaded]) -> Kind {
        let record = |record: &Loaded| {
            let content = content(&record.title, record.price);
            let issue = Issue { level: Level::Error.into(), code: "geo_missing".into(), ..Issue::default() };
            FeedRecord {
                external_id: record.external_id.clone(),
                fingerprint: content.encode_to_vec(),
                content: Some(content),
                issues: if record.broken { vec![issue] } else { Vec::new() },
                ..FeedRecord::default()
            }
        };
        Kind::Batch(FeedBatch { number, records: records.iter().map(record).collect() })
    }

    fn terminal(batches: i64) -> Kind {
        Kind::Terminal(FeedTerminal {
            batches,
            on_missing: OnMissing::Delete.into(),
            guard_percent: 0,
            removal: false,
        })
    }
}

fn settings(counter_stripes: u32) -> Settings {
    let days = |days: u64| Duration::from_secs(days * 86_400);
    Settings {
        lifetime: days(60),
        feed_lifetime: days(60),
        // Nothing leaves for the archive here.
        archive_after: days(36_500),
        counter_stripes,
        ..Settings::default()
    }
}

async fn run(offers: Offers, seed: u64, steps: usize) {
    let mut run = Run { offers, plain: Plain::default(), rng: StdRng::seed_from_u64(seed) };
    for step in 0..steps {
        run.step().await;
        if step % 50 == 49 {
            run.compare().await;
        }
    }
    run.compare().await;
}

#[tokio::test]
async fn offers_do_what_a_plain_model_does() {
    for seed in 0..20 {
        println!("seed {seed}");
        run(in_memory(settings(1)), seed, 400).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn and_so_they_do_on_the_embedded_engine() {
    let (offers, _folder) = embedded(settings(3)).await;
    run(offers, 100, 600).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn and_so_they_do_on_postgres() {
    let Some(database) = Database::create("and_so_they_do_on_postgres").await else { return };
    run(postgres(&database, settings(3)).await, 200, 600).await;
}
