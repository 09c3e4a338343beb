//! Offers as they were loaded, what runs want of them, and the one transaction that saves it (T2).
//!
//! An item keeps the **stored bytes** of its offer and of the pairs that were looked at. The transaction compares them
//! with what is stored then: a version alone would miss bookkeeping, which is written without a new version. An item
//! that does not agree drops out alone and runs again; it is compared for runs without an effect too, since a change
//! that came during the run would else be taken for seen.

use std::collections::BTreeMap;

use bytes::Bytes;
use kit::Timestamp;
use model::Offer;
use offers::changes::{Changes, printed};
use offers::stages::tables::PAIRS;
use offers::stages::{Lane, Pairs};
use offers::tables::{CONTENT, OFFER};
use prost::Message as _;
use store::{Encode as _, Read, Tx};
use topics::{Message, outbox};
use wire::offers::offer_part::Kind;
use wire::offers::{Actor, OfferPart, actor};
use wire::stages::{PairRow, Saved, SavedRun};

use crate::patch::Patch;
use crate::{Result, Stages};

/// One offer on its way through one or several stages.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) id: i64,
    bytes: Bytes,
    before: Offer,
    /// As it is after the steps.
    pub(crate) current: Offer,
    /// What each stage changes, in order.
    steps: Vec<(String, Patch)>,
    pairs: BTreeMap<String, PairChange>,
}

#[derive(Clone, Debug)]
struct PairChange {
    bytes: Option<Bytes>,
    before: Option<PairRow>,
    after: PairRow,
    saved: Saved,
    /// A run of it is to be saved; else it was only asked about.
    ran: bool,
    photos_again: Vec<String>,
    messages: Vec<(&'static str, Message)>,
}

impl Item {
    /// The pair with a stage as it is after the steps.
    pub(crate) fn pair(&self, stage: &str) -> &PairRow {
        &self.pairs[stage].after
    }

    pub(crate) fn set_pair(&mut self, stage: &str, after: PairRow) {
        if let Some(pair) = self.pairs.get_mut(stage) {
            pair.after = after;
        }
    }

    /// A run is over: the pair after it, and what it changes of the offer.
    pub(crate) fn ran(&mut self, stage: &str, saved: Saved, after: PairRow, change: Option<(Patch, Offer)>) {
        if let Some(pair) = self.pairs.get_mut(stage) {
            (pair.after, pair.saved, pair.ran) = (after, saved, true);
        }
        if let Some((patch, offer)) = change {
            self.current = offer;
            self.steps.push((stage.to_owned(), patch));
        }
    }

