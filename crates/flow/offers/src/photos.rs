//! What the photo service answers goes into the offer: one write per answer.

use async_trait::async_trait;
use model::{Offer, OfferId};
use prost::Message as _;
use store::{Shard, Tx};
use topics::Record;
use topics::consume::{Failure, Handler, Undecodable};
use wire::offers::{Actor, actor};
use wire::photos::PhotoResult;

use crate::changes::Changes;
use crate::read::{find, prefetch, shard_of};
use crate::{Offers, Result};

/// Takes answers from topic `photos.results`. An answer that comes twice changes nothing the second time; one for an
/// url that the offer no longer has, or for an offer that left the tables, changes nothing at all. A deleted offer takes
/// its answers like any other: should its feed bring it back, nobody asks for those photos again.
pub struct PhotoResults(pub Offers);

#[async_trait]
impl Handler for PhotoResults {
    type Message = (OfferId, PhotoResult);

    fn decode(&self, record: &Record) -> Result<(Shard, Self::Message), Undecodable> {
        let (id, result) = decode(record)?;
        Ok((shard_of(id), (id, result)))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<Self::Message>) -> Result<(), Failure> {
        let ids: Vec<_> = messages.iter().map(|(id, _)| *id).collect();
        prefetch(tx, &ids).await?;
        let mut changes = Changes::new(&self.0, self.0.clock.now());
        for (id, result) in messages {
            apply(tx, &mut changes, id, result).await?;
        }
        Ok(changes.finish(tx).await?)
    }
}

fn decode(record: &Record) -> Result<(OfferId, PhotoResult), Undecodable> {
    let result =
        PhotoResult::decode(record.payload.as_ref()).map_err(|error| Undecodable(error.to_string()))?;
    let id = OfferId::from_raw(result.offer_id)
        .ok_or_else(|| Undecodable(format!("{} is not an offer's id", result.offer_id)))?;
    Ok((id, result))
}

async fn apply(tx: &mut Tx, changes: &mut Changes<'_>, id: OfferId, result: PhotoResult) -> Result<()> {
    let Some(before) = find(tx, id).await? else { return Ok(()) };
    let after = with_photos(&before, result);
    let actor = Actor {
        kind: actor::Kind::Photos.into(),
        who: "photos".to_owned(),
        task_id: 0,
        reason: "photos".to_owned(),
    };
    changes.save(tx, Some(&before), after, &actor)?;
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
