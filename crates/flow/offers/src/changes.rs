//! The one place where the rows of an offer change.
//!
//! Whoever changes offers, by whatever cause, collects the changes of a transaction here and finishes them once: each
//! [`Changes::save`] writes the offer, its places in the lists and its event; [`Changes::finish`] adds up what all of
//! them mean for counts, counters, feed rows and the outbox, so that a batch of a hundred offers costs one row of each.
//! Presets and counts therefore cannot drift by a forgotten caller: there is no other way to write an offer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kit::Timestamp;
use model::{Offer, OfferId, PhotoState, Status, status};
use prost::Message as _;
use store::{Read as _, Tx};
use topics::{Message, outbox};
use wire::offers::offer_part::Kind;
use wire::offers::{Actor, EventRow, FieldChange, FormerOrigin, OfferChange, OfferPart, actor};
use wire::photos::PhotoRequest;

use crate::config::Settings;
use crate::counters::{self, Counter};
use crate::diff::diff;
use crate::presets::{Preset, has_problems, is_from_feed};
use crate::stages::told::Told;
use crate::stages::{Lane, pairs};
use crate::tables::{CONTENT, DUE, EVENTS, FEED, FEED_HEAD, FEED_ORDINALS, OFFER, PRESETS, PRESETS_COUNT};
use crate::{Offers, Result, due, follow};

pub struct Changes<'a> {
    settings: &'a Settings,
    now: Timestamp,
    counts: BTreeMap<(String, u32), i64>,
    counters: BTreeMap<counters::Key, i64>,
    events: Vec<Message>,
    /// Whose offers changed.
    sellers: BTreeSet<String>,
    /// Offers that left their feed, or came back to it: where they were before.
    former: Vec<FormerOrigin>,
    photo_requests: Vec<Message>,
    feed_rows: Vec<FeedTouch>,
    told: Told,
    /// Offers that left the tables.
    removed: Vec<i64>,
    /// Events of those that left for the archive.
    archived: Vec<Message>,
}

/// A feed row that must hear of a change which its feed did not make.
struct FeedTouch {
    key: (String, String, String),
    /// Whose row it must be: what was sold may have lost its row to another offer of that id.
    offer: i64,
    what: Touch,
}

enum Touch {
    /// Read the offer at the next load, even when its record is the same.
    Attention { sold: bool },
    /// The offer was deleted by hand: the next load makes a new one.
    Gone,
    /// A banned offer was deleted by hand: the row keeps the ban.
    DeadWithBan(Box<Offer>),
}

impl<'a> Changes<'a> {
    pub fn new(offers: &'a Offers, now: Timestamp) -> Self {
        Self {
            settings: &offers.settings,
            now,
            counts: BTreeMap::new(),
            counters: BTreeMap::new(),
            events: Vec::new(),
            sellers: BTreeSet::new(),
            former: Vec::new(),
            photo_requests: Vec::new(),
            feed_rows: Vec::new(),
            told: Told::new(offers.interests.masks()),
            removed: Vec::new(),
            archived: Vec::new(),
        }
    }

    /// The same for a stage's run: what it saves is told in its lane.
    #[must_use]
    pub fn in_lane(mut self, lane: Lane) -> Self {
        self.told.lane = Some(lane);
        self
    }

    pub fn now(&self) -> Timestamp {
        self.now
    }

