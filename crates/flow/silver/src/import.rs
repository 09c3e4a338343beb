//! Steps 7 and 8: what was planned is written, in one transaction per business and batch.
//!
//! All that a batch needs is read first, in a few questions; then each SSKU is planned ([`crate::steps`]) and its rows are
//! written. An offer that cannot be imported is left out and owed ([`crate::debt`]) in the same transaction, so that the
//! topic's position may move on. A crash leaves the whole batch or nothing of it, and a repeat finds nothing to do.

use std::collections::{BTreeMap, BTreeSet};

use kit::Timestamp;
use store::{Range, Read as _, Tx};
use topics::consume::Blame as _;
use united::{MIGRATIONS_OPEN, OFFERS};
use wire::silver::{CutRow, Debt, PartVersion, SskuRow};
use wire::united::{Colour, OpenMigrations};

use crate::convert::{Delivered, Refused};
use crate::ssku::{BASIC, CommonSsku, Key, SOURCE_ID, SourceType, existing_shops};
use crate::steps::{Detected, Plan, Rules, Stored, Trace, detect, plan};
use crate::tables::{CUTS, ERP_QUEUE, EXISTENCE, FAILURES, GOLD, GOLD_QUEUE, QueuedRow, SSKU};
use crate::{CHANNEL, Error, PAGE_BYTES, Result, debt, forget};

/// Markers of one SSKU: a business has no more shops.
const MAX_MARKERS: usize = 100_000;

/// What a batch came to, for the counters: to be counted when it is durable.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Imported(pub BTreeMap<Trace, u64>);

impl Imported {
    fn count(&mut self, trace: Trace) {
        *self.0.entry(trace).or_default() += 1;
    }

