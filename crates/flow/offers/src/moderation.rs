//! Opinions of moderators: kept as a kind of the offer, and applied to its status in the same transaction.
//!
//! An older opinion never overrides a newer one; of two of the same moment the ban wins, else the later arrival. An
//! opinion on an offer that is not known yet waits for it.

use async_trait::async_trait;
use model::{Offer, OfferId, Status};
use prost::Message as _;
use store::{Read as _, Shard, Tx};
use topics::Record;
use topics::consume::{Failure, Handler, Undecodable};
use wire::offers::offer_part::Kind;
use wire::offers::opinion::Verdict;
use wire::offers::{Actor, OfferPart, Opinion, actor};

use crate::changes::Changes;
use crate::read::{find, shard_of};
use crate::tables::{CONTENT, EARLY_OPINIONS, MODERATION, OFFER};
use crate::{Offers, Result};

/// Most reasons and bytes of text that an opinion may have.
const MAX_REASONS: usize = 32;
const MAX_TEXT_BYTES: usize = 4_096;

/// What became of an opinion.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// It counts; the offer as it stands now.
    Applied(Box<Offer>),
    /// A newer one was there first.
    Older,
    /// It waits for the offer.
    Early,
}

/// The id and the sanity of an opinion.
pub fn check(opinion: &Opinion) -> Result<OfferId, String> {
    let id = opinion.offer_id.parse::<OfferId>().map_err(|error| error.to_string())?;
    if opinion.verdict() == Verdict::Unspecified {
        return Err("an opinion needs a verdict: ban or unban".to_owned());
    }
    if opinion.timestamp <= 0 {
        return Err("an opinion needs its time".to_owned());
    }
    let long = opinion.text.len() > MAX_TEXT_BYTES
        || opinion.reasons.len() > MAX_REASONS
        || opinion.reasons.iter().any(|reason| reason.len() > 256);
    if long {
        return Err(format!(
            "an opinion has at most {MAX_REASONS} reasons and {MAX_TEXT_BYTES} bytes of text"
        ));
    }
    Ok(id)
}

impl Offers {
    pub async fn opine(&self, id: OfferId, opinion: &Opinion) -> Result<Effect> {
        let apply = async |tx: &mut Tx| {
            let mut changes = Changes::new(self, self.clock.now());
            let effect = apply(tx, &mut changes, id, opinion).await?;
            changes.finish(tx).await?;
            Ok(effect)
        };
        self.store.transact(shard_of(id), apply).await
    }
}

/// Applies an opinion within a transaction of the offer's shard; the caller finishes the changes.
pub(crate) async fn apply(
    tx: &mut Tx,
    changes: &mut Changes<'_>,
    id: OfferId,
    opinion: &Opinion,
) -> Result<Effect> {
    let Some(offer) = find(tx, id).await? else {
        let waiting = tx.get(&EARLY_OPINIONS, (id.raw(),)).await?;
        if waiting.is_some_and(|waiting| !overrides(opinion, &waiting)) {
            return Ok(Effect::Older);
        }
        tx.put(&EARLY_OPINIONS, (id.raw(),), opinion)?;
        return Ok(Effect::Early);
    };
    let stored = tx.get(&OFFER, (id.raw(), MODERATION)).await?;
    if let Some(OfferPart { kind: Some(Kind::Moderation(stored)) }) = stored
        && !overrides(opinion, &stored)
    {
        return Ok(Effect::Older);
    }
    tx.put(&OFFER, (id.raw(), MODERATION), &OfferPart { kind: Some(Kind::Moderation(opinion.clone())) })?;
    let after = judged(&offer, opinion);
    let actor = Actor {
        kind: actor::Kind::Moderation.into(),
        who: opinion.moderator.clone(),
        task_id: 0,
        reason: if opinion.verdict() == Verdict::Ban { "ban" } else { "unban" }.to_owned(),
    };
    let after = changes.save(tx, Some(&offer), after, &actor)?;
    Ok(Effect::Applied(Box::new(after)))
}

/// A new offer may have been judged before it was known.
pub(crate) async fn apply_early(tx: &mut Tx, offers: &Offers, offer: Offer) -> Result<Offer> {
    let Some(opinion) = tx.get(&EARLY_OPINIONS, (offer.id,)).await? else { return Ok(offer) };
    tx.delete(&EARLY_OPINIONS, (offer.id,))?;
    let Some(id) = OfferId::from_raw(offer.id) else { return Ok(offer) };
    let mut changes = Changes::new(offers, offers.clock.now());
    let effect = apply(tx, &mut changes, id, &opinion).await?;
    changes.finish(tx).await?;
    match effect {
        Effect::Applied(offer) => Ok(*offer),
        Effect::Older | Effect::Early => Ok(offer),
    }
}

fn overrides(new: &Opinion, old: &Opinion) -> bool {
    match new.timestamp.cmp(&old.timestamp) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Equal => new.verdict() == Verdict::Ban || old.verdict() != Verdict::Ban,
    }
}

/// The offer after the opinion. A deleted one stays deleted; a sold one cannot be banned.
fn judged(offer: &Offer, opinion: &Opinion) -> Offer {
    let mut after = offer.clone();
    match (opinion.verdict(), offer.status()) {
        (Verdict::Ban, Status::Active | Status::Inactive | Status::Expired | Status::Banned) => {
            if offer.status() != Status::Banned {
                after.set_status_before_ban(offer.status());
                after.set_status(Status::Banned);
            }
            after.ban_reasons.clone_from(&opinion.reasons);
            after.ban_text.clone_from(&opinion.text);
        }
        (Verdict::Unban, Status::Banned) => unban(&mut after),
        _ => {}
    }
    after
}

pub(crate) fn unban(offer: &mut Offer) {
    let back = match offer.status_before_ban() {
        Status::Unspecified => Status::Active,
        status => status,
    };
    offer.set_status(back);
    offer.set_status_before_ban(Status::Unspecified);
    offer.ban_reasons.clear();
    offer.ban_text.clear();
}

/// Takes opinions from the topic.
pub struct Opinions(pub Offers);

fn decode(record: &Record) -> Result<(OfferId, Opinion), Undecodable> {
    let opinion = Opinion::decode(record.payload.as_ref()).map_err(|error| Undecodable(error.to_string()))?;
    let id = check(&opinion).map_err(Undecodable)?;
    Ok((id, opinion))
}

#[async_trait]
impl Handler for Opinions {
    type Message = (OfferId, Opinion);

    fn decode(&self, record: &Record) -> Result<(Shard, Self::Message), Undecodable> {
        let (id, opinion) = decode(record)?;
        Ok((shard_of(id), (id, opinion)))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<Self::Message>) -> Result<(), Failure> {
        let ids = || messages.iter().map(|(id, _)| id.raw());
        tx.prefetch(&OFFER, ids().flat_map(|id| [(id, CONTENT), (id, MODERATION)])).await?;
        tx.prefetch(&EARLY_OPINIONS, ids().map(|id| (id,))).await?;
        let mut changes = Changes::new(&self.0, self.0.clock.now());
        for (id, opinion) in &messages {
            apply(tx, &mut changes, *id, opinion).await?;
        }
        Ok(changes.finish(tx).await?)
    }
}
