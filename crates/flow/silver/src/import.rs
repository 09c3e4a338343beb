//! Steps 7 and 8: what was planned is written, in one transaction per business and batch.
//!
//! All that a batch needs is read first, in a few questions; then each SSKU is planned ([`crate::steps`]) and its rows are
//! written. An offer that cannot be imported is left out and owed ([`crate::debt`]) in the same transaction, so that the
//! topic's position may move on. A crash leaves the whole batch or nothing of it, and a repeat finds nothing to do.

use std::collections::{BTreeMap, BTreeSet};

use kit::Timestamp;
use store::{Range, Read as _, Tx};
use wire::silver::{CutRow, Debt, SskuRow};
use wire::united::{Colour, OpenMigrations};

use crate::convert::{Delivered, Refused};
use crate::ssku::{CommonSsku, Key, SOURCE_ID, SourceType, existing_shops};
use crate::steps::{Detected, Plan, Rules, Stored, Trace, detect, plan};
use crate::tables::{CUTS, ERP_QUEUE, EXISTENCE, FAILURES, GOLD, GOLD_QUEUE, QueuedRow, SSKU};
use crate::{CHANNEL, Error, Result, debt, forget};

/// Markers of one SSKU: a business has no more shops.
const MAX_MARKERS: usize = 100_000;

/// What a batch came to, for the counters: to be counted when it is durable.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Imported(pub BTreeMap<Trace, u64>);

impl Imported {
    fn count(&mut self, trace: Trace) {
        *self.0.entry(trace).or_default() += 1;
    }
}

/// What is stored of an SSKU and of what hangs on it.
struct SskuState {
    stored: Stored,
    cut: Option<CutRow>,
    debt: Option<Debt>,
    migrations: Option<OpenMigrations>,
}

/// The offers of a batch that are one SSKU's.
#[derive(Default)]
struct Arrivals {
    offers: Vec<CommonSsku>,
    refused: Vec<Refused>,
}

/// Imports offers of one business.
pub async fn import(tx: &mut Tx, rules: &Rules, delivered: &[Delivered], now: Timestamp) -> Result<Imported> {
    let mut imported = Imported::default();
    let mut came: BTreeMap<&Key, Arrivals> = BTreeMap::new();
    for Delivered { key, ssku } in delivered {
        let came = came.entry(key).or_default();
        match ssku {
            Ok(offer) => {
                imported.count(Trace { step: "convert", outcome: "converted" });
                came.offers.push(offer.clone());
            }
            Err(refused) => came.refused.push(refused.clone()),
        }
    }
    let Some(business) = came.keys().next().map(|key| key.business) else { return Ok(Imported::default()) };
    if came.keys().any(|key| key.business != business) {
        return Err(Error::Invalid("a batch has offers of one business".to_owned()));
    }
    let known = read(tx, rules, business, &came).await?;
    for ((key, came), known) in came.into_iter().zip(known) {
        let plan = plan(rules, key, &came.offers, &known.stored);
        for trace in &plan.trace {
            imported.count(*trace);
        }
        save(tx, key, &came, known, plan, now, &mut imported).await?;
    }
    Ok(imported)
}

async fn read(
    tx: &Tx,
    rules: &Rules,
    business: u32,
    came: &BTreeMap<&Key, Arrivals>,
) -> Result<Vec<SskuState>> {
    let shop_skus: Vec<String> = came.keys().map(|key| key.shop_sku.clone()).collect();
    let keys = || shop_skus.iter().map(|shop_sku| (business, shop_sku.as_str()));
    let sources = SourceType::EVERY.map(SourceType::name);
    let records = keys().flat_map(|(business, sku)| sources.map(|source| (business, sku, source, SOURCE_ID)));
    let (records, cuts, debts, open) = futures::join!(
        tx.get_many(&SSKU, records),
        tx.get_many(&CUTS, keys()),
        tx.get_many(&FAILURES, keys()),
        united::migrations::open(tx, business, &shop_skus),
    );
    let mut records = records?.into_iter();
    let mut known = Vec::with_capacity(came.len());
    for (((_, cut), debt), migrations) in came.keys().zip(cuts?).zip(debts?).zip(open?) {
        let mut stored = Stored::default();
        for source in sources {
            if let Some(row) = records.next().flatten() {
                stored.rows.insert((source.to_owned(), SOURCE_ID.to_owned()), row);
            }
        }
        known.push(SskuState { stored, cut, debt, migrations });
    }
    read_existence(tx, rules, came, &mut known).await?;
    Ok(known)
}

