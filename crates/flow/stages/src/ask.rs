//! Rows of `changed`, which stages they concern, and the asking (the outside part of T1).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use kit::Timestamp;
use offers::stages::Lane;
use offers::stages::tables::CHANGED;
use store::{Range, Read, Shard};
use tracing::Instrument as _;
use wire::stages::{ChangedOffer, ChangedRow};

use crate::directory::Entry;
use crate::item::Item;
use crate::stage::{Answer, Fields, Job};
use crate::{Result, Stages};

/// Sellers whose changes are looked at together, and rows of each of them.
const MAX_SELLERS: usize = 16;
const MAX_ROWS: usize = 32;
/// Rows of a seller that are read at a time: one of a load has hundreds of offers.
const ROWS_AT_ONCE: usize = 4;
/// How long a stage's limits may keep the others waiting.
const PERMIT_WAIT: Duration = Duration::from_millis(50);

pub(crate) type RowKey = (u32, String, i64);

/// A stage may want an offer because of these fields.
#[derive(Clone, Debug)]
pub(crate) struct Concern {
    pub(crate) fields: Fields,
    /// Some of it was changed by nobody of the stages.
    pub(crate) outside: bool,
}

/// Offer → stage → why.
pub(crate) type Concerns = BTreeMap<i64, BTreeMap<String, Concern>>;

/// What a stage said of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Answer(Answer),
    /// It could not be asked, so it is to run all the same.
    Nothing,
}

/// The next rows of a lane with about so many offers: of each seller in turn, beginning behind the one served last.
pub(crate) async fn next_rows(
    stages: &Stages,
    read: &impl Read,
    shard: Shard,
    lane: Lane,
    offers: usize,
) -> Result<Vec<(RowKey, ChangedRow)>> {
    let number = lane.number();
    let mut found: Vec<(RowKey, ChangedRow)> = Vec::new();
    let mut after = stages.memory.served(shard, lane);
    let mut begun_anew = after.is_none();
    for _ in 0..MAX_SELLERS {
        let mut range = Range::prefix((number,), 1)?;
        if let Some(after) = &after {
            range = range.after((number, after.as_str()))?;
        }
        let first = read.scan(&CHANGED, range).await?.pop();
        let Some(((_, seller, _), _)) = first else {
            if begun_anew {
                break;
            }
            (after, begun_anew) = (None, true);
            continue;
        };
        // Once around: the sellers from here on are there already.
        if found.iter().any(|((_, of, _), _)| *of == seller) {
            break;
        }
        read_rows(read, (number, &seller), offers, &mut found).await?;
        stages.memory.serve(shard, lane, &seller);
        after = Some(seller);
        if count(&found) >= offers {
            break;
        }
    }
    Ok(found)
}

/// The first rows of a seller, until all that are found have so many offers.
async fn read_rows(
    read: &impl Read,
    (lane, seller): (u32, &str),
    offers: usize,
    found: &mut Vec<(RowKey, ChangedRow)>,
) -> Result<()> {
    let mut range = Range::prefix((lane, seller), ROWS_AT_ONCE)?;
    for _ in 0..MAX_ROWS / ROWS_AT_ONCE {
        let rows = read.scan(&CHANGED, range.clone()).await?;
        let last = rows.last().filter(|_| rows.len() == ROWS_AT_ONCE).map(|(key, _)| key.clone());
        found.extend(rows);
        match last {
            Some(last) if count(found) < offers => range = range.after(last)?,
            _ => break,
        }
    }
    Ok(())
}

fn count(rows: &[(RowKey, ChangedRow)]) -> usize {
    rows.iter().map(|(_, row)| row.offers.len()).sum()
}

/// The first so many offers that the rows name.
pub(crate) fn first_offers(rows: &[(RowKey, ChangedRow)], most: usize) -> BTreeSet<i64> {
    let mut first = BTreeSet::new();
    for change in rows.iter().flat_map(|(_, row)| &row.offers) {
        if first.len() == most {
            break;
        }
        first.insert(change.offer_id);
    }
    first
}

