//! A predicted price: what like offers cost, with how many of them it rests on.
//!
//! There is no state and no timer per offer. Prices of active offers stand in buckets (`bucket.rs`, `points.rs`), kept by
//! consumers of the offers' changes (`keep.rs`); a run reads the offer's bucket beforehand and writes a prediction only where
//! it moved by 3 %. Offers are looked at once a day, all of them, and besides when a person changes what makes them alike.
//! Loads of feeds are left alone: a new offer gets its first prediction with the next look.
//!
//! The daily look also mends the buckets: an offer whose point is missing there, as of before the stage was there, sends
//! it, and confirms it once a month.

mod bucket;
mod keep;
mod points;

use std::collections::HashMap;

use async_trait::async_trait;
use model::{Money, Offer, Status};
use offers::Offers;
use offers::stages::Lane;
use wire::stages::{PricePoint, PricePointMove, PricePoints};

use self::bucket::Features;
pub use self::keep::{GROUP, PriceChange, PriceChanges, PriceMoves};
use self::points::{Estimate, SLOTS, estimate, slot, wants};
use crate::Builtin;
use crate::stage::{Answer, Fields, Job, Outcome, Stage, Update};
use crate::tables::{PRICE_POINTS, bucket_shard};

/// A prediction that moved by less is left as it is.
const MOVED_PERCENT: i128 = 3;
const TRAVERSE_EVERY_HOURS: u32 = 24;
const MASKS: [&str; 5] = ["category_id", "attributes", "condition", "price", "status"];

pub(super) fn builtin(offers: &Offers) -> Builtin {
    let price = Price(offers.clone());
    Builtin { traverse_every_hours: TRAVERSE_EVERY_HOURS, ..Builtin::new("price", &MASKS, price) }
}

struct Price(Offers);

/// The slots of buckets.
type Buckets = HashMap<String, Vec<PricePoints>>;

impl Price {
    fn bucket(&self, offer: &Offer) -> Option<String> {
        Features::of(offer).bucket(&self.0.catalog)
    }
}

#[async_trait]
impl Stage for Price {
    type Prepared = Buckets;

    fn should_process(&self, job: &Job<'_>, changed: &Fields) -> Answer {
        let is_looked_at = matches!(job.lane, Lane::Main | Lane::Low);
        if !is_looked_at || job.offer.status() != Status::Active {
            return Answer::No;
        }
        // Another price in the same currency says nothing of what like offers cost.
        let only_price = matches!(changed, Fields::Paths(paths) if paths.iter().all(|path| path == "price"));
        let has_one = job.offer.predicted_price.is_some();
        if (only_price && has_one && currency(job.offer) == predicted_currency(job.offer))
            || (!has_one && self.bucket(job.offer).is_none())
        {
            return Answer::No;
        }
        Answer::Yes
    }

    async fn prepare(&self, offers: &[&Offer]) -> Result<Buckets, String> {
        let mut buckets: Vec<_> = offers.iter().filter_map(|offer| self.bucket(offer)).collect();
        buckets.sort_unstable();
        buckets.dedup();
        let keys = buckets
            .iter()
            .flat_map(|bucket| (0..SLOTS).map(move |slot| (bucket_shard(bucket), (bucket.as_str(), slot))));
        let rows = self.0.store.get_many(&PRICE_POINTS, keys).await.map_err(|error| error.to_string())?;
        let mut rows = rows.into_iter().map(Option::unwrap_or_default);
        let slots = |_: &String| rows.by_ref().take(SLOTS as usize).collect();
        let slots: Vec<Vec<PricePoints>> = buckets.iter().map(slots).collect();
        Ok(buckets.into_iter().zip(slots).collect())
    }

    fn process(&self, job: &Job<'_>, buckets: &Buckets) -> Result<Outcome, String> {
        if job.offer.status() != Status::Active {
            return Ok(Outcome::default());
        }
        let bucket = self.bucket(job.offer);
        let slots = bucket.as_ref().and_then(|bucket| buckets.get(bucket));
        let found = slots.and_then(|slots| estimate(slots, job.offer.id, job.now));
        let mut outcome = Outcome { update: update(job.offer, found), ..Outcome::default() };
        if let (Some(bucket), Some(slots), Lane::Low) = (bucket, slots, job.lane) {
            let point = PricePoint {
                offer_id: job.offer.id,
                version: job.offer.version,
                minor: minor(job.offer),
                at: job.now.0,
            };
            if wants(&slots[slot(job.offer.id) as usize], &point) {
                let message = keep::message(&PricePointMove { bucket, point: Some(point) });
                outcome.messages.push((model::topics::STAGES_PRICE_POINTS, message));
            }
        }
        Ok(outcome)
    }
}

fn update(offer: &Offer, found: Option<Estimate>) -> Update {
    let before = offer.predicted_price.as_ref();
    let moved = match (before, found) {
        (None, None) => false,
        (Some(before), Some(found)) => {
            let (old, new) = (i128::from(before.minor), i128::from(found.minor));
            before.currency != currency(offer) || (new - old).abs() * 100 >= old * MOVED_PERCENT
        }
        _ => true,
    };
    if !moved {
        return Update::Nothing;
    }
    let price = |found: Estimate| Money { minor: found.minor, currency: currency(offer).to_owned() };
    let after = Offer {
        predicted_price: found.map(price),
        predicted_from: found.map_or(0, |found| found.offers),
        ..Offer::default()
    };
    Update::Patch { offer: Box::new(after), paths: vec!["predicted_price".to_owned()] }
}

fn currency(offer: &Offer) -> &str {
    let price = offer.content.as_ref().and_then(|content| content.price.as_ref());
    price.map_or("", |price| price.currency.as_str())
}

fn predicted_currency(offer: &Offer) -> &str {
    offer.predicted_price.as_ref().map_or("", |price| price.currency.as_str())
}

fn minor(offer: &Offer) -> i64 {
    let price = offer.content.as_ref().and_then(|content| content.price.as_ref());
    price.map_or(0, |price| price.minor)
}