    pub fn settings(&self) -> &'a Settings {
        self.settings
    }

    /// Writes the offer as it is after the change and returns it. Nothing visible changed: nothing is written but what
    /// the bookkeeping needs, and the version stays.
    pub fn save(
        &mut self,
        tx: &mut Tx,
        before: Option<&Offer>,
        mut after: Offer,
        actor: &Actor,
    ) -> Result<Offer> {
        let now = self.now.0;
        let before_status = before.map(Offer::status);
        if before_status != Some(after.status()) {
            after.status_at = now;
        }
        self.hold_for_photo(&mut after);
        self.ask_for_photos(before, &mut after);
        let fields = before.map(|before| diff(before, &after)).unwrap_or_default();
        if before.is_none() || !fields.is_empty() {
            after.version += 1;
            after.updated_at = now;
        }
        after.due_at = self.due_at(&after);
        after.was_sold |= after.status() == Status::SoldHere;
        if before.is_some_and(|before| *before == after) {
            return Ok(after);
        }
        let part = OfferPart { kind: Some(Kind::Content(after.clone())) };
        tx.put(&OFFER, (after.id, CONTENT), &part)?;
        keep_due(tx, before, &after)?;
        self.keep_presets(tx, before, &after, |preset| preset.holds(&after))?;
        self.keep_counters(before, &after);
        self.touch_feed(before, &after, actor);
        if before.is_none() || !fields.is_empty() {
            self.tell(tx, before, &after, fields, actor)?;
        }
        Ok(after)
    }

    /// Takes the offer out of the tables, as the archive and erasure do. Only its photos are let go; a deleted offer
    /// kept them, since its feed may bring it back.
    pub fn remove(&mut self, tx: &mut Tx, offer: &Offer) -> Result<()> {
        let mut gone = offer.clone();
        gone.set_status(Status::Deleted);
        gone.due_at = 0;
        keep_due(tx, Some(offer), &gone)?;
        self.keep_presets(tx, Some(offer), &gone, |_| false)?;
        self.keep_counters(Some(offer), &gone);
        tx.delete(&OFFER, (offer.id, CONTENT))?;
        self.told.forget(offer.id);
        self.removed.push(offer.id);
        if !offer.photos.is_empty() {
            let urls = offer.photos.iter().map(|photo| photo.url.clone()).collect();
            self.request_photos(offer, Vec::new(), urls);
        }
        Ok(())
    }

    /// Tells that the offer left for the archive, under the version that it has there. Followers know of its end already,
    /// and may have another offer of the seller under its name.
    pub fn tell_archived(&mut self, offer: &Offer) {
        let id = printed(offer.id);
        let change = OfferChange {
            offer: Some(offer.clone()),
            version: offer.version,
            fields: vec![FieldChange {
                path: "archived".to_owned(),
                from: Some(false.to_string()),
                to: Some(true.to_string()),
            }],
            actor: Some(due::by_time("archived")),
            changed_at: self.now.0,
            dedupe_id: format!("{id}:{}", offer.version),
            created: false,
        };
        self.archived.push(Message::new(id, change.encode_to_vec()));
    }

    /// Asks for photos of the offer once more. `request` tells this asking from every other one of the offer.
    pub fn ask_for_photos_again(&mut self, offer: &Offer, urls: Vec<String>, request: &str) {
        let request = PhotoRequest {
            request_id: format!("{}:{request}", printed(offer.id)),
            offer_id: offer.id,
            seller_id: offer.seller_id.clone(),
            urls,
            released_urls: Vec::new(),
        };
        self.photo_requests.push(Message::new(printed(offer.id), request.encode_to_vec()));
    }

    /// Lets the offer's due row come again after a while; nothing else of it changes.
    pub fn postpone(&mut self, tx: &mut Tx, offer: &Offer, by: Duration) -> Result<()> {
        let due_at = self.now.plus(by).0;
        let after = Offer { due_at, ..offer.clone() };
        keep_due(tx, Some(offer), &after)?;
        tx.put(&OFFER, (after.id, CONTENT), &OfferPart { kind: Some(Kind::Content(after)) })?;
        Ok(())
    }

    /// Writes what the saves add up to, in as few rows as there can be.
    pub async fn finish(mut self, tx: &mut Tx) -> Result<()> {
        let changed: Vec<_> = self.counts.into_iter().filter(|(_, delta)| *delta != 0).collect();
        let keys = changed.iter().map(|((seller, preset), _)| (seller.as_str(), *preset));
        let stored = tx.get_many(&PRESETS_COUNT, keys).await?;
        for (((seller, preset), delta), count) in changed.iter().zip(stored) {
            tx.put(&PRESETS_COUNT, (seller.as_str(), *preset), &(count.unwrap_or(0) + delta))?;
        }
        counters::add(tx, self.counters).await?;
        touch_feed_rows(tx, self.feed_rows, self.now).await?;
        pairs::forget(tx, &self.removed).await?;
        follow::tell(tx, &self.sellers, &self.events, &self.former).await?;
        self.events.append(&mut self.archived);
        if let Some(seq) = outbox::send_numbered(tx, model::topics::OFFERS_CHANGES, self.events).await? {
            self.told.finish(tx, seq, self.now)?;
        }
        outbox::send(tx, model::topics::PHOTOS_REQUESTS, self.photo_requests).await?;
        Ok(())
    }

    /// When the offer expires or leaves for the archive.
    pub(crate) fn due_at(&self, offer: &Offer) -> i64 {
        match offer.status() {
            Status::Active => offer.expires_at,
            Status::Expired | Status::SoldHere | Status::SoldElsewhere | Status::Deleted => {
                due::archive_moment(Timestamp(offer.status_at).plus(self.settings.archive_after), offer.id).0
            }
            Status::Inactive | Status::Banned | Status::Unspecified => 0,
        }
    }

    /// `holds` says of each list whether the offer is in it from now on.
    fn keep_presets(
        &mut self,
        tx: &mut Tx,
        before: Option<&Offer>,
        after: &Offer,
        holds: impl Fn(Preset) -> bool,
    ) -> Result<()> {
        for preset in Preset::KEPT {
            let was = before.is_some_and(|before| preset.holds(before));
            let is = holds(preset);
            if was == is {
                continue;
            }
            let key = (after.seller_id.as_str(), preset.id(), after.created_at, after.id);
            if is {
                tx.put(&PRESETS, key, &())?;
            } else {
                tx.delete(&PRESETS, key)?;
            }
            let delta = if is { 1 } else { -1 };
            *self.counts.entry((after.seller_id.clone(), preset.id())).or_default() += delta;
        }
        Ok(())
    }

    fn keep_counters(&mut self, before: Option<&Offer>, after: &Offer) {
        let stripe = (after.id.unsigned_abs() % u64::from(self.settings.counter_stripes.max(1))) as u32;
        let mut add = |counter: Counter, currency: &str, delta: i64| {
            if delta != 0 {
                let key = counters::Key {
                    seller: after.seller_id.clone(),
                    counter,
                    currency: currency.to_owned(),
                    stripe,
                };
                *self.counters.entry(key).or_default() += delta;
            }
        };
        for (counter, status) in [
            (Counter::Active, Status::Active),
            (Counter::Expired, Status::Expired),
            (Counter::Banned, Status::Banned),
        ] {
            let was = before.is_some_and(|before| before.status() == status);
            add(counter, "", i64::from(after.status() == status) - i64::from(was));
        }
        if after.was_sold && !before.is_some_and(|before| before.was_sold) {
            add(Counter::Sold, "", 1);
            if let Some(price) = after.content.as_ref().and_then(|content| content.price.as_ref()) {
                add(Counter::MoneyEarned, &price.currency, price.minor);
            }
        }
    }

    /// What somebody else than the feed did to a feed's offer must not be overlooked by «unchanged».
    fn touch_feed(&mut self, before: Option<&Offer>, after: &Offer, actor: &Actor) {
        let Some(before) = before.filter(|before| is_from_feed(before)) else { return };
        if actor.kind() == actor::Kind::Feed {
            return;
        }
        let gone = after.status() == Status::Deleted && before.status() != Status::Deleted;
        let what = if gone && before.status() == Status::Banned {
            Touch::DeadWithBan(Box::new(before.clone()))
        } else if gone {
            Touch::Gone
        } else if before.status() != after.status() || has_problems(before) != has_problems(after) {
            Touch::Attention { sold: status::is_sold(after.status()) }
        } else {
            return;
        };
        let origin = before.origin.clone().unwrap_or_default();
        let key = (before.seller_id.clone(), origin.namespace, origin.external_id);
        self.feed_rows.push(FeedTouch { key, offer: before.id, what });
    }

    fn tell(
        &mut self,
        tx: &mut Tx,
        before: Option<&Offer>,
        after: &Offer,
        fields: Vec<FieldChange>,
        actor: &Actor,
    ) -> Result<()> {
        let now = self.now.0;
        let id = printed(after.id);
        if before.is_some() {
            let row = EventRow {
                fields: fields.clone(),
                actor: Some(actor.clone()),
                at: now,
                status: after.status,
            };
            tx.put(&EVENTS, (after.id, after.version), &row)?;
        }
        self.told.note(after, before.map(|_| fields.as_slice()), actor);
        let change = OfferChange {
            offer: Some(after.clone()),
            version: after.version,
            fields,
            actor: Some(actor.clone()),
            changed_at: now,
            dedupe_id: format!("{id}:{}", after.version),
            created: before.is_none(),
        };
        if let Some(before) = before.filter(|before| names(before) != names(after)) {
            let origin = Some(before.origin.clone().unwrap_or_default());
            self.former.push(FormerOrigin { offer_id: after.id, origin });
        }
        if !self.sellers.contains(&after.seller_id) {
            self.sellers.insert(after.seller_id.clone());
        }
        self.events.push(Message::new(id, change.encode_to_vec()));
        Ok(())
    }

    /// A setting lets an offer with photos wait for the first of them.
    fn hold_for_photo(&self, offer: &mut Offer) {
        let has_ready = offer.photos.iter().any(|photo| photo.state() == PhotoState::Ready);
        let has_urls = offer.content.as_ref().is_some_and(|content| !content.photo_urls.is_empty());
        let is_new = offer.version == 0;
        if is_new && self.settings.wait_for_photo && has_urls && !has_ready {
            if offer.status() == Status::Active {
                offer.set_status(Status::Inactive);
                offer.waits_for_photo = true;
            }
        } else if offer.waits_for_photo && (has_ready || !has_urls) && offer.status() != Status::Deleted {
            offer.waits_for_photo = false;
            if offer.status() == Status::Inactive {
                offer.set_status(Status::Active);
                offer.status_at = self.now.0;
            }
        }
    }

    /// Keeps the known photos of the urls that stay, and asks for the rest.
    fn ask_for_photos(&mut self, before: Option<&Offer>, offer: &mut Offer) {
        let urls = offer.content.as_ref().map(|content| content.photo_urls.as_slice()).unwrap_or_default();
        let same = urls.iter().eq(offer.photos.iter().map(|photo| &photo.url));
        if same || offer.status() == Status::Deleted {
            return;
        }
        let known = |url: &String| offer.photos.iter().find(|photo| photo.url == *url).cloned();
        let waiting = |url: &String| model::Photo {
            url: url.clone(),
            state: PhotoState::Waiting.into(),
            ..model::Photo::default()
        };
        let photos: Vec<_> = urls.iter().map(|url| known(url).unwrap_or_else(|| waiting(url))).collect();
        let before = before.map(|before| before.photos.as_slice()).unwrap_or_default();
        let is_new = |url: &&String| !before.iter().any(|photo| photo.url == **url);
        let new: Vec<_> = urls.iter().filter(is_new).cloned().collect();
        let released: Vec<_> =
            before.iter().map(|photo| &photo.url).filter(|url| !urls.contains(url)).cloned().collect();
        offer.photos = photos;
        if new.is_empty() && released.is_empty() {
            return;
        }
        self.request_photos(offer, new, released);
    }

    fn request_photos(&mut self, offer: &Offer, urls: Vec<String>, released_urls: Vec<String>) {
        let request = PhotoRequest {
            request_id: format!("{}:{}", printed(offer.id), offer.version + 1),
            offer_id: offer.id,
            seller_id: offer.seller_id.clone(),
            urls,
            released_urls,
        };
        self.photo_requests.push(Message::new(printed(offer.id), request.encode_to_vec()));
    }
}

