//! Offers by the seller's own ids.

use model::{Offer, OfferId, Status};
use store::{Read as _, Shard};

use crate::tables::FEED;
use crate::{Offers, Result, read};

/// The offer that a feed made of this id, unless it is deleted.
pub async fn find(
    offers: &Offers,
    seller: &str,
    namespace: &str,
    external_id: &str,
) -> Result<Option<Offer>> {
    let snapshot = offers.store.snapshot(Shard::of(seller)).await?;
    let row = snapshot.get(&FEED, (seller, namespace, external_id)).await?;
    let Some(id) = row.filter(|row| row.offer_id != 0).and_then(|row| OfferId::from_raw(row.offer_id)) else {
        return Ok(None);
    };
    let offer = read::find(&snapshot, id).await?;
    Ok(offer.filter(|offer| offer.status() != Status::Deleted))
}
