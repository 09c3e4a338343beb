//! Offers as they stand.

use std::collections::BTreeMap;

use futures::future::try_join_all;
use model::{Offer, OfferId};
use store::{Read, Shard, Store, Tx};
use wire::offers::OfferPart;
use wire::offers::offer_part::Kind;

use crate::presets::is_from_feed;
use crate::tables::{CONTENT, FEED, OFFER};
use crate::{Error, Offers, Result};

/// The shard that holds the offer.
pub fn shard_of(id: OfferId) -> Shard {
    Shard::wrapping(u64::from(id.shard()))
}

pub async fn find(read: &impl Read, id: OfferId) -> Result<Option<Offer>> {
    Ok(read.get(&OFFER, (id.raw(), CONTENT)).await?.and_then(content))
}

/// Reads these offers ahead, in one question.
pub async fn prefetch(tx: &mut Tx, ids: &[OfferId]) -> Result<()> {
    Ok(tx.prefetch(&OFFER, ids.iter().map(|id| (id.raw(), CONTENT))).await?)
}

pub async fn require(read: &impl Read, id: OfferId) -> Result<Offer> {
    find(read, id).await?.ok_or(Error::NoOffer(id))
}

/// In the order of the ids.
pub async fn find_many(read: &impl Read, ids: &[i64]) -> Result<Vec<Option<Offer>>> {
    Ok(contents(read.get_many(&OFFER, keys(ids)).await?))
}

/// Owned, since the compiler cannot prove a generic reader's future of borrowed keys to be `Send`.
fn keys(ids: &[i64]) -> Vec<(i64, String)> {
    ids.iter().map(|id| (*id, CONTENT.to_owned())).collect()
}

fn contents(parts: Vec<Option<OfferPart>>) -> Vec<Option<Offer>> {
    parts.into_iter().map(|part| part.and_then(content)).collect()
}

pub(crate) fn content(part: OfferPart) -> Option<Offer> {
    match part.kind {
        Some(Kind::Content(offer)) => Some(offer),
        _ => None,
    }
}

/// Whether a feed still brings this very offer.
pub(crate) async fn is_fed(tx: &Tx, offer: &Offer) -> Result<bool> {
    if !is_from_feed(offer) {
        return Ok(false);
    }
    let origin = offer.origin.clone().unwrap_or_default();
    let key = (offer.seller_id.as_str(), origin.namespace.as_str(), origin.external_id.as_str());
    let row = tx.get(&FEED, key).await?;
    Ok(row.is_some_and(|row| row.offer_id == offer.id && row.dead_at == 0))
}

/// Shards asked at the same time.
const PARALLEL: usize = 16;

/// Offers of any shards, in the order of the ids, each once.
pub async fn across(offers: &Offers, ids: &[OfferId]) -> Result<Vec<(OfferId, Option<Offer>)>> {
    let mut by_shard: BTreeMap<Shard, Vec<i64>> = BTreeMap::new();
    for id in ids {
        by_shard.entry(shard_of(*id)).or_default().push(id.raw());
    }
    let by_shard: Vec<_> = by_shard.into_iter().collect();
    let mut answers = Vec::with_capacity(ids.len());
    for some in by_shard.chunks(PARALLEL) {
        let questions = some.iter().map(|(shard, ids)| within(&offers.store, *shard, ids));
        answers.extend(try_join_all(questions).await?.into_iter().flatten());
    }
    let mut found: BTreeMap<i64, Option<Offer>> = answers.into_iter().collect();
    let once = |id: &OfferId| found.remove(&id.raw()).map(|offer| (*id, offer));
    let mut found = ids.iter().filter_map(once).collect::<Vec<_>>();
    crate::archive::fill(offers, &mut found).await?;
    Ok(found)
}

async fn within(store: &Store, shard: Shard, ids: &[i64]) -> Result<Vec<(i64, Option<Offer>)>> {
    let snapshot = store.snapshot(shard).await?;
    let found = find_many(&snapshot, ids).await?;
    Ok(ids.iter().copied().zip(found).collect())
}