    fn add(&mut self, other: Self) {
        for (trace, offers) in other.0 {
            *self.0.entry(trace).or_default() += offers;
        }
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
            Err(refused) => {
                came.offers.extend(refused.erased.clone());
                came.refused.push(refused.clone());
            }
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

/// The same of what nobody brings again: an SSKU that cannot be saved, or for which the transaction has no room, is owed alone.
pub async fn import_or_owe(
    tx: &mut Tx,
    rules: &Rules,
    delivered: &[Delivered],
    now: Timestamp,
) -> Result<Imported> {
    let mark = tx.mark();
    match import(tx, rules, delivered, now).await {
        Err(error) if error.is_records_fault() => tx.undo_to(mark),
        imported => return imported,
    }
    let mut by_key: BTreeMap<&Key, Vec<Delivered>> = BTreeMap::new();
    for one in delivered {
        by_key.entry(&one.key).or_default().push(one.clone());
    }
    let mut all = Imported::default();
    for (key, delivered) in by_key {
        let mark = tx.mark();
        let reason = if tx.written_bytes() > PAGE_BYTES {
            "the others of its batch were too large".to_owned()
        } else {
            match import(tx, rules, &delivered, now).await {
                Ok(imported) => {
                    all.add(imported);
                    continue;
                }
                Err(error) if error.is_records_fault() => error.to_string(),
                Err(error) => return Err(error),
            }
        };
        tx.undo_to(mark);
        owe(tx, key, &delivered, &reason, now).await?;
        all.count(Trace { step: "save", outcome: "failed" });
    }
    Ok(all)
}

async fn owe(tx: &mut Tx, key: &Key, delivered: &[Delivered], reason: &str, now: Timestamp) -> Result<()> {
    let before = tx.get(&FAILURES, (key.business, key.shop_sku.as_str())).await?;
    let mut owed = before.clone();
    for one in delivered {
        let parts = match &one.ssku {
            Ok(offer) => offer.versions(),
            Err(refused) => refused.parts.clone(),
        };
        owed = Some(debt::after_message(owed.as_ref(), reason, &parts, now));
    }
    debt::settle(tx, key, before.as_ref(), owed.as_ref())
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
    mut known: SskuState,
    plan: Plan,
    now: Timestamp,
    imported: &mut Imported,
) -> Result<()> {
    let was_kept = known.stored.is_kept();
    let (mut is_erased, mut owed_anew) = (false, false);
    let mut row = stored_row(&known.stored);
    let is_queued = matches!(plan.detected, Some(Detected::Changed { .. }));
    match plan.detected {
        Some(Detected::Changed { source, row: merged }) => {
            let is_erasure = came.offers.iter().any(|offer| !offer.erased.is_empty());
            row = Some(save_row(tx, key, &known.stored, source, merged, now).await?);
            imported.count(Trace { step: "save", outcome: "saved" });
            queue(tx, key)?;
            if is_erasure {
                tx.delete(&GOLD, (key.business, key.shop_sku.as_str()))?;
            }
        }
        Some(Detected::Versions { source, row: merged }) => {
            imported.count(Trace { step: "save", outcome: "version_saved" });
            row = Some(save_row(tx, key, &known.stored, source, merged, now).await?);
        }
        Some(Detected::Erased) => {
            imported.count(Trace { step: "save", outcome: "erased" });
            forget::forget(tx, key, known.debt.as_ref()).await?;
            (row, known.cut, known.debt) = (None, None, None);
            // What was cut or owed of other shops is forgotten with it: it is read again, if there is any.
            let offer = tx.get(&OFFERS, (key.business, key.shop_sku.as_str())).await?;
            owed_anew = offer.is_some_and(|offer| !offer.services.is_empty());
            is_erased = true;
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
    if reopened || owed_anew {
        owed = Some(debt::at_once(debt::CUT_BEFORE, owed.as_ref(), now));
    }
    owed = after_refusals(owed, &came.refused, row.as_ref(), now, imported);
    debt::settle(tx, key, known.debt.as_ref(), owed.as_ref())?;
    if owed.is_some() {
        // A migration may wait for the very parts that are owed.
        return Ok(());
    }
    let Some(open) = known.migrations.as_ref() else { return Ok(()) };
    let version = row.as_ref().map_or(0, |row| row.version).max(plan.version);
    let unseen = if is_erased { BTreeMap::new() } else { unseen(open, version, row.as_ref(), &came.offers) };
    answer(tx, key, open, unseen, now, imported).await
}

/// Gold is to be made, and ERP to be told of it.
fn queue(tx: &mut Tx, key: &Key) -> Result<()> {
    let (row, traceparent) =
        ((key.business, key.shop_sku.as_str()), kit::trace::current().unwrap_or_default());
    tx.put(&GOLD_QUEUE, row, &QueuedRow { traceparent })?;
    tx.put(&ERP_QUEUE, row, &())?;
    tx.wake(CHANNEL);
    Ok(())
}

/// What is owed with those offers that could not be imported.
fn after_refusals(
    mut owed: Option<Debt>,
    refused: &[Refused],
    row: Option<&SskuRow>,
    now: Timestamp,
    imported: &mut Imported,
) -> Option<Debt> {
    for refused in refused {
        imported.count(Trace { step: "convert", outcome: "failed" });
        if !debt::is_covered(&refused.parts, row) {
            owed = Some(debt::after_message(owed.as_ref(), &refused.reason, &refused.parts, now));
        }
    }
    owed
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
) -> Result<bool> {
    let row = (key.business, key.shop_sku.as_str());
    if cuts.is_empty() {
        if passes && before.is_some() {
            tx.delete(&CUTS, row)?;
            return Ok(true);
        }
        return Ok(false);
    }
    let known = before.map(|before| before.reason.as_slice()).unwrap_or_default();
    let all: BTreeSet<&str> = known.iter().map(String::as_str).chain(cuts.iter().copied()).collect();
    if all.len() > known.len() {
        tx.put(&CUTS, row, &CutRow { reason: all.into_iter().map(str::to_owned).collect(), at: now.0 })?;
    }
    Ok(false)
}

/// The parts that a migration waits for and that are neither stored nor among these offers, whatever became of them.
fn unseen(
    open: &OpenMigrations,
    version: i64,
    row: Option<&SskuRow>,
    offers: &[CommonSsku],
) -> BTreeMap<u32, i64> {
    if open.parts.is_empty() {
        return if version >= open.version { BTreeMap::new() } else { [(BASIC, open.version)].into() };
    }
    let came = |shop: u32, version: i64| {
        let mut parts = offers.iter().flat_map(CommonSsku::parts);
        parts.any(|(known, part)| known == shop && part.version >= version)
    };
    let is_missing = |(shop, version): &(u32, i64)| {
        let part = PartVersion { shop_id: *shop, version: *version };
        !debt::is_covered(&[part], row) && !came(*shop, *version)
    };
    open.parts.iter().map(|(shop, version)| (*shop, *version)).filter(is_missing).collect()
}

/// Answers a migration if everything that it waits for was seen; else notes what is left to be seen.
async fn answer(
    tx: &mut Tx,
    key: &Key,
    open: &OpenMigrations,
    unseen: BTreeMap<u32, i64>,
    now: Timestamp,
    imported: &mut Imported,
) -> Result<()> {
    if unseen.is_empty() {
        imported.count(Trace { step: "close_migration", outcome: "answered" });
        united::migrations::answer(tx, key.business, &key.shop_sku, open, now).await?;
    } else if !open.parts.is_empty() && open.parts != unseen {
        let open = OpenMigrations { parts: unseen, ..open.clone() };
        tx.put(&MIGRATIONS_OPEN, (key.business, key.shop_sku.as_str()), &open)?;
    }
    Ok(())
}
