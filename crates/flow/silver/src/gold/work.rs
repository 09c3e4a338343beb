//! The gold queue is drained: records are made, written back to united, and told to ERP.
//!
//! A key leaves the queue in the transaction that writes its gold and united's copy of it; a crash before leaves it queued.
//! ERP hears of a key when no gold of it is pending, and hears the version of the gold, by which a repeat is known.

use kit::Timestamp;
use prost::Message as _;
use store::{Range, Read as _, Tx};
use topics::consume::Blame as _;
use topics::{Message, outbox};
use tracing::Instrument as _;
use united::OFFERS;
use united::master_data::write_back;
use wire::silver::{ErpSsku, GoldRow, GoldValue, SskuRow};
use wire::united::{MarketMasterData, MasterParameter, Value};

use super::Rules;
use crate::parameters::Parameter;
use crate::ssku::{Key, SOURCE_ID, SourceType};
use crate::tables::{ERP_QUEUE, FAILURES, GOLD, GOLD_QUEUE, SSKU};
use crate::{PAGE_BYTES, Result, debt};

/// Makes a page of gold and tells ERP of what has its gold, as part of the traces that changed it. Says where to go on.
pub async fn work_off(
    tx: &mut Tx,
    rules: &Rules,
    after: Option<&Key>,
    limit: usize,
    now: Timestamp,
) -> Result<Option<Key>> {
    let rows = queued(tx, &GOLD_QUEUE, after, limit).await?;
    let traces: Vec<_> = rows.iter().map(|(_, row)| row.traceparent.as_str()).collect();
    let span = if traces.iter().all(|trace| trace.is_empty()) {
        tracing::Span::none()
    } else {
        tracing::info_span!("gold", otel.name = "make gold", keys = rows.len())
    };
    kit::trace::follow(&span, traces);
    let work = async {
        let next = drain(tx, rules, after, limit, now).await?;
        let told = tell_erp(tx, after, limit, now).await?;
        // The earlier of the two, so that neither queue is skipped over.
        Ok(match (next, told) {
            (Some(next), Some(told)) => Some(next.min(told)),
            (next, told) => next.or(told),
        })
    };
    work.instrument(span).await
}

/// Makes the gold of up to `limit` queued keys behind `after`, in the order of the keys, or of fewer if they are large. Says
/// where to go on; `None`: from the beginning. So a key that is queued again and again does not keep others waiting.
pub async fn drain(
    tx: &mut Tx,
    rules: &Rules,
    after: Option<&Key>,
    limit: usize,
    now: Timestamp,
) -> Result<Option<Key>> {
    let keys = queued(tx, &GOLD_QUEUE, after, limit).await?;
    let mut keys: Vec<Key> = keys.into_iter().map(|(key, _)| key).collect();
    let is_full = keys.len() == limit;
    let mark = tx.mark();
    let made = match make_page(tx, rules, &keys, now).await {
        Err(error) if error.is_records_fault() => {
            tx.undo_to(mark);
            make_each(tx, rules, &keys, now).await?
        }
        made => made?,
    };
    let is_cut = made < keys.len();
    keys.truncate(made);
    Ok((is_full || is_cut).then(|| keys.pop()).flatten())
}

/// Makes the gold of these keys, as many as the transaction has room for. Says how many that were.
async fn make_page(tx: &mut Tx, rules: &Rules, keys: &[Key], now: Timestamp) -> Result<usize> {
    let sources = SourceType::EVERY.map(SourceType::name);
    let records = keys
        .iter()
        .flat_map(|key| sources.map(|source| (key.business, key.shop_sku.as_str(), source, SOURCE_ID)));
    let rows = || keys.iter().map(|key| (key.business, key.shop_sku.as_str()));
    let (records, golds) = futures::try_join!(tx.get_many(&SSKU, records), tx.get_many(&GOLD, rows()))?;
    tx.prefetch(&OFFERS, rows()).await?;
    for (at, ((key, records), before)) in
        keys.iter().zip(records.chunks(sources.len())).zip(golds).enumerate()
    {
        let made = make_row(rules, records, before.as_ref(), now);
        let row = (key.business, key.shop_sku.as_str());
        match &made {
            Some(gold) if before.as_ref() != Some(gold) => tx.put(&GOLD, row, gold)?,
            None if before.is_some() => tx.delete(&GOLD, row)?,
            _ => {}
        }
        tx.delete(&GOLD_QUEUE, row)?;
        if version(made.as_ref()) != version(before.as_ref()) {
            // Silver may not have changed: other rules choose other values.
            tx.put(&ERP_QUEUE, row, &())?;
        }
        let back = (key.shop_sku.clone(), made.as_ref().map(master_data));
        write_back(tx, key.business, vec![back]).await?;
        if tx.written_bytes() > PAGE_BYTES {
            return Ok(at + 1);
        }
    }
    Ok(keys.len())
}

