//! What the photo service answers goes into the offer: one write per answer.

use async_trait::async_trait;
use model::{Offer, OfferId, Status};
use prost::Message as _;
use store::{Shard, Tx};
use topics::Record;
use topics::consume::{Failure, Handler, Undecodable};
use wire::offers::{Actor, actor};
use wire::photos::PhotoResult;

use crate::read::{find, shard_of};
use crate::{Offers, Result};

/// Takes answers from topic `photos.results`. An answer that comes twice changes nothing the second time; one for an
/// url that the offer no longer has, or for an offer that is gone, changes nothing at all.
pub struct PhotoResults(pub Offers);

#[async_trait]
impl Handler for PhotoResults {
    fn shard_of(&self, record: &Record) -> Result<Shard, Undecodable> {
        Ok(shard_of(decode(record)?.0))
    }

    async fn apply(&self, tx: &mut Tx, records: &[Record]) -> Result<(), Failure> {
        for record in records {
            let (id, result) = decode(record).map_err(|Undecodable(reason)| Failure::Determinate(reason))?;
            apply(tx, &self.0, id, result).await.map_err(crate::error::failure)?;
        }
        Ok(())
    }
}

fn decode(record: &Record) -> Result<(OfferId, PhotoResult), Undecodable> {
    let result =
        PhotoResult::decode(record.payload.as_ref()).map_err(|error| Undecodable(error.to_string()))?;
    let id = OfferId::from_raw(result.offer_id)
        .ok_or_else(|| Undecodable(format!("{} is not an offer's id", result.offer_id)))?;
    Ok((id, result))
}

async fn apply(tx: &mut Tx, offers: &Offers, id: OfferId, result: PhotoResult) -> Result<()> {
    let Some(before) = find(tx, id).await? else { return Ok(()) };
    if before.status() == Status::Deleted {
        return Ok(());
    }
    let after = with_photos(&before, result);
    let actor = Actor {
        kind: actor::Kind::Photos.into(),
        who: "photos".to_owned(),
        task_id: 0,
        reason: "photos".to_owned(),
    };
    offers.save_one(tx, &before, after, &actor).await?;
    Ok(())
}

fn with_photos(before: &Offer, result: PhotoResult) -> Offer {
    let mut after = before.clone();
    for photo in result.photos {
        for place in after.photos.iter_mut().filter(|place| place.url == photo.url) {
            *place = photo.clone();
        }
    }
    after
}