    /// What the run sends when it is saved.
    pub(crate) fn send(
        &mut self,
        stage: &str,
        photos_again: Vec<String>,
        messages: Vec<(&'static str, Message)>,
    ) {
        if let Some(pair) = self.pairs.get_mut(stage) {
            (pair.photos_again, pair.messages) = (photos_again, messages);
        }
    }

    /// Whether a run is to be saved, so that the offer must be the one that was loaded.
    fn is_run(&self) -> bool {
        self.pairs.values().any(|pair| pair.ran)
    }

    /// Whether something of it is written, so that the offer must still be there.
    fn is_written(&self) -> bool {
        self.pairs.values().any(|pair| pair.ran || pair.before.clone().unwrap_or_default() != pair.after)
    }
}

/// Loads offers with their pairs; those that are gone are left out.
pub(crate) async fn load(read: &impl Read, wanted: &[(i64, Vec<String>)]) -> Result<Vec<Item>> {
    let ids: Vec<_> = wanted.iter().map(|(id, _)| *id).collect();
    let keys: Vec<_> =
        wanted.iter().flat_map(|(id, stages)| stages.iter().map(|stage| (*id, stage.clone()))).collect();
    let offers = stored_offers(read, &ids).await?;
    let mut pairs = stored_pairs(read, &keys).await?.into_iter();
    let mut items = Vec::with_capacity(wanted.len());
    for ((id, stages), bytes) in wanted.iter().zip(offers) {
        let mut mine = BTreeMap::new();
        for (stage, bytes) in stages.iter().zip(pairs.by_ref()) {
            let before = bytes.as_ref().map(decode::<PairRow>).transpose()?;
            let after = before.clone().unwrap_or_default();
            mine.insert(
                stage.clone(),
                PairChange {
                    bytes,
                    before,
                    after,
                    saved: Saved::None,
                    ran: false,
                    photos_again: Vec::new(),
                    messages: Vec::new(),
                },
            );
        }
        let Some(bytes) = bytes else { continue };
        let Some(Kind::Content(offer)) = decode::<OfferPart>(&bytes)?.kind else { continue };
        items.push(Item {
            id: *id,
            bytes,
            current: offer.clone(),
            before: offer,
            steps: Vec::new(),
            pairs: mine,
        });
    }
    Ok(items)
}

fn decode<M: prost::Message + Default>(bytes: &Bytes) -> Result<M> {
    M::decode(bytes.clone()).map_err(|error| {
        store::Error::with_source(store::Kind::Corrupt, "a row's value cannot be read", error).into()
    })
}

async fn stored_offers(read: &impl Read, ids: &[i64]) -> Result<Vec<Option<Bytes>>> {
    let keys = ids.iter().map(|id| (*id, CONTENT).encode()).collect::<store::Result<Vec<_>>>()?;
    Ok(read.get_many_raw(read.id(&OFFER)?, keys).await?)
}

async fn stored_pairs(read: &impl Read, keys: &[(i64, String)]) -> Result<Vec<Option<Bytes>>> {
    let keys = keys.iter().map(store::Encode::encode).collect::<store::Result<Vec<_>>>()?;
    Ok(read.get_many_raw(read.id(&PAIRS)?, keys).await?)
}

/// Saves what runs want, all in the lane of the runs. Gives the ids of those that have to run again.
pub(crate) async fn save(
    tx: &mut Tx,
    stages: &Stages,
    lane: Lane,
    items: &[Item],
    now: Timestamp,
) -> Result<Vec<i64>> {
    let conflicts = conflicts(tx, items).await?;
    let mut changes = Changes::new(&stages.offers, now).in_lane(lane);
    let (mut pairs, mut messages) = (Pairs::default(), BTreeMap::<_, Vec<_>>::new());
    for item in items.iter().filter(|item| !conflicts.contains(&item.id)) {
        let mut offer = item.before.clone();
        for (stage, patch) in &item.steps {
            let after = patch.apply(&stages.offers, &offer).map_err(crate::Error::Invalid)?;
            offer = changes.save(tx, Some(&offer), after, &by_stage(stage))?;
        }
        for (stage, pair) in &item.pairs {
            pairs.keep(tx, (item.id, stage), pair.before.as_ref(), &pair.after)?;
            if !pair.photos_again.is_empty() {
                let request = format!("{stage}:{}", now.0);
                changes.ask_for_photos_again(&offer, pair.photos_again.clone(), &request);
            }
            let touched = item.steps.iter().any(|(by, _)| by == stage);
            if pair.saved != Saved::None && (touched || state_changed(pair)) {
                messages
                    .entry(model::topics::STAGES_SAVED)
                    .or_default()
                    .push(message(stage, &offer, pair, now));
            }
            for (topic, message) in &pair.messages {
                messages.entry(*topic).or_default().push(message.clone());
            }
        }
    }
    changes.finish(tx).await?;
    pairs.finish(tx).await?;
    for (topic, messages) in messages {
        outbox::send(tx, topic, messages).await?;
    }
    Ok(conflicts)
}

fn state_changed(pair: &PairChange) -> bool {
    pair.before.as_ref().and_then(|before| before.state.as_ref()) != pair.after.state.as_ref()
}

/// Whose stored bytes are not those that were loaded.
async fn conflicts(tx: &Tx, items: &[Item]) -> Result<Vec<i64>> {
    let written: Vec<_> = items.iter().filter(|item| item.is_written()).collect();
    let ids: Vec<_> = written.iter().map(|item| item.id).collect();
    let offers = stored_offers(tx, &ids).await?;
    let conflicting = written.iter().zip(offers).filter(|(item, stored)| match stored {
        Some(stored) => item.is_run() && *stored != item.bytes,
        None => true,
    });
    let mut conflicts: Vec<_> = conflicting.map(|(item, _)| item.id).collect();
    let pairs: Vec<_> =
        written.iter().flat_map(|item| item.pairs.iter().map(move |pair| (item.id, pair))).collect();
    let keys: Vec<_> = pairs.iter().map(|(id, (stage, _))| (*id, (*stage).clone())).collect();
    for ((id, (_, pair)), stored) in pairs.iter().zip(stored_pairs(tx, &keys).await?) {
        if stored != pair.bytes && !conflicts.contains(id) {
            conflicts.push(*id);
        }
    }
    Ok(conflicts)
}

/// The signature of a stage.
pub(crate) fn by_stage(stage: &str) -> Actor {
    Actor { kind: actor::Kind::Stage.into(), who: stage.to_owned(), task_id: 0, reason: "stage".to_owned() }
}

fn message(stage: &str, offer: &Offer, pair: &PairChange, now: Timestamp) -> Message {
    let run = SavedRun {
        stage: stage.to_owned(),
        offer: Some(offer.clone()),
        state: pair.after.state.clone(),
        state_version: pair.after.state_version,
        saved_at: now.0,
        call: pair.saved == Saved::Call,
    };
    Message::new(printed(offer.id), run.encode_to_vec())
}