/// The same one by one, since together they fail: a key whose gold cannot be kept leaves the queue and waits for a person, so
/// that it stops nobody else.
async fn make_each(tx: &mut Tx, rules: &Rules, keys: &[Key], now: Timestamp) -> Result<usize> {
    for (at, key) in keys.iter().enumerate() {
        let mark = tx.mark();
        if let Err(error) = make_page(tx, rules, std::slice::from_ref(key), now).await {
            if !error.is_records_fault() {
                return Err(error);
            }
            tx.undo_to(mark);
            park(tx, key, &error.to_string(), now).await?;
        }
        if tx.written_bytes() > PAGE_BYTES {
            return Ok(at + 1);
        }
    }
    Ok(keys.len())
}

/// ERP hears of the key when its gold is made.
async fn park(tx: &mut Tx, key: &Key, reason: &str, now: Timestamp) -> Result<()> {
    let row = (key.business, key.shop_sku.as_str());
    tracing::error!(%key, reason, "no gold can be made of it");
    tx.delete(&GOLD_QUEUE, row)?;
    tx.delete(&ERP_QUEUE, row)?;
    let before = tx.get(&FAILURES, row).await?;
    debt::put(tx, key, before.as_ref(), &debt::parked(debt::NO_GOLD, reason, before.as_ref(), now))
}

fn version(gold: Option<&GoldRow>) -> Option<i64> {
    gold.map(|gold| gold.version)
}

fn make_row(
    rules: &Rules,
    records: &[Option<SskuRow>],
    before: Option<&GoldRow>,
    now: Timestamp,
) -> Option<GoldRow> {
    let records: Vec<_> = SourceType::EVERY
        .into_iter()
        .zip(records)
        .filter_map(|(source, row)| Some((source, row.as_ref()?)))
        .collect();
    let value = super::make(rules, &records);
    if value.is_empty() {
        return None;
    }
    let silver_version = records.iter().map(|(_, row)| row.version).max().unwrap_or(0);
    match before {
        Some(before) if before.value == value => {
            Some(GoldRow { silver_version, value, version: before.version, made_at: before.made_at })
        }
        // Other candidates, the same winners: nobody outside hears of it.
        Some(before) if winners(&before.value).eq(winners(&value)) => {
            Some(GoldRow { silver_version, value, version: before.version, made_at: now.0 })
        }
        before => {
            let version = before.map_or(now.0, |before| now.0.max(before.version + 1));
            Some(GoldRow { silver_version, value, version, made_at: now.0 })
        }
    }
}

pub(super) fn winners(values: &[GoldValue]) -> impl Iterator<Item = (u32, &[Value])> {
    values.iter().map(|value| (value.parameter_id, value.value.as_slice()))
}

fn master_data(gold: &GoldRow) -> MarketMasterData {
    let parameter = |value: &GoldValue| {
        let winner = value.candidate.first();
        MasterParameter {
            id: value.parameter_id,
            name: Parameter::by_id(value.parameter_id).map_or("", |parameter| parameter.name).to_owned(),
            value: value.value.clone(),
            shop_id: winner.map_or(0, |winner| winner.shop_id),
            updated_at: winner.map_or(0, |winner| winner.updated_at),
        }
    };
    MarketMasterData { version: Some(gold.version), parameter: gold.value.iter().map(parameter).collect() }
}

/// Tells ERP of up to `limit` keys behind `after` whose gold is made. Says where to go on; `None`: from the beginning.
pub async fn tell_erp(tx: &mut Tx, after: Option<&Key>, limit: usize, now: Timestamp) -> Result<Option<Key>> {
    let keys = queued(tx, &ERP_QUEUE, after, limit).await?;
    let keys: Vec<Key> = keys.into_iter().map(|(key, ())| key).collect();
    let rows = || keys.iter().map(|key| (key.business, key.shop_sku.as_str()));
    let (pending, golds) = futures::try_join!(tx.get_many(&GOLD_QUEUE, rows()), tx.get_many(&GOLD, rows()))?;
    let mut messages = Vec::new();
    for ((key, pending), gold) in keys.iter().zip(pending).zip(golds) {
        if pending.is_some() {
            continue;
        }
        let told = ErpSsku {
            business_id: key.business,
            shop_sku: key.shop_sku.clone(),
            gold_version: gold.as_ref().map_or(now.0, |gold| gold.version),
            removed: gold.is_none(),
        };
        messages.push(Message::new(key.business.to_string(), told.encode_to_vec()));
        tx.delete(&ERP_QUEUE, (key.business, key.shop_sku.as_str()))?;
    }
    outbox::send(tx, model::topics::ERP_SSKU, messages).await?;
    Ok((keys.len() == limit).then(|| keys.into_iter().next_back()).flatten())
}

async fn queued<V: store::Value>(
    tx: &Tx,
    queue: &store::Table<(u32, String), V>,
    after: Option<&Key>,
    limit: usize,
) -> Result<Vec<(Key, V)>> {
    let range = match after {
        Some(after) => Range::all(limit).after((after.business, after.shop_sku.as_str()))?,
        None => Range::all(limit),
    };
    let rows = tx.scan(queue, range).await?;
    Ok(rows.into_iter().map(|((business, shop_sku), row)| (Key { business, shop_sku }, row)).collect())
}
