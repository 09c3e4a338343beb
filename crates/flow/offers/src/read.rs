//! Offers as they stand.

use model::{Offer, OfferId};
use store::{Read, Shard};
use wire::offers::OfferPart;
use wire::offers::offer_part::Kind;

use crate::tables::{CONTENT, OFFER};
use crate::{Error, Result};

/// The shard that holds the offer.
pub fn shard_of(id: OfferId) -> Shard {
    Shard::wrapping(u64::from(id.shard()))
}

pub async fn find(read: &impl Read, id: OfferId) -> Result<Option<Offer>> {
    Ok(read.get(&OFFER, (id.raw(), CONTENT)).await?.and_then(content))
}

pub async fn require(read: &impl Read, id: OfferId) -> Result<Offer> {
    find(read, id).await?.ok_or(Error::NoOffer(id))
}

/// In the order of the ids.
pub async fn find_many(read: &impl Read, ids: &[i64]) -> Result<Vec<Option<Offer>>> {
    // Owned keys: with borrowed ones the compiler does not see that a future around this one can be sent.
    let keys: Vec<(i64, String)> = ids.iter().map(|id| (*id, CONTENT.to_owned())).collect();
    let parts = read.get_many(&OFFER, keys).await?;
    Ok(parts.into_iter().map(|part| part.and_then(content)).collect())
}

pub(crate) fn content(part: OfferPart) -> Option<Offer> {
    match part.kind {
        Some(Kind::Content(offer)) => Some(offer),
        _ => None,
    }
}
