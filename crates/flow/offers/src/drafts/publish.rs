//! A draft becomes an offer, once.

use model::{Offer, OfferId};
use store::{Read as _, Tx};
use wire::offers::Actor;

use super::moving::Purpose;
use super::{Draft, Found, Owner, no_draft, rows};
use crate::idempotency::{self, Key};
use crate::tables::{DRAFT, DRAFT_PUBLISHED};
use crate::{Error, Offers, Result, read, validate};

impl Offers {
    /// Publishes the draft as the seller's offer, moving it to them first if it is anonymous; a draft of their own stays
    /// as it is. Asked again, by the old id or the new one, it gives the same offer.
    pub async fn publish_draft(
        &self,
        found: Found,
        seller: &str,
        actor: &Actor,
        key: Option<&Key>,
    ) -> Result<Offer> {
        let draft = match found {
            Found::Published(offer_id) => return self.get(require_id(offer_id)?).await,
            Found::Draft(draft) => *draft,
        };
        if let Some(offer_id) = self.begin_key(seller, key).await? {
            return self.get(require_id(offer_id)?).await;
        }
        let published = self.publish_owned(draft, seller, actor, key).await;
        if published.is_err() {
            self.drop_key(seller, key).await?;
        }
        published
    }

    async fn publish_owned(
        &self,
        draft: Draft,
        seller: &str,
        actor: &Actor,
        key: Option<&Key>,
    ) -> Result<Offer> {
        let owner = Owner::Seller(seller.to_owned());
        let draft = self.owned(draft, &owner).await?;
        let id = draft.id.as_str();
        let publish = async |tx: &mut Tx| {
            if let Some(published) = tx.get(&DRAFT_PUBLISHED, (id,)).await? {
                return read::require(tx, require_id(published.offer_id)?).await;
            }
            let row = tx.get(&DRAFT, (id,)).await?.filter(|row| !row.arriving);
            let row = row.ok_or_else(|| no_draft(id))?;
            let content = validate::settle(&self.catalog, row.content.clone().unwrap_or_default());
            validate::require(&self.catalog, &content)?;
            let offer = self.create_in(tx, seller, content, actor).await?;
            let now = self.clock.now();
            rows::erase(tx, id, &row).await?;
            rows::note_published(tx, id, offer.id, now)?;
            if let Some(key) = key {
                idempotency::finish(tx, seller, key, offer.id, now).await?;
            }
            Ok(offer)
        };
        self.store.transact(owner.shard(), publish).await
    }

    /// The same draft in the hands of this seller.
    async fn owned(&self, draft: Draft, owner: &Owner) -> Result<Draft> {
        if draft.owner() == *owner {
            return Ok(draft);
        }
        if !draft.owner().is_anonymous() {
            return Err(no_draft(&draft.id));
        }
        // What cannot be published stays where it is.
        let content = validate::settle(&self.catalog, draft.content());
        validate::require(&self.catalog, &content)?;
        self.finish_intents(owner).await?;
        self.move_draft(&draft.id, owner, Purpose::Publishing).await
    }
}

fn require_id(offer_id: i64) -> Result<OfferId> {
    OfferId::from_raw(offer_id).ok_or_else(|| Error::Missing("the draft's offer is not there".to_owned()))
}