/// Which stages have to be asked about which of these offers.
pub(crate) fn concerns(
    rows: &[(RowKey, ChangedRow)],
    offers: &BTreeSet<i64>,
    entries: &[Arc<Entry>],
) -> Concerns {
    let mut concerns = Concerns::new();
    for (_, row) in rows {
        for change in row.offers.iter().filter(|change| offers.contains(&change.offer_id)) {
            let fields = fields(row, change);
            let others = entries.iter().filter(|entry| entry.hears_of(row.at) && entry.id != change.by);
            for entry in others.filter(|entry| fields.meet(&entry.row.masks)) {
                let of_offer = concerns.entry(change.offer_id).or_default();
                let outside = change.by.is_empty();
                of_offer
                    .entry(entry.id.clone())
                    .and_modify(|concern| {
                        concern.fields.add(fields.clone());
                        concern.outside |= outside;
                    })
                    .or_insert_with(|| Concern { fields: fields.clone(), outside });
            }
        }
    }
    concerns
}

fn fields(row: &ChangedRow, change: &ChangedOffer) -> Fields {
    if change.whole {
        return Fields::Whole;
    }
    let named = row.paths.iter().enumerate().filter(|(bit, _)| change.mask & (1 << bit) != 0);
    Fields::Paths(named.map(|(_, path)| path.clone()).collect())
}

/// What has to be loaded for them.
pub(crate) fn wanted(concerns: &Concerns) -> Vec<(i64, Vec<String>)> {
    concerns.iter().map(|(offer, stages)| (*offer, stages.keys().cloned().collect())).collect()
}

/// Asks every stage about its offers, all stages at the same time; by offer and stage.
pub(crate) async fn ask_all(
    stages: &Stages,
    entries: &[Arc<Entry>],
    items: &[Item],
    concerns: &Concerns,
    (lane, now): (Lane, Timestamp),
) -> BTreeMap<(i64, String), Said> {
    let asked = entries.iter().map(|entry| ask(stages, entry, items, concerns, (lane, now)));
    join_all(asked).await.into_iter().flatten().collect()
}

/// Asks one stage about those of the offers that concern it.
pub(crate) async fn ask(
    stages: &Stages,
    entry: &Arc<Entry>,
    items: &[Item],
    concerns: &Concerns,
    (lane, now): (Lane, Timestamp),
) -> Vec<((i64, String), Said)> {
    let mine: Vec<_> =
        items.iter().filter_map(|item| Some((item, concerns.get(&item.id)?.get(&entry.id)?))).collect();
    if mine.is_empty() {
        return Vec::new();
    }
    let jobs: Vec<_> = mine
        .iter()
        .map(|(item, concern)| {
            let state = item.pair(&entry.id).state.as_ref();
            (Job { offer: &item.current, state, now, lane }, &concern.fields)
        })
        .collect();
    let answers = answers(stages, entry, &jobs, now).await;
    let said = |place: usize| answers.as_ref().map_or(Said::Nothing, |all| Said::Answer(all[place]));
    mine.iter().enumerate().map(|(place, (item, _))| ((item.id, entry.id.clone()), said(place))).collect()
}

/// `None`: the stage did not answer in time, or not to everything.
async fn answers(
    stages: &Stages,
    entry: &Arc<Entry>,
    jobs: &[(Job<'_>, &Fields)],
    now: Timestamp,
) -> Option<Vec<Answer>> {
    // A paused stage is not asked; what was told before the pause waits for its end.
    if !entry.may_run() || entry.closed_until(now).is_some() {
        return None;
    }
    // Who has no call left now is not asked, and gets the offers all the same.
    let permit = match &entry.limiter {
        Some(limiter) => Some(tokio::time::timeout(PERMIT_WAIT, limiter.acquire()).await.ok()?.ok()?),
        None => None,
    };
    let span = tracing::info_span!("should_process", stage = entry.id, offers = jobs.len());
    let asked = entry.port.should_process(jobs);
    let asked = tokio::time::timeout(stages.settings.ask_timeout, asked).instrument(span).await;
    drop(permit);
    let error = match asked {
        Ok(Ok(answers)) if answers.len() == jobs.len() => return Some(answers),
        Ok(Ok(answers)) => format!("{} answers to {} questions", answers.len(), jobs.len()),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "no answer in time".to_owned(),
    };
    tracing::warn!(stage = entry.id, error, "a stage did not say what it wants");
    entry.health.failed(now, &error);
    entry.activity.failed(None, &error, now);
    None
}
