//! Offers by hand: made, changed, moved from status to status.
//!
//! Each function is one transaction in the seller's shard; a crash leaves either all of it or nothing.

use model::{Content, Offer, OfferId, Origin, Status, status};
use store::{Read as _, Shard, Tx};
use wire::offers::{Actor, EventRow, actor};

use crate::changes::Changes;
use crate::idempotency::{self, Key};
use crate::moderation;
use crate::presets::{Preset, is_from_feed};
use crate::read::{is_fed, require, shard_of};
use crate::tables::{EVENTS, PRESETS_COUNT};
use crate::{Error, Offers, Result, id};

/// Which version the caller has in mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Any,
    Version(i64),
}

impl Expected {
    pub fn check(self, offer: &Offer) -> Result<()> {
        match self {
            Self::Version(expected) if expected != offer.version => {
                Err(Error::Stale { now: offer.version, expected })
            }
            _ => Ok(()),
        }
    }
}

/// What a person may do to an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Withdraw,
    Activate,
    Prolong,
    SellHere,
    SellElsewhere,
    Delete,
}

impl Verb {
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Withdraw => "withdraw",
            Self::Activate => "activate",
            Self::Prolong => "prolong",
            Self::SellHere => "sell_here",
            Self::SellElsewhere => "sell_elsewhere",
            Self::Delete => "delete",
        }
    }

    /// Where it leads; a prolonged offer that expired is active again.
    fn target(self, offer: &Offer) -> Status {
        match self {
            Self::Withdraw => Status::Inactive,
            Self::Activate => Status::Active,
            Self::Prolong if offer.status() == Status::Expired => Status::Active,
            Self::Prolong => offer.status(),
            Self::SellHere => Status::SoldHere,
            Self::SellElsewhere => Status::SoldElsewhere,
            Self::Delete => Status::Deleted,
        }
    }
}

/// A call through the API.
pub fn by_api(who: &str, reason: &str) -> Actor {
    Actor { kind: actor::Kind::Api.into(), who: who.to_owned(), task_id: 0, reason: reason.to_owned() }
}

impl Offers {
    /// Publishes a valid content as the seller's new offer.
    pub async fn create(&self, seller: &str, content: Content, actor: &Actor) -> Result<Offer> {
        let create = async |tx: &mut Tx| self.create_in(tx, seller, content.clone(), actor).await;
        self.store.transact(Shard::of(seller), create).await
    }

    /// The same under an idempotency key: a repeat gives the offer that the first call made.
    pub async fn create_once(
        &self,
        seller: &str,
        content: Content,
        actor: &Actor,
        key: &Key,
    ) -> Result<Offer> {
        let create = async |tx: &mut Tx| {
            let now = self.clock.now();
            if let Some(made) = idempotency::begin(tx, seller, key, now).await?
                && let Some(id) = OfferId::from_raw(made)
            {
                return require(tx, id).await;
            }
            let offer = self.create_in(tx, seller, content.clone(), actor).await?;
            idempotency::finish(tx, seller, key, offer.id, now).await?;
            Ok(offer)
        };
        self.store.transact(Shard::of(seller), create).await
    }

    /// The same within a transaction of the seller's shard.
    pub async fn create_in(
        &self,
        tx: &mut Tx,
        seller: &str,
        content: Content,
        actor: &Actor,
    ) -> Result<Offer> {
        check_quota(tx, seller, 1, self.settings.max_offers).await?;
        let id = id::fresh(tx, 1).await?[0];
        let mut changes = Changes::new(self, self.clock.now());
        let offer = new_offer(id, seller, content, Origin::default(), &changes, actor);
        let offer = changes.save(tx, None, offer, actor)?;
        changes.finish(tx).await?;
        moderation::apply_early(tx, self, offer).await
    }

    /// Replaces what the seller wrote. `change` sees the offer as it is and says what it becomes.
    pub async fn edit(
        &self,
        id: OfferId,
        expected: Expected,
        actor: &Actor,
        change: impl Fn(&Offer) -> Result<Content> + Sync + Send,
    ) -> Result<Offer> {
        let edit = async |tx: &mut Tx| {
            let before = require(tx, id).await?;
            expected.check(&before)?;
            if before.status() == Status::Deleted {
                return Err(Error::NoOffer(id));
            }
            let content = change(&before)?;
            refuse_feed_fields(&before, &content)?;
            let after = Offer { content: Some(content), ..before.clone() };
            self.save_one(tx, &before, after, actor).await
        };
        self.store.transact(shard_of(id), edit).await
    }

    /// Withdraws, activates, prolongs, sells or deletes. Done twice, the second time changes nothing.
    pub async fn act(&self, id: OfferId, verb: Verb, expected: Expected, actor: &Actor) -> Result<Offer> {
        let act = async |tx: &mut Tx| {
            let before = require(tx, id).await?;
            expected.check(&before)?;
            let after = self.moved_in(tx, &before, verb).await?;
            self.save_one(tx, &before, after, actor).await
        };
        self.store.transact(shard_of(id), act).await
    }

