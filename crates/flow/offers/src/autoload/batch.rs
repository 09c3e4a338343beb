//! A run of batches of one load: read in a few questions, decided record by record, written once.

use std::collections::{BTreeSet, HashMap};

use model::{Offer, OfferId};
use store::{Read as _, Tx};
use wire::feeds::{FeedBatch, FeedRecord, Outcome, RecordResult, Tally};
use wire::offers::offer_part::Kind;
use wire::offers::{FeedHead, FeedRow, OfferPart, Opinion};

use super::decide::{Decision, Known, Rules, decide, needs_offer};
use super::record::Writer;
use super::results::{self, Report};
use super::seen::Seen;
use super::{Load, terminal};
use crate::changes::Changes;
use crate::presets::Preset;
use crate::tables::{
    CONTENT, EARLY_OPINIONS, FEED, FEED_BATCHES, FEED_HEAD, MODERATION, OFFER, PRESETS_COUNT,
};
use crate::{Offers, Result, id, moderation, read};

/// Applies batches of one load, in their order, within a transaction of the seller's shard.
pub(super) async fn apply(tx: &mut Tx, offers: &Offers, load: &Load, batches: Vec<FeedBatch>) -> Result<()> {
    let batches = unknown(tx, load, batches).await?;
    if batches.is_empty() {
        return Ok(());
    }
    let mut head = tx.get(&FEED_HEAD, load.feed()).await?.unwrap_or_default();
    if terminal::is_stale(&head, load) {
        return results::send_reports(tx, load, batches.into_iter().map(stale).collect()).await;
    }
    terminal::begin(tx, load, &mut head).await?;
    let (reports, created) = write(tx, offers, load, &mut head, batches).await?;
    for report in &reports {
        results::add(head.tally.get_or_insert_default(), &report.tally);
        head.batches_applied += 1;
        tx.put(
            &FEED_BATCHES,
            (&*load.seller, &*load.namespace, load.key(), report.number),
            &Tally::default(),
        )?;
    }
    tx.put(&FEED_HEAD, load.feed(), &head)?;
    results::send_reports(tx, load, reports).await?;
    apply_early(tx, offers, &created).await
}

/// Without the batches that were applied before, and without repeats in the run.
pub(super) async fn unknown(tx: &Tx, load: &Load, batches: Vec<FeedBatch>) -> Result<Vec<FeedBatch>> {
    let (seller, namespace) = load.feed();
    let keys: Vec<_> = batches.iter().map(|batch| (seller, namespace, load.key(), batch.number)).collect();
    let known = tx.get_many(&FEED_BATCHES, keys).await?;
    let mut numbers = BTreeSet::new();
    let new = batches.into_iter().zip(known).filter(|(_, known)| known.is_none()).map(|(batch, _)| batch);
    Ok(new.filter(|batch| numbers.insert(batch.number)).collect())
}

fn stale(batch: FeedBatch) -> Report {
    let mut report = Report::of(batch.number);
    for _ in batch.records {
        report.add(RecordResult { outcome: Outcome::Stale.into(), ..RecordResult::default() });
    }
    report
}

/// What is known of the ids of a run of batches.
#[derive(Default)]
pub(super) struct Stored {
    pub(super) rows: HashMap<String, FeedRow>,
    pub(super) offers: HashMap<i64, Offer>,
}

impl Stored {
    /// Two questions, however many records there are.
    pub(super) async fn load(tx: &Tx, load: &Load, batches: &[FeedBatch]) -> Result<Self> {
        let records = || batches.iter().flat_map(|batch| &batch.records);
        let ids: BTreeSet<&str> = records()
            .map(|record| record.external_id.as_str())
            .filter(|id| super::decide::bad_id(id).is_none())
            .collect();
        let (seller, namespace) = load.feed();
        let keys: Vec<_> = ids.iter().map(|id| (seller, namespace, *id)).collect();
        let found = tx.get_many(&FEED, keys).await?;
        let known = ids.into_iter().zip(found).filter_map(|(id, row)| Some((id.to_owned(), row?)));
        let rows: HashMap<String, FeedRow> = known.collect();
        let wanted: BTreeSet<i64> = records()
            .filter_map(|record| rows.get(&record.external_id).filter(|row| needs_offer(record, row)))
            .map(|row| row.offer_id)
            .collect();
        let wanted: Vec<i64> = wanted.into_iter().collect();
        let offers = find_many(tx, &wanted).await?;
        let offers = wanted.into_iter().zip(offers).filter_map(|(id, offer)| Some((id, offer?))).collect();
        Ok(Self { rows, offers })
    }

