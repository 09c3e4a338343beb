//! Random sequences of operations against a plain model of them: the same answers, lists, counts and counters.

use std::collections::BTreeMap;
use std::time::Duration;

use kit::Timestamp;
use model::{OfferId, Status};
use offers::counters::Counters;
use offers::moderation::Effect;
use offers::presets::Preset;
use offers::write::{Expected, Verb, by_api};
use offers::{Error, Offers, Settings};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use wire::offers::Opinion;
use wire::offers::opinion::Verdict;

use crate::support::{content, embedded, in_memory};

const SELLERS: [&str; 3] = ["north", "south", "empty"];

/// An offer in the model.
#[derive(Clone, Debug)]
struct Known {
    seller: &'static str,
    status: Status,
    before_ban: Status,
    title: String,
    price: Option<i64>,
    version: i64,
    created_at: i64,
    was_sold: bool,
    opinion: Option<(i64, Verdict)>,
    reasons: Vec<String>,
}

#[derive(Default)]
struct Plain {
    offers: BTreeMap<i64, Known>,
    sold: BTreeMap<&'static str, i64>,
    money: BTreeMap<&'static str, i64>,
}

/// What an operation says, in words that both sides share.
type Answer = Result<(Status, i64), &'static str>;

impl Plain {
    fn act(&mut self, id: i64, verb: Verb, expected: Option<i64>) -> Answer {
        let offer = self.offers.get_mut(&id).ok_or("missing")?;
        if expected.is_some_and(|expected| expected != offer.version) {
            return Err("stale");
        }
        use Status::{Active, Banned, Deleted, Expired, Inactive, SoldElsewhere, SoldHere};
        let from = offer.status;
        let to = match verb {
            Verb::Withdraw => Inactive,
            Verb::Activate => Active,
            Verb::Prolong => {
                // Active only gets a later end, which is a change of its own.
                if from == Active {
                    offer.version += 1;
                    return Ok((from, offer.version));
                }
                if from != Expired {
                    return Err("illegal");
                }
                Active
            }
            Verb::SellHere => SoldHere,
            Verb::SellElsewhere => SoldElsewhere,
            Verb::Delete => Deleted,
        };
        if from == to {
            return Ok((from, offer.version));
        }
        let allowed = match from {
            Active => to != Active,
            Inactive | Expired => to != Inactive,
            Banned => to == Deleted,
            SoldHere | SoldElsewhere => to == Active || to == Deleted,
            _ => false,
        };
        if !allowed {
            return Err("illegal");
        }
        offer.status = to;
        offer.version += 1;
        if to == SoldHere && !offer.was_sold {
            offer.was_sold = true;
            *self.sold.entry(offer.seller).or_default() += 1;
            *self.money.entry(offer.seller).or_default() += offer.price.unwrap_or(0);
        }
        Ok((to, offer.version))
    }

    fn edit(&mut self, id: i64, expected: Option<i64>, title: &str, price: Option<i64>) -> Answer {
        let offer = self.offers.get_mut(&id).ok_or("missing")?;
        if expected.is_some_and(|expected| expected != offer.version) {
            return Err("stale");
        }
        if offer.status == Status::Deleted {
            return Err("missing");
        }
        if (offer.title.as_str(), offer.price) != (title, price) {
            (offer.title, offer.price) = (title.to_owned(), price);
            offer.version += 1;
        }
        Ok((offer.status, offer.version))
    }

    fn opine(&mut self, id: i64, at: i64, verdict: Verdict, reasons: &[String]) -> Answer {
        let offer = self.offers.get_mut(&id).ok_or("early")?;
        if let Some((then, old)) = offer.opinion
            && (at < then || (at == then && old == Verdict::Ban && verdict != Verdict::Ban))
        {
            return Err("older");
        }
        offer.opinion = Some((at, verdict));
        let bannable = matches!(offer.status, Status::Active | Status::Inactive | Status::Expired);
        if verdict == Verdict::Ban && bannable {
            offer.before_ban = offer.status;
            offer.status = Status::Banned;
            offer.reasons = reasons.to_vec();
            offer.version += 1;
        } else if verdict == Verdict::Ban && offer.status == Status::Banned && offer.reasons != reasons {
            offer.reasons = reasons.to_vec();
            offer.version += 1;
        } else if verdict == Verdict::Unban && offer.status == Status::Banned {
            offer.status = offer.before_ban;
            offer.reasons.clear();
            offer.version += 1;
        }
        Ok((offer.status, offer.version))
    }

    /// The ids of a list, newest first.
    fn list(&self, seller: &str, preset: Preset) -> Vec<i64> {
        let mut found: Vec<_> = self
            .offers
            .iter()
            .filter(|(_, offer)| offer.seller == seller && offer.is_in(preset))
            .map(|(id, offer)| (offer.created_at, *id))
            .collect();
        found.sort_unstable();
        found.into_iter().rev().map(|(_, id)| id).collect()
    }

    fn counters(&self, seller: &str) -> Counters {
        let count = |status: Status| {
            self.offers.values().filter(|offer| offer.seller == seller && offer.status == status).count()
                as i64
        };
        let money = self.money.get(seller).copied().unwrap_or(0);
        Counters {
            active: count(Status::Active),
            expired: count(Status::Expired),
            banned: count(Status::Banned),
            sold: self.sold.get(seller).copied().unwrap_or(0),
            money_earned: if money == 0 { BTreeMap::new() } else { [("RUB".to_owned(), money)].into() },
        }
    }
}

impl Known {
    fn is_in(&self, preset: Preset) -> bool {
        match preset {
            _ if self.status == Status::Deleted => false,
            Preset::All | Preset::Manual => true,
            Preset::Active => self.status == Status::Active,
            Preset::Inactive => self.status == Status::Inactive,
            Preset::Expired => self.status == Status::Expired,
            Preset::Banned | Preset::WithProblems => self.status == Status::Banned,
            Preset::Sold => matches!(self.status, Status::SoldHere | Status::SoldElsewhere),
            Preset::FromFeed => false,
        }
    }
}

fn answer(result: Result<model::Offer, Error>) -> Answer {
    match result {
        Ok(offer) => Ok((offer.status(), offer.version)),
        Err(Error::NoOffer(_)) => Err("missing"),
        Err(Error::Stale { .. }) => Err("stale"),
        Err(Error::IllegalMove(_)) => Err("illegal"),
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
        let choice = if ids.is_empty() { 0 } else { self.rng.random_range(0..10) };
        if choice <= 1 {
            return self.create().await;
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
                assert_eq!(answer(acted), self.plain.act(raw, verb, expected), "{verb:?}");
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
        };
        self.plain.offers.insert(made.id, known);
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
        run(in_memory(Settings::default()), seed, 400).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn and_so_they_do_on_the_embedded_engine() {
    let (offers, _folder) = embedded(Settings { counter_stripes: 3, ..Settings::default() }).await;
    run(offers, 100, 600).await;
}