/// Markers matter only to DBS offers that are not kept, in a mode that does not take all.
async fn read_existence(
    tx: &Tx,
    rules: &Rules,
    came: &BTreeMap<&Key, Arrivals>,
    known: &mut [SskuState],
) -> Result<()> {
    let has_dbs = |offer: &CommonSsku| offer.services.values().any(|part| part.colour() == Colour::Dbs);
    let mut asked = Vec::new();
    for (at, (key, came)) in came.iter().enumerate() {
        let matters = !rules.takes_dbs(key.business) && !known[at].stored.is_kept();
        if matters && came.offers.iter().any(has_dbs) {
            asked.push((at, Range::prefix((key.business, key.shop_sku.as_str()), 1)?));
        }
    }
    let scans = asked.iter().map(|(_, range)| tx.scan(&EXISTENCE, range.clone()));
    for ((at, _), markers) in asked.iter().zip(futures::future::try_join_all(scans).await?) {
        known[*at].stored.exists = !markers.is_empty();
    }
    Ok(())
}

async fn save(
    tx: &mut Tx,
    key: &Key,
    came: &Arrivals,
    known: SskuState,
    plan: Plan,
    now: Timestamp,
    imported: &mut Imported,
) -> Result<()> {
    let was_kept = known.stored.is_kept();
    let mut row = stored_row(&known.stored);
    let is_queued = matches!(plan.detected, Some(Detected::Changed { .. }));
    match plan.detected {
        Some(Detected::Changed { source, row: merged }) => {
            let is_erasure = came.offers.iter().any(|offer| !offer.erased.is_empty());
            row = Some(save_row(tx, key, &known.stored, source, merged, now).await?);
            imported.count(Trace { step: "save", outcome: "saved" });
            let traceparent = kit::trace::current().unwrap_or_default();
            tx.put(&GOLD_QUEUE, (key.business, key.shop_sku.as_str()), &QueuedRow { traceparent })?;
            tx.put(&ERP_QUEUE, (key.business, key.shop_sku.as_str()), &())?;
            if is_erasure {
                tx.delete(&GOLD, (key.business, key.shop_sku.as_str()))?;
            }
            tx.wake(CHANNEL);
        }
        Some(Detected::Versions { source, row: merged }) => {
            imported.count(Trace { step: "save", outcome: "version_saved" });
            row = Some(save_row(tx, key, &known.stored, source, merged, now).await?);
        }
        Some(Detected::Erased) => {
            imported.count(Trace { step: "save", outcome: "erased" });
            forget::forget(tx, key, known.debt.as_ref()).await?;
            return answer(tx, key, known.migrations.as_ref(), i64::MAX, now, imported).await;
        }
        Some(Detected::Older | Detected::Repeated | Detected::Empty) | None => {}
    }
    let cuts: BTreeSet<&'static str> = plan.cuts.iter().map(|cut| cut.name()).collect();
    let passes = !came.offers.is_empty() && (was_kept || row.is_some());
    let reopened = note_cuts(tx, key, known.cut.as_ref(), &cuts, passes, now)?;
    let mut owed = known.debt.clone().filter(|debt| !debt::is_covered(&debt.part, row.as_ref()));
    if is_queued {
        // Gold is made again, and says anew if it cannot be.
        owed = owed.filter(|debt| !debt::is_of_gold(debt));
    }
    if let Some(reason) = reopened {
        owed = Some(debt::at_once(reason, owed.as_ref(), now));
    }
    for refused in &came.refused {
        imported.count(Trace { step: "convert", outcome: "failed" });
        if !debt::is_covered(&refused.parts, row.as_ref()) {
            owed = Some(debt::after_message(owed.as_ref(), &refused.reason, &refused.parts, now));
        }
    }
    debt::settle(tx, key, known.debt.as_ref(), owed.as_ref())?;
    if owed.is_some() {
        // A migration may wait for the very parts that are owed.
        return Ok(());
    }
    let version = row.as_ref().map_or(0, |row| row.version).max(plan.version);
    answer(tx, key, known.migrations.as_ref(), version, now, imported).await
}