    pub(super) fn of(&self, record: &FeedRecord) -> Known<'_> {
        let row = self.rows.get(&record.external_id);
        Known { row, offer: row.and_then(|row| self.offers.get(&row.offer_id)), seen: false }
    }

    pub(super) fn ordinals(&self) -> impl Iterator<Item = i64> {
        self.rows.values().map(|row| row.ordinal)
    }
}

async fn write(
    tx: &mut Tx,
    offers: &Offers,
    load: &Load,
    head: &mut FeedHead,
    batches: Vec<FeedBatch>,
) -> Result<(Vec<Report>, Vec<i64>)> {
    let stored = Stored::load(tx, load, &batches).await?;
    let changes = Changes::new(offers, offers.clock.now());
    let rules = Rules { now: changes.now(), revive_within: offers.settings.revive_within };
    let records: i64 = batches.iter().map(|batch| batch.records.len() as i64).sum();
    let new = head.next_ordinal..head.next_ordinal + records;
    let seen = Seen::load(tx, load, stored.ordinals().chain(new)).await?;
    let (mut fresh, mut revived) = (0, Vec::new());
    for record in batches.iter().flat_map(|batch| &batch.records) {
        let known = stored.of(record);
        match decide(record, known, rules) {
            Decision::Created => fresh += 1,
            Decision::Revived => revived.extend(known.row.map(|row| row.offer_id)),
            _ => {}
        }
    }
    let ids = id::fresh(tx, fresh).await?;
    let opinions = opinions(tx, &revived).await?;
    let room = if fresh + revived.len() == 0 { 0 } else { room(tx, offers, load).await? };
    let mut writer = Writer::new(load, rules, head, stored, seen, changes, ids.clone(), opinions, room);
    let mut reports = Vec::with_capacity(batches.len());
    for batch in batches {
        let mut report = Report::of(batch.number);
        for record in batch.records {
            report.add(writer.record(tx, record)?);
        }
        reports.push(report);
    }
    writer.finish(tx).await?;
    Ok((reports, ids.into_iter().map(OfferId::raw).collect()))
}

/// The offers of these ids, in their order.
pub(super) async fn find_many(tx: &Tx, ids: &[i64]) -> Result<Vec<Option<Offer>>> {
    let keys: Vec<_> = ids.iter().map(|id| (*id, CONTENT)).collect();
    let parts = tx.get_many(&OFFER, keys).await?;
    Ok(parts.into_iter().map(|part| part.and_then(read::content)).collect())
}

/// How many offers the seller may still have.
async fn room(tx: &Tx, offers: &Offers, load: &Load) -> Result<i64> {
    let count = tx.get(&PRESETS_COUNT, (load.seller.as_str(), Preset::All.id())).await?;
    Ok(offers.settings.max_offers - count.unwrap_or(0))
}

/// The last opinion on each: while an offer is away it may have been judged.
async fn opinions(tx: &Tx, ids: &[i64]) -> Result<HashMap<i64, Opinion>> {
    let keys: Vec<_> = ids.iter().map(|id| (*id, MODERATION)).collect();
    let parts = tx.get_many(&OFFER, keys).await?;
    let opinion = |part: Option<OfferPart>| match part?.kind {
        Some(Kind::Moderation(opinion)) => Some(opinion),
        _ => None,
    };
    Ok(ids.iter().zip(parts).filter_map(|(id, part)| Some((*id, opinion(part)?))).collect())
}

/// A new offer may have been judged before it was known.
async fn apply_early(tx: &mut Tx, offers: &Offers, created: &[i64]) -> Result<()> {
    let keys: Vec<_> = created.iter().map(|id| (*id,)).collect();
    let waiting = tx.get_many(&EARLY_OPINIONS, keys).await?;
    for (id, _) in created.iter().zip(waiting).filter(|(_, opinion)| opinion.is_some()) {
        let offer = find_many(tx, &[*id]).await?.pop().flatten();
        if let Some(offer) = offer {
            moderation::apply_early(tx, offers, offer).await?;
        }
    }
    Ok(())
}
