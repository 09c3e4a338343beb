//! Places in lists and due rows against the offers they speak of, both ways.

use model::Offer;
use store::{Range, Read, Shard, Tx};

use super::{Mode, Report, count_repair};
use crate::changes::printed;
use crate::presets::Preset;
use crate::read::find_many;
use crate::tables::{CONTENT, DUE, OFFER, PRESETS};
use crate::{Offers, Result};

/// Offers of a page, each of up to 100 kB.
const OFFERS_AT_ONCE: usize = 100;
const ROWS_AT_ONCE: usize = 1_000;

pub(super) async fn check(
    offers: &Offers,
    shard: Shard,
    only: Option<&str>,
    mode: Mode,
    report: &mut Report,
) -> Result<()> {
    missing(offers, shard, only, mode, report).await?;
    surplus_places(offers, shard, only, mode, report).await?;
    surplus_due(offers, shard, only, mode, report).await
}

/// Every offer has the rows that its data ask for.
async fn missing(
    offers: &Offers,
    shard: Shard,
    only: Option<&str>,
    mode: Mode,
    report: &mut Report,
) -> Result<()> {
    let mut last: Option<(i64, String)> = None;
    loop {
        let snapshot = offers.store.snapshot(shard).await?;
        let mut range = Range::all(OFFERS_AT_ONCE);
        if let Some((id, kind)) = &last {
            range = range.after((*id, kind.as_str()))?;
        }
        let page = snapshot.scan(&OFFER, range).await?;
        let Some((end, _)) = page.last() else { return Ok(()) };
        last = Some(end.clone());
        let found: Vec<Offer> = page
            .into_iter()
            .filter(|((_, kind), _)| kind == CONTENT)
            .filter_map(|(_, part)| crate::read::content(part))
            .filter(|offer| only.is_none_or(|only| offer.seller_id == only))
            .collect();
        report.offers += found.len() as u64;
        let suspects: Vec<i64> = lacking(&snapshot, &found).await?.iter().map(|lack| lack.0).collect();
        if !suspects.is_empty() {
            repair_missing(offers, shard, &suspects, mode, report).await?;
        }
    }
}

/// What an offer lacks.
#[derive(Clone, Copy)]
enum Lack {
    Place(Preset),
    Due,
}

/// The rows that are not there, as (offer, its seller and creation, what).
async fn lacking(read: &impl Read, offers: &[Offer]) -> Result<Vec<(i64, Lack)>> {
    let places: Vec<(Place, Preset)> = offers
        .iter()
        .flat_map(|offer| Preset::KEPT.map(|preset| (offer, preset)))
        .filter(|(offer, preset)| preset.holds(offer))
        .map(|(offer, preset)| ((offer.seller_id.clone(), preset.id(), offer.created_at, offer.id), preset))
        .collect();
    let keys: Vec<Place> = places.iter().map(|(place, _)| place.clone()).collect();
    let listed = read.get_many(&PRESETS, keys).await?;
    let absent = places.into_iter().zip(listed).filter(|(_, row)| row.is_none());
    let mut lacks: Vec<_> = absent.map(|((place, preset), _)| (place.3, Lack::Place(preset))).collect();
    let timed: Vec<(i64, i64)> =
        offers.iter().filter(|offer| offer.due_at != 0).map(|offer| (offer.due_at, offer.id)).collect();
    let due = read.get_many(&DUE, timed.clone()).await?;
    let absent = timed.into_iter().zip(due).filter(|(_, row)| row.is_none());
    lacks.extend(absent.map(|((_, id), _)| (id, Lack::Due)));
    Ok(lacks)
}

async fn repair_missing(
    offers: &Offers,
    shard: Shard,
    suspects: &[i64],
    mode: Mode,
    report: &mut Report,
) -> Result<()> {
    let repair = async |tx: &mut Tx| {
        let mut found = Report::default();
        let now: Vec<Offer> = find_many(tx, suspects).await?.into_iter().flatten().collect();
        for (id, lack) in lacking(tx, &now).await? {
            let Some(offer) = now.iter().find(|offer| offer.id == id) else { continue };
            match lack {
                Lack::Place(preset) => {
                    tx.put(&PRESETS, (offer.seller_id.as_str(), preset.id(), offer.created_at, id), &())?;
                    found.row(
                        &offer.seller_id,
                        format!("offer {} was not in the list {}", printed(id), preset.name()),
                    );
                }
                Lack::Due => {
                    tx.put(&DUE, (offer.due_at, id), &())?;
                    tx.wake(crate::DUE_CHANNEL);
                    found.row(&offer.seller_id, format!("offer {} had no due row", printed(id)));
                }
            }
        }
        finish(tx, mode, found).await
    };
    report.add(outcome(offers.store.transact(shard, repair).await)?);
    Ok(())
}