/// What followers know the offer by, beside its id.
fn names(offer: &Offer) -> Option<(&str, &str)> {
    let origin = offer.origin.as_ref().filter(|origin| !origin.namespace.is_empty())?;
    Some((&origin.namespace, &origin.external_id))
}

fn keep_due(tx: &mut Tx, before: Option<&Offer>, after: &Offer) -> Result<()> {
    let old = before.map_or(0, |before| before.due_at);
    if old == after.due_at {
        return Ok(());
    }
    if old != 0 {
        tx.delete(&DUE, (old, after.id))?;
    }
    if after.due_at != 0 {
        tx.put(&DUE, (after.due_at, after.id), &())?;
        tx.wake(crate::DUE_CHANNEL);
    }
    Ok(())
}

/// The id as people and topics write it.
pub fn printed(id: i64) -> String {
    OfferId::from_raw(id).map_or_else(|| id.to_string(), |id| id.to_string())
}

async fn touch_feed_rows(tx: &mut Tx, touches: Vec<FeedTouch>, now: Timestamp) -> Result<()> {
    if touches.is_empty() {
        return Ok(());
    }
    let keys: Vec<_> = touches.iter().map(|touch| (&*touch.key.0, &*touch.key.1, &*touch.key.2)).collect();
    let rows = tx.get_many(&FEED, keys).await?;
    for (FeedTouch { key: (seller, namespace, external_id), offer, what }, row) in
        touches.into_iter().zip(rows)
    {
        let Some(mut row) = row.filter(|row| row.offer_id == offer) else { continue };
        let key = (seller.as_str(), namespace.as_str(), external_id.as_str());
        let dies = !matches!(what, Touch::Attention { .. });
        match what {
            Touch::Attention { sold } => {
                (row.attention, row.sold) = (true, sold);
                tx.put(&FEED, key, &row)?;
            }
            Touch::Gone => tx.delete(&FEED, key)?,
            Touch::DeadWithBan(banned) => {
                (row.dead_at, row.banned) = (now.0, true);
                row.ban_reasons.clone_from(&banned.ban_reasons);
                row.ban_text.clone_from(&banned.ban_text);
                tx.put(&FEED, key, &row)?;
            }
        }
        if dies {
            tx.delete(&FEED_ORDINALS, (seller.as_str(), namespace.as_str(), row.ordinal))?;
            if let Some(mut head) = tx.get(&FEED_HEAD, (seller.as_str(), namespace.as_str())).await? {
                head.live -= 1;
                tx.put(&FEED_HEAD, (seller.as_str(), namespace.as_str()), &head)?;
            }
        }
    }
    Ok(())
}
