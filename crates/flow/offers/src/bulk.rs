//! One verb on many offers of a seller, with an answer for each.

use std::collections::BTreeMap;

use model::{Offer, OfferId};
use store::{Shard, Tx};
use wire::offers::Actor;

use crate::changes::Changes;
use crate::write::Verb;
use crate::{Error, Offers, Result, read};

/// Offers of one transaction: so many of the largest ones stay well below what a transaction may write.
const STEP: usize = 50;

/// What became of one of them.
#[derive(Debug)]
pub struct Done {
    pub id: OfferId,
    pub outcome: Result<Offer>,
}

impl Offers {
    /// In the order of the ids. A refused one does not stop the others; a failure of the store stops what is left, and
    /// the call can be made again.
    pub async fn act_on_many(
        &self,
        seller: &str,
        ids: &[OfferId],
        verb: Verb,
        actor: &Actor,
    ) -> Result<Vec<Done>> {
        let mut done = Vec::with_capacity(ids.len());
        for step in ids.chunks(STEP) {
            let act = async |tx: &mut Tx| self.act_in(tx, seller, step, verb, actor).await;
            done.extend(self.store.transact(Shard::of(seller), act).await?);
        }
        Ok(done)
    }

    async fn act_in(
        &self,
        tx: &mut Tx,
        seller: &str,
        ids: &[OfferId],
        verb: Verb,
        actor: &Actor,
    ) -> Result<Vec<Done>> {
        let raw: Vec<_> = ids.iter().map(|id| id.raw()).collect();
        let found = read::find_many(tx, &raw).await?;
        // An id that is named twice is met the second time as the first left it.
        let mut current: BTreeMap<_, _> = ids.iter().copied().zip(found).collect();
        let mut changes = Changes::new(self, self.clock.now());
        let mut done = Vec::with_capacity(ids.len());
        for &id in ids {
            let before = current.remove(&id).flatten().filter(|offer| offer.seller_id == seller);
            let outcome = match before {
                None => Err(Error::NoOffer(id)),
                Some(before) => match self.moved_in(tx, &before, verb).await {
                    Ok(after) => Ok(changes.save(tx, Some(&before), after, actor)?),
                    Err(error) => {
                        current.insert(id, Some(before));
                        Err(error)
                    }
                },
            };
            if let Ok(offer) = &outcome {
                current.insert(id, Some(offer.clone()));
            }
            done.push(Done { id, outcome });
        }
        changes.finish(tx).await?;
        Ok(done)
    }
}