    /// The offer after the verb, if it allows it. One that was sold and that its feed let go is on sale again as the
    /// seller's own.
    pub(crate) async fn moved_in(&self, tx: &Tx, before: &Offer, verb: Verb) -> Result<Offer> {
        let mut after = self.moved(before, verb)?;
        let is_back = status::is_sold(before.status()) && after.status() == Status::Active;
        if is_back && is_from_feed(before) && !is_fed(tx, before).await? {
            after.origin = Some(Origin::default());
            after.expires_at = self.expiry_from_now(&after);
        }
        Ok(after)
    }

    fn moved(&self, before: &Offer, verb: Verb) -> Result<Offer> {
        let target = verb.target(before);
        let mut after = before.clone();
        if verb == Verb::Prolong && !matches!(before.status(), Status::Active | Status::Expired) {
            return Err(status::IllegalMove { from: before.status(), to: Status::Active }.into());
        }
        if before.status() != target {
            status::check(before.status(), target)?;
            after.set_status(target);
            after.waits_for_photo = false;
        }
        if target == Status::Active && (before.status() != target || verb == Verb::Prolong) {
            after.expires_at = self.expiry_from_now(&after);
        }
        Ok(after)
    }

    /// When an offer that becomes active now expires.
    pub fn expiry_from_now(&self, offer: &Offer) -> i64 {
        expiry(offer, &Changes::new(self, self.clock.now()))
    }

    pub(crate) async fn save_one(
        &self,
        tx: &mut Tx,
        before: &Offer,
        after: Offer,
        actor: &Actor,
    ) -> Result<Offer> {
        let mut changes = Changes::new(self, self.clock.now());
        let after = changes.save(tx, Some(before), after, actor)?;
        changes.finish(tx).await?;
        Ok(after)
    }
}

/// An offer that does not exist yet.
pub(crate) fn new_offer(
    id: OfferId,
    seller: &str,
    content: Content,
    origin: Origin,
    changes: &Changes<'_>,
    actor: &Actor,
) -> Offer {
    let now = changes.now().0;
    let mut offer = Offer {
        id: id.raw(),
        seller_id: seller.to_owned(),
        origin: Some(origin),
        status: Status::Active.into(),
        content: Some(content),
        created_at: now,
        updated_at: now,
        status_at: now,
        created_by: actor.who.clone(),
        ..Offer::default()
    };
    offer.expires_at = expiry(&offer, changes);
    offer
}

/// When an offer that becomes active now expires.
pub(crate) fn expiry(offer: &Offer, changes: &Changes<'_>) -> i64 {
    let settings = changes.settings();
    let lifetime = if is_from_feed(offer) { settings.feed_lifetime } else { settings.lifetime };
    if lifetime.is_zero() { 0 } else { changes.now().plus(lifetime).0 }
}

/// What a feed owns is changed in the feed.
fn refuse_feed_fields(before: &Offer, content: &Content) -> Result<()> {
    let Some(origin) = before.origin.as_ref().filter(|origin| !origin.namespace.is_empty()) else {
        return Ok(());
    };
    let old = before.content.clone().unwrap_or_default();
    match crate::diff::diff_contents(&old, content).first() {
        None => Ok(()),
        Some(change) => {
            Err(Error::ManagedByFeed { namespace: origin.namespace.clone(), field: change.path.clone() })
        }
    }
}

pub(crate) async fn check_quota(tx: &Tx, seller: &str, new: i64, most: i64) -> Result<()> {
    let count = tx.get(&PRESETS_COUNT, (seller, Preset::All.id())).await?.unwrap_or(0);
    if count + new > most { Err(Error::TooManyOffers(most)) } else { Ok(()) }
}

impl Offers {
    /// The history of an offer, as far as it is kept.
    pub async fn events(&self, id: OfferId, below: Option<i64>, limit: usize) -> Result<Vec<Event>> {
        let snapshot = self.store.snapshot(shard_of(id)).await?;
        let offer = require(&snapshot, id).await?;
        let kept_since = self.clock.now().minus(self.settings.events_kept);
        events(&snapshot, &offer, below, kept_since, limit).await
    }
}

/// One entry of an offer's history.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub version: i64,
    pub row: EventRow,
}

/// The history of an offer, newest first, from below a version; its creation is the last one, told by the offer itself.
pub async fn events(
    read: &impl store::Read,
    offer: &Offer,
    below: Option<i64>,
    kept_since: kit::Timestamp,
    limit: usize,
) -> Result<Vec<Event>> {
    let mut range = store::Range::prefix((offer.id,), limit)?.reversed();
    if let Some(below) = below {
        range = range.before((offer.id, below))?;
    }
    let rows = read.scan(&EVENTS, range).await?;
    let full = rows.len() == limit;
    let mut events: Vec<_> = rows
        .into_iter()
        .filter(|(_, row)| row.at >= kept_since.0)
        .map(|((_, version), row)| Event { version, row })
        .collect();
    let creation_is_due = !full && below.is_none_or(|below| below > 1);
    if creation_is_due && events.len() < limit && offer.created_at >= kept_since.0 {
        events.push(Event { version: 1, row: creation(offer) });
    }
    Ok(events)
}

fn creation(offer: &Offer) -> EventRow {
    let kind = if is_from_feed(offer) { actor::Kind::Feed } else { actor::Kind::Api };
    let actor =
        Actor { kind: kind.into(), who: offer.created_by.clone(), task_id: 0, reason: "created".to_owned() };
    EventRow { fields: Vec::new(), actor: Some(actor), at: offer.created_at, status: Status::Active.into() }
}
