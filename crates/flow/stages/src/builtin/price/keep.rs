//! Keeps the prices of buckets: two consumers, of the offers' changes and of what buckets send each other.
//!
//! ```text
//! offers.changes ──▶ the bucket where the offer stands now: its point; did it stand elsewhere before, that goes out
//!                    through the outbox ──▶ stages.price-points ──▶ the other bucket: the point goes
//! ```
//!
//! Where it stood before follows from the change itself, so nothing is kept per offer. A crash before the transaction
//! leaves the record to be read again; after it the removal is in the outbox. Changes of one offer may reach two buckets in
//! any order: the offer's version decides, and one that has left stays noted for a day (`points.rs`).

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use catalog::Catalog;
use offers::changes::printed;
use prost::Message as _;
use store::{Read as _, Shard, Tx};
use topics::consume::{Failure, Handler, Undecodable};
use topics::{Message, Record, outbox};
use wire::offers::OfferChange;
use wire::stages::{PricePoint, PricePointMove};

use super::bucket::Features;
use super::points::{place, slot};
use crate::Result;
use crate::tables::{PRICE_POINTS, bucket_shard};

/// The group of both consumers.
pub const GROUP: &str = "stages.price";

/// The consumer of the offers' changes.
pub struct PriceChanges(pub Arc<Catalog>);

/// The consumer of [`model::topics::STAGES_PRICE_POINTS`].
pub struct PriceMoves;

/// What a change of an offer means for buckets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceChange {
    /// In the shard of the transaction.
    here: Option<PricePointMove>,
    /// In another one.
    elsewhere: Option<PricePointMove>,
}

impl PriceChange {
    fn of(catalog: &Catalog, change: &OfferChange) -> Self {
        let Some(offer) = &change.offer else { return Self::default() };
        let after = Features::of(offer).bucket(catalog);
        let before = Features::before(change, offer).and_then(|before| before.bucket(catalog));
        let price = offer.content.as_ref().and_then(|content| content.price.as_ref());
        let minor = price.map_or(0, |price| price.minor);
        let at = |bucket: String, minor: i64| PricePointMove {
            bucket,
            point: Some(PricePoint {
                offer_id: offer.id,
                version: change.version,
                minor,
                at: change.changed_at,
            }),
        };
        let same_price = !change.fields.iter().any(|field| field.path == "price");
        match (before, after) {
            (None, None) => Self::default(),
            (Some(before), Some(after)) if before == after && same_price => Self::default(),
            (Some(before), Some(after)) if before != after => {
                Self { here: Some(at(after, minor)), elsewhere: Some(at(before, 0)) }
            }
            (_, Some(after)) => Self { here: Some(at(after, minor)), elsewhere: None },
            (Some(before), None) => Self { here: Some(at(before, 0)), elsewhere: None },
        }
    }
}

#[async_trait]
impl Handler for PriceChanges {
    type Message = PriceChange;

    fn decode(&self, record: &Record) -> Result<(Shard, PriceChange), Undecodable> {
        let change =
            OfferChange::decode(record.payload.clone()).map_err(|error| Undecodable(error.to_string()))?;
        let change = PriceChange::of(&self.0, &change);
        // Those without an effect meet in one shard, so that they cost one transaction.
        let shard = change.here.as_ref().map_or_else(|| bucket_shard(""), |here| bucket_shard(&here.bucket));
        Ok((shard, change))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<PriceChange>) -> Result<(), Failure> {
        let (mut here, mut elsewhere) = (Vec::new(), Vec::new());
        for change in messages {
            here.extend(change.here);
            elsewhere.extend(change.elsewhere.map(|moved| message(&moved)));
        }
        write(tx, here).await?;
        Ok(outbox::send(tx, model::topics::STAGES_PRICE_POINTS, elsewhere).await?)
    }

    fn max_records(&self) -> usize {
        MAX_RECORDS
    }
}

/// Small, and spread over all buckets.
const MAX_RECORDS: usize = 4_000;

#[async_trait]
impl Handler for PriceMoves {
    type Message = PricePointMove;

    fn decode(&self, record: &Record) -> Result<(Shard, PricePointMove), Undecodable> {
        let moved =
            PricePointMove::decode(record.payload.clone()).map_err(|error| Undecodable(error.to_string()))?;
        if moved.bucket.is_empty() || moved.point.is_none() {
            return Err(Undecodable("a price has a bucket and a point".to_owned()));
        }
        Ok((bucket_shard(&moved.bucket), moved))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<PricePointMove>) -> Result<(), Failure> {
        Ok(write(tx, messages).await?)
    }

    fn max_records(&self) -> usize {
        MAX_RECORDS
    }
}

pub(super) fn message(moved: &PricePointMove) -> Message {
    let offer = moved.point.as_ref().map_or(0, |point| point.offer_id);
    Message::new(printed(offer), moved.encode_to_vec())
}

/// Writes points into their slots: one read of all, and each row once.
async fn write(tx: &mut Tx, moves: Vec<PricePointMove>) -> store::Result<()> {
    let mut by_slot = BTreeMap::<(String, u32), Vec<PricePoint>>::new();
    for PricePointMove { bucket, point } in moves {
        if let Some(point) = point {
            by_slot.entry((bucket, slot(point.offer_id))).or_default().push(point);
        }
    }
    let rows = tx.get_many(&PRICE_POINTS, by_slot.keys()).await?;
    for ((key, points), row) in by_slot.into_iter().zip(rows) {
        let was_there = row.is_some();
        let mut row = row.unwrap_or_default();
        let mut is_changed = false;
        for point in points {
            is_changed |= place(&mut row, point);
        }
        if row.points.is_empty() && was_there {
            tx.delete(&PRICE_POINTS, &key)?;
        } else if is_changed {
            tx.put(&PRICE_POINTS, &key, &row)?;
        }
    }
    Ok(())
}
