//! Whether the rows that follow from the pairs are those that should: for tests and for `dvor fsck`.
//!
//! Everything is read from one snapshot, in pages, so writers go on meanwhile and memory does not grow with the tables.

use std::collections::BTreeMap;

use offers::stages::callers::CallerPlaces;
use offers::stages::pairs::{Places, is_empty};
use offers::stages::tables::{
    CALLERS, CALLS, CALLS_DUE, CALLS_PARKED, COUNTS, FAILING, PAIRS, PARKED, QUEUE, TIMERS,
};
use offers::stages::{Lane, callers};
use offers::tables::{CONTENT, OFFER};
use store::{Decode, Encode as _, Range, Read, Shard, Snapshot, Store, Table, Value};
use wire::stages::{CountRow, PairRow};

use crate::Result;

const PAGE: usize = 500;
/// Disagreements that are named.
const MAX_NAMED: usize = 1_000;

/// What does not agree in a shard, in words; empty: all is well.
pub async fn check_shard(store: &Store, shard: Shard) -> Result<Vec<String>> {
    let snapshot = store.snapshot(shard).await?;
    let mut wrong = Vec::new();
    let mut counts = BTreeMap::<(String, u32), CountRow>::new();
    let mut after = None;
    loop {
        let page = page(&snapshot, &PAIRS, after.as_ref()).await?;
        check_pairs(&snapshot, &page, &mut counts, &mut wrong).await?;
        after = page.last().map(|(key, _)| key.clone());
        if page.len() < PAGE {
            break;
        }
    }
    check_back(&snapshot, &QUEUE, &mut wrong, |(stage, turn, offer): &(String, i64, i64), since: &i64| {
        let place = (*turn, *since);
        ((*offer, stage.clone()), Box::new(move |places: Places| places.queue == Some(place)))
    })
    .await?;
    check_back(&snapshot, &TIMERS, &mut wrong, |(stage, at, offer): &(String, i64, i64), (): &()| {
        let at = *at;
        ((*offer, stage.clone()), Box::new(move |places: Places| places.timer == Some(at)))
    })
    .await?;
    check_back(&snapshot, &FAILING, &mut wrong, |(stage, offer): &(String, i64), (): &()| {
        ((*offer, stage.clone()), Box::new(|places: Places| places.failing))
    })
    .await?;
    check_back(&snapshot, &PARKED, &mut wrong, |(stage, offer): &(String, i64), (): &()| {
        ((*offer, stage.clone()), Box::new(|places: Places| places.parked))
    })
    .await?;
    check_callers(&snapshot, &mut counts, &mut wrong).await?;
    let stored: BTreeMap<_, _> = snapshot.scan(&COUNTS, Range::all(100_000)).await?.into_iter().collect();
    counts.retain(|_, count| *count != CountRow::default());
    if stored != counts {
        wrong.push(format!("counts are {stored:?}, the rows add up to {counts:?}"));
    }
    wrong.truncate(MAX_NAMED);
    Ok(wrong)
}

async fn page<K: Decode + store::Encode, V: Value>(
    snapshot: &Snapshot,
    table: &Table<K, V>,
    after: Option<&K>,
) -> Result<Vec<(K, V)>> {
    let mut range = Range::all(PAGE);
    if let Some(after) = after {
        range = range.after(after)?;
    }
    Ok(snapshot.scan(table, range).await?)
}

async fn check_pairs(
    snapshot: &Snapshot,
    page: &[((i64, String), PairRow)],
    counts: &mut BTreeMap<(String, u32), CountRow>,
    wrong: &mut Vec<String>,
) -> Result<()> {
    for ((offer, stage), pair) in page {
        let places = Places::of(pair);
        if is_empty(pair) {
            wrong.push(format!("the pair of {offer} and {stage} says nothing"));
        }
        let content = (*offer, CONTENT).encode()?;
        if snapshot.get_many_raw(snapshot.id(&OFFER)?, vec![content]).await?[0].is_none() {
            wrong.push(format!("the pair of {offer} and {stage} has no offer"));
        }
        let queue = match places.queue {
            Some((turn, _)) => snapshot.get(&QUEUE, (stage.as_str(), turn, *offer)).await?.is_some(),
            None => true,
        };
        let timer = match places.timer {
            Some(at) => snapshot.get(&TIMERS, (stage.as_str(), at, *offer)).await?.is_some(),
            None => true,
        };
        let parked = !places.parked || snapshot.get(&PARKED, (stage.as_str(), *offer)).await?.is_some();
        let failing = !places.failing || snapshot.get(&FAILING, (stage.as_str(), *offer)).await?.is_some();
        if !(queue && timer && failing && parked) {
            wrong.push(format!("rows are missing for the pair of {offer} and {stage}: {pair:?}"));
        }
        let main = counts.entry((stage.clone(), Lane::Main.number())).or_default();
        main.waiting += i64::from(places.queue.is_some());
        main.parked += i64::from(places.parked);
        main.failing += i64::from(places.failing);
        let timers = counts.entry((stage.clone(), Lane::Timers.number())).or_default();
        timers.waiting += i64::from(places.timer.is_some());
    }
    Ok(())
}