/// The record, its markers, and what it leaves behind under another type.
async fn save_row(
    tx: &mut Tx,
    key: &Key,
    stored: &Stored,
    source: SourceType,
    mut row: SskuRow,
    now: Timestamp,
) -> Result<SskuRow> {
    let sku = key.shop_sku.as_str();
    let shops: BTreeSet<u32> = existing_shops(&row).collect();
    row.removed_at = match (shops.is_empty(), row.removed_at) {
        (false, _) => 0,
        (true, 0) => now.0,
        (true, since) => since,
    };
    let before = stored_row(stored);
    let marked: BTreeSet<u32> =
        before.iter().flat_map(|row| existing_shops(row).collect::<Vec<_>>()).collect();
    for shop in shops.difference(&marked) {
        tx.put(&EXISTENCE, (key.business, sku, *shop), &())?;
    }
    for shop in marked.difference(&shops) {
        tx.delete(&EXISTENCE, (key.business, sku, *shop))?;
    }
    if stored.exists && !stored.is_kept() {
        // Markers without a record are of an import before ours: those that are not true go.
        let markers = tx.scan(&EXISTENCE, Range::prefix((key.business, sku), MAX_MARKERS)?).await?;
        for ((business, sku, shop), ()) in
            markers.into_iter().filter(|((_, _, shop), ())| !shops.contains(shop))
        {
            tx.delete(&EXISTENCE, (business, sku, shop))?;
        }
    }
    for (source_type, source_id) in detect::garbage(stored, source) {
        tx.delete(&SSKU, (key.business, sku, source_type, source_id))?;
    }
    tx.put(&SSKU, (key.business, sku, source.name(), SOURCE_ID), &row)?;
    Ok(row)
}

fn stored_row(stored: &Stored) -> Option<SskuRow> {
    SourceType::EVERY.iter().find_map(|source| stored.row(*source)).cloned()
}

/// Notes what was left out. If an offer passed whole, and something of the SSKU was left out earlier, says that it must
/// be read again: what was cut then passes now.
fn note_cuts(
    tx: &mut Tx,
    key: &Key,
    before: Option<&CutRow>,
    cuts: &BTreeSet<&'static str>,
    passes: bool,
    now: Timestamp,
) -> Result<Option<&'static str>> {
    let row = (key.business, key.shop_sku.as_str());
    if cuts.is_empty() {
        if passes && before.is_some() {
            tx.delete(&CUTS, row)?;
            return Ok(Some(debt::CUT_BEFORE));
        }
        return Ok(None);
    }
    let known = before.map(|before| before.reason.as_slice()).unwrap_or_default();
    let all: BTreeSet<&str> = known.iter().map(String::as_str).chain(cuts.iter().copied()).collect();
    if all.len() > known.len() {
        tx.put(&CUTS, row, &CutRow { reason: all.into_iter().map(str::to_owned).collect(), at: now.0 })?;
    }
    Ok(None)
}

/// Answers a migration that waits for a version that we have seen.
async fn answer(
    tx: &mut Tx,
    key: &Key,
    open: Option<&OpenMigrations>,
    version: i64,
    now: Timestamp,
    imported: &mut Imported,
) -> Result<()> {
    if let Some(open) = open.filter(|open| version >= open.version) {
        imported.count(Trace { step: "close_migration", outcome: "answered" });
        united::migrations::answer(tx, key.business, &key.shop_sku, open, now).await?;
    }
    Ok(())
}