/// Every place in a list has an offer that belongs there.
async fn surplus_places(
    offers: &Offers,
    shard: Shard,
    only: Option<&str>,
    mode: Mode,
    report: &mut Report,
) -> Result<()> {
    let mut last: Option<(String, u32, i64, i64)> = None;
    loop {
        let snapshot = offers.store.snapshot(shard).await?;
        let mut range = match only {
            Some(seller) => Range::prefix((seller,), ROWS_AT_ONCE)?,
            None => Range::all(ROWS_AT_ONCE),
        };
        if let Some((seller, preset, created, id)) = &last {
            range = range.after((seller.as_str(), *preset, *created, *id))?;
        }
        let page: Vec<_> = snapshot.scan(&PRESETS, range).await?.into_iter().map(|(key, ())| key).collect();
        let Some(end) = page.last() else { return Ok(()) };
        last = Some(end.clone());
        for chunk in page.chunks(OFFERS_AT_ONCE) {
            let suspects = misplaced(&snapshot, chunk).await?;
            if suspects.is_empty() {
                continue;
            }
            let repair = async |tx: &mut Tx| {
                let mut found = Report::default();
                for key in misplaced(tx, &suspects).await? {
                    tx.delete(&PRESETS, (key.0.as_str(), key.1, key.2, key.3))?;
                    let list = Preset::KEPT.into_iter().find(|preset| preset.id() == key.1);
                    let list = list.map_or_else(|| key.1.to_string(), |preset| preset.name().to_owned());
                    found.row(&key.0, format!("the list {list} had {}, which is not in it", printed(key.3)));
                }
                finish(tx, mode, found).await
            };
            report.add(outcome(offers.store.transact(shard, repair).await)?);
        }
    }
}

type Place = (String, u32, i64, i64);

/// The places that are still there and whose offer is not in that list.
async fn misplaced(read: &impl Read, places: &[Place]) -> Result<Vec<Place>> {
    let rows = read.get_many(&PRESETS, places.to_vec()).await?;
    let ids: Vec<_> = places.iter().map(|place| place.3).collect();
    let found = find_many(read, &ids).await?;
    let belongs = |(seller, preset, created, _): &Place, offer: &Option<Offer>| {
        let list = Preset::KEPT.into_iter().find(|list| list.id() == *preset);
        offer.as_ref().is_some_and(|offer| {
            offer.seller_id == *seller
                && offer.created_at == *created
                && list.is_some_and(|list| list.holds(offer))
        })
    };
    let wrong = places
        .iter()
        .zip(rows)
        .zip(found)
        .filter(|((place, row), offer)| row.is_some() && !belongs(place, offer));
    Ok(wrong.map(|((place, _), _)| place.clone()).collect())
}

/// Every due row stands where its offer says.
async fn surplus_due(
    offers: &Offers,
    shard: Shard,
    only: Option<&str>,
    mode: Mode,
    report: &mut Report,
) -> Result<()> {
    let mut last: Option<(i64, i64)> = None;
    loop {
        let snapshot = offers.store.snapshot(shard).await?;
        let mut range = Range::all(OFFERS_AT_ONCE);
        if let Some(last) = last {
            range = range.after(last)?;
        }
        let page: Vec<_> = snapshot.scan(&DUE, range).await?.into_iter().map(|(key, ())| key).collect();
        let Some(end) = page.last() else { return Ok(()) };
        last = Some(*end);
        let suspects: Vec<_> =
            not_due(&snapshot, &page, only).await?.into_iter().map(|(key, _)| key).collect();
        if suspects.is_empty() {
            continue;
        }
        let repair = async |tx: &mut Tx| {
            let mut found = Report::default();
            for (key, seller) in not_due(tx, &suspects, only).await? {
                tx.delete(&DUE, key)?;
                found.row(&seller, format!("offer {} had a due row too many", printed(key.1)));
            }
            finish(tx, mode, found).await
        };
        report.add(outcome(offers.store.transact(shard, repair).await)?);
    }
}

/// The due rows that are still there and that no offer asks for, with the seller where there is an offer.
async fn not_due(
    read: &impl Read,
    rows: &[(i64, i64)],
    only: Option<&str>,
) -> Result<Vec<((i64, i64), String)>> {
    let there = read.get_many(&DUE, rows.to_vec()).await?;
    let ids: Vec<_> = rows.iter().map(|(_, id)| *id).collect();
    let found = find_many(read, &ids).await?;
    let wrong = rows.iter().zip(there).zip(found).filter_map(|((key, row), offer)| {
        let asked = offer.as_ref().is_some_and(|offer| offer.due_at == key.0);
        let seller = offer.map(|offer| offer.seller_id).unwrap_or_default();
        (row.is_some() && !asked && only.is_none_or(|only| only == seller)).then_some((*key, seller))
    });
    Ok(wrong.collect())
}

/// A transaction that only looked is dropped with what it wrote.
enum Outcome {
    Looked(Report),
    Failed(crate::Error),
}

impl From<store::Error> for Outcome {
    fn from(error: store::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<crate::Error> for Outcome {
    fn from(error: crate::Error) -> Self {
        Self::Failed(error)
    }
}

async fn finish(tx: &mut Tx, mode: Mode, found: Report) -> Result<Report, Outcome> {
    if mode == Mode::Look || found.is_clean() {
        return Err(Outcome::Looked(found));
    }
    count_repair(tx).await?;
    Ok(found)
}

fn outcome(ended: Result<Report, Outcome>) -> Result<Report> {
    match ended {
        Ok(found) | Err(Outcome::Looked(found)) => Ok(found),
        Err(Outcome::Failed(error)) => Err(error),
    }
}