/// Callers have their saves, and stand where they should; nothing stands there without one.
async fn check_callers(
    snapshot: &Snapshot,
    counts: &mut BTreeMap<(String, u32), CountRow>,
    wrong: &mut Vec<String>,
) -> Result<()> {
    let (mut after, mut saves) = (None, 0_i64);
    loop {
        let rows = page(snapshot, &CALLERS, after.as_ref()).await?;
        for ((offer, stage), caller) in &rows {
            let places = CallerPlaces::of(caller);
            let count = counts.entry((stage.clone(), callers::LANE)).or_default();
            count.waiting += i64::from(places.due.is_some());
            count.parked += i64::from(places.parked);
            let due = match places.due {
                Some(at) => snapshot.get(&CALLS_DUE, (stage.as_str(), at, *offer)).await?.is_some(),
                None => true,
            };
            let parked =
                !places.parked || snapshot.get(&CALLS_PARKED, (stage.as_str(), *offer)).await?.is_some();
            let numbers = (caller.first..caller.next).map(|number| (*offer, stage.as_str(), number));
            let runs = snapshot.get_many(&CALLS, numbers).await?;
            saves += runs.len() as i64;
            if !(due && parked) || runs.is_empty() || runs.iter().any(Option::is_none) {
                wrong.push(format!("rows are missing for the caller of {offer} and {stage}: {caller:?}"));
            }
        }
        if rows.len() < PAGE {
            break;
        }
        after = rows.last().map(|(key, _)| key.clone());
    }
    let stored = count_rows(snapshot, &CALLS).await?;
    if stored != saves {
        wrong.push(format!("there are {stored} saves to tell of, the callers know {saves}"));
    }
    let callers: i64 =
        counts.iter().filter(|((_, lane), _)| *lane == callers::LANE).map(|(_, count)| count.waiting).sum();
    let due = count_rows(snapshot, &CALLS_DUE).await?;
    if due != callers {
        wrong.push(format!("{due} callers are due, {callers} should be"));
    }
    Ok(())
}

async fn count_rows<K: Decode + store::Encode + Clone, V: Value>(
    snapshot: &Snapshot,
    table: &Table<K, V>,
) -> Result<i64> {
    let (mut count, mut after) = (0, None);
    loop {
        let rows = page(snapshot, table, after.as_ref()).await?;
        count += rows.len() as i64;
        if rows.len() < PAGE {
            return Ok(count);
        }
        after = rows.last().map(|(key, _)| key.clone());
    }
}

type Expected = ((i64, String), Box<dyn Fn(Places) -> bool + Send>);

/// Every row has a pair that says so.
async fn check_back<K: Decode + store::Encode + Clone + std::fmt::Debug, V: Value>(
    snapshot: &Snapshot,
    table: &Table<K, V>,
    wrong: &mut Vec<String>,
    expected: impl Fn(&K, &V) -> Expected,
) -> Result<()> {
    let mut after = None;
    loop {
        let rows = page(snapshot, table, after.as_ref()).await?;
        let expectations: Vec<_> = rows.iter().map(|(key, value)| expected(key, value)).collect();
        let keys: Vec<_> = expectations.iter().map(|(key, _)| key.clone()).collect();
        let pairs = snapshot.get_many(&PAIRS, keys).await?;
        for (((key, _), (_, holds)), pair) in rows.iter().zip(expectations).zip(pairs) {
            if !pair.is_some_and(|pair| holds(Places::of(&pair))) {
                wrong.push(format!("no pair stands behind {key:?} of {}", table.name()));
            }
        }
        if rows.len() < PAGE {
            return Ok(());
        }
        after = rows.last().map(|(key, _)| key.clone());
    }
}
