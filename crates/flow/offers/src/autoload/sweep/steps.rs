//! The steps of a sweep: counting, taking away, clearing.

use std::collections::{BTreeMap, BTreeSet};

use model::status::is_sold;
use model::{Offer, Origin, Status};
use store::{Range, Read as _, Tx};
use wire::feeds::feed_result::Kind;
use wire::feeds::terminal_result::End;
use wire::feeds::{HeldResult, OnMissing, SweepResult};
use wire::offers::sweep_row::Phase;
use wire::offers::{FeedRow, SweepRow};

use super::super::batch::find_many;
use super::super::record::by_feed;
use super::super::{Load, decisions, results, seen, terminal};
use crate::changes::Changes;
use crate::tables::{
    FEED, FEED_BATCHES, FEED_DECISIONS, FEED_HEAD, FEED_ORDINALS, FEED_PROBLEMS, FEED_SEEN, FEED_SWEEPS,
    OFFER,
};
use crate::write::expiry;
use crate::{Offers, Result};

/// Ordinals that a step looks at: two chunks of bits where none is missing.
const LOOK: usize = 8_192;
/// Most that one step takes away, or clears.
const STEP: usize = 1_000;
/// Offers are read so many at a time, until a step has its bytes.
const READ: usize = 100;
const STEP_BYTES: usize = 8 << 20;
/// Fewer than this may go without asking.
const GUARD_LEAST: i64 = 20;
/// Newer tasks whose bits are looked at; there are more only if a feed never comes to its end.
const MAX_TASKS: usize = 10_000;

/// Ordinals that the task and every newer one lack.
struct Missing {
    found: Vec<(i64, String)>,
    /// Where the next look begins; `None`: there is no more.
    next: Option<i64>,
}

async fn missing(tx: &Tx, load: &Load, row: &SweepRow, most: usize) -> Result<Missing> {
    let (seller, namespace) = load.feed();
    let range =
        Range::all(LOOK).from((seller, namespace, row.cursor))?.before((seller, namespace, row.limit))?;
    let ordinals = tx.scan(&FEED_ORDINALS, range).await?;
    let mut next = (ordinals.len() == LOOK).then(|| ordinals.last().map_or(0, |((.., last), _)| last + 1));
    let chunks: BTreeSet<i64> = ordinals.iter().map(|((.., ordinal), _)| seen::chunk_of(*ordinal)).collect();
    let tasks = if load.dry { vec![load.key()] } else { tasks_from(tx, load).await? };
    let keys: Vec<_> =
        tasks.iter().flat_map(|task| chunks.iter().map(|chunk| (seller, namespace, *task, *chunk))).collect();
    let bits = tx.get_many(&FEED_SEEN, &keys).await?;
    let mut by_chunk: BTreeMap<i64, Vec<Vec<u8>>> = BTreeMap::new();
    for ((.., chunk), bits) in keys.into_iter().zip(bits) {
        by_chunk.entry(chunk).or_default().extend(bits);
    }
    let is_missing = |ordinal: i64| {
        let bits = by_chunk.get(&seen::chunk_of(ordinal));
        !bits.is_some_and(|bits| bits.iter().any(|bits| seen::is_set(bits, ordinal)))
    };
    let mut found = Vec::new();
    for ((.., ordinal), external_id) in ordinals {
        if !is_missing(ordinal) {
            continue;
        }
        if found.len() == most {
            next = Some(ordinal);
            break;
        }
        found.push((ordinal, external_id));
    }
    Ok(Missing { found, next })
}

/// The tasks from this one on that have bits, found by leaping from one to the next.
async fn tasks_from(tx: &Tx, load: &Load) -> Result<Vec<i64>> {
    let (seller, namespace) = load.feed();
    let mut tasks = Vec::new();
    let mut range = Range::all(1).from((seller, namespace, load.task))?.up_to((seller, namespace))?;
    while tasks.len() < MAX_TASKS {
        let Some(((_, _, task, _), _)) = tx.scan(&FEED_SEEN, range.clone()).await?.pop() else { break };
        tasks.push(task);
        range = range.after((seller, namespace, task))?;
    }
    Ok(tasks)
}

async fn rows_of(tx: &Tx, load: &Load, found: &[(i64, String)]) -> Result<Vec<Option<FeedRow>>> {
    let (seller, namespace) = load.feed();
    let keys: Vec<_> =
        found.iter().map(|(_, external_id)| (seller, namespace, external_id.as_str())).collect();
    let rows = tx.get_many(&FEED, keys).await?;
    let own = |(ordinal, row): (i64, Option<FeedRow>)| row.filter(|row| row.ordinal == ordinal);
    Ok(found.iter().map(|(ordinal, _)| *ordinal).zip(rows).map(own).collect())
}

/// Counts what would go; at the end decides whether it may.
pub(super) async fn count(tx: &mut Tx, load: &Load, mut row: SweepRow) -> Result<bool> {
    let Missing { found, next } = missing(tx, load, &row, LOOK).await?;
    let rows = rows_of(tx, load, &found).await?;
    row.rows_to_go += found.len() as i64;
    let sweep = &row;
    let would_go = rows.iter().flatten().filter(|feed_row| takes(sweep, feed_row)).count();
    row.would_go += would_go as i64;
    if let Some(next) = next {
        row.cursor = next;
        terminal::put(tx, load, &row)?;
        return Ok(true);
    }
    if load.dry {
        let would_go = row.would_go;
        let (deleted, made_manual) = if detaches(&row) { (0, would_go) } else { (would_go, 0) };
        count_gone(&mut row, deleted, made_manual);
        terminal::finish(tx, load, row, End::Done).await?;
        return Ok(true);
    }
    if is_too_much(&row) {
        return hold(tx, load, row).await;
    }
    go_on(tx, load, row).await?;
    Ok(true)
}

/// More than the set share of what was live before the load, and not just a handful.
fn is_too_much(row: &SweepRow) -> bool {
    let share = i128::from(row.would_go) * 100;
    row.guard_percent > 0
        && row.would_go >= GUARD_LEAST
        && share > i128::from(row.guard_percent) * i128::from(row.live_before)
}

/// Waits for a person, unless one has spoken already or a newer task is there.
async fn hold(tx: &mut Tx, load: &Load, mut row: SweepRow) -> Result<bool> {
    let head = tx.get(&FEED_HEAD, load.feed()).await?.unwrap_or_default();
    if head.current_task > load.task {
        terminal::finish(tx, load, row, End::Superseded).await?;
        return Ok(true);
    }
    let key = (&*load.seller, &*load.namespace, load.task);
    let held = HeldResult { would_go: row.would_go, live_before: row.live_before };
    results::send(tx, load, [Kind::Held(held)]).await?;
    if let Some(decision) = tx.get(&FEED_DECISIONS, key).await? {
        decisions::obey(tx, load, row, decision.word()).await?;
        return Ok(true);
    }
    row.set_phase(Phase::Held);
    tx.put(&FEED_SWEEPS, key, &row)?;
    Ok(false)
}

async fn go_on(tx: &mut Tx, load: &Load, mut row: SweepRow) -> Result<()> {
    if row.rows_to_go == 0 {
        return terminal::finish(tx, load, row, End::Done).await;
    }
    row.set_phase(Phase::Sweeping);
    row.cursor = 0;
    terminal::put(tx, load, &row)
}

/// Takes away the next of what is missing.
pub(super) async fn sweep(tx: &mut Tx, offers: &Offers, load: &Load, mut row: SweepRow) -> Result<bool> {
    let Missing { found, next } = missing(tx, load, &row, STEP).await?;
    let rows = rows_of(tx, load, &found).await?;
    let mut changes = Changes::new(offers, offers.clock.now());
    let (mut bytes, mut gone, mut live, mut stopped_at) = (0, 0, 0, None);
    for (found, rows) in found.chunks(READ).zip(rows.chunks(READ)) {
        if bytes > STEP_BYTES {
            stopped_at = Some(found[0].0);
            break;
        }
        let ids: Vec<i64> = rows.iter().flatten().map(|row| row.offer_id).filter(|id| *id != 0).collect();
        let found_offers = find_many(tx, &ids).await?.into_iter().flatten();
        let mut of_rows: BTreeMap<i64, Offer> = found_offers.map(|offer| (offer.id, offer)).collect();
        for ((ordinal, external_id), feed_row) in found.iter().zip(rows) {
            let offer = feed_row.as_ref().and_then(|row| of_rows.remove(&row.offer_id));
            bytes += offer.as_ref().map_or(0, prost::Message::encoded_len);
            gone += i64::from(offer.as_ref().is_some_and(|offer| detaches(&row) || !is_sold(offer.status())));
            let gone = Gone { ordinal: *ordinal, external_id, row: feed_row.as_ref(), offer };
            take_away(tx, load, &row, &mut changes, gone)?;
        }
        live += rows.iter().flatten().filter(|row| row.offer_id != 0).count() as i64;
    }
    lower_live(tx, load, live).await?;
    changes.finish(tx).await?;
    tell(tx, load, &mut row, gone).await?;
    match stopped_at.or(next) {
        Some(next) => {
            row.cursor = next;
            terminal::put(tx, load, &row)?;
        }
        None => terminal::finish(tx, load, row, End::Done).await?,
    }
    Ok(true)
}

/// The step's numbered result; a step that took nothing away has none.
async fn tell(tx: &mut Tx, load: &Load, row: &mut SweepRow, gone: i64) -> Result<()> {
    if gone == 0 {
        return Ok(());
    }
    row.steps += 1;
    let (deleted, made_manual) = if detaches(row) { (0, gone) } else { (gone, 0) };
    count_gone(row, deleted, made_manual);
    let result = SweepResult { number: row.steps, deleted, made_manual };
    results::send(tx, load, [Kind::Sweep(result)]).await
}

fn count_gone(row: &mut SweepRow, deleted: i64, made_manual: i64) {
    let totals = row.totals.get_or_insert_default();
    totals.deleted += deleted;
    totals.made_manual += made_manual;
}

/// Whether the sweep takes the row's offer away: what is sold stays, unless it only becomes manual.
fn takes(sweep: &SweepRow, row: &FeedRow) -> bool {
    row.offer_id != 0 && (detaches(sweep) || !row.sold)
}

fn detaches(row: &SweepRow) -> bool {
    row.on_missing() == OnMissing::MakeManual
}

async fn lower_live(tx: &mut Tx, load: &Load, by: i64) -> Result<()> {
    let mut head = tx.get(&FEED_HEAD, load.feed()).await?.unwrap_or_default();
    head.live -= by;
    tx.put(&FEED_HEAD, load.feed(), &head)?;
    Ok(())
}

struct Gone<'a> {
    ordinal: i64,
    external_id: &'a str,
    row: Option<&'a FeedRow>,
    offer: Option<Offer>,
}

fn take_away(
    tx: &mut Tx,
    load: &Load,
    sweep: &SweepRow,
    changes: &mut Changes<'_>,
    gone: Gone<'_>,
) -> Result<()> {
    let (seller, namespace) = load.feed();
    tx.delete(&FEED_ORDINALS, (seller, namespace, gone.ordinal))?;
    let Some(row) = gone.row else { return Ok(()) };
    let key = (seller, namespace, gone.external_id);
    let stays = |offer: &Offer| is_sold(offer.status()) && !detaches(sweep);
    let Some(before) = gone.offer.filter(|offer| !stays(offer)) else {
        tx.delete(&FEED, key)?;
        return Ok(());
    };
    let is_banned = before.status() == Status::Banned;
    let dead = FeedRow {
        attention: false,
        dead_at: changes.now().0,
        detached: detaches(sweep),
        banned: is_banned,
        ban_reasons: if is_banned { before.ban_reasons.clone() } else { Vec::new() },
        ban_text: if is_banned { before.ban_text.clone() } else { String::new() },
        status_at_death: before.status,
        ..row.clone()
    };
    tx.put(&FEED, key, &dead)?;
    let mut after = before.clone();
    if dead.detached {
        after.origin = Some(Origin::default());
        if before.feed_problems {
            after.feed_problems = false;
            tx.delete(&OFFER, (before.id, FEED_PROBLEMS))?;
        }
        if after.status() == Status::Active {
            after.expires_at = expiry(&after, changes);
        }
    } else {
        after.set_status(Status::Deleted);
    }
    let reason = if sweep.removal { "feed_removed" } else { "missing_in_feed" };
    changes.save(tx, Some(&before), after, &by_feed(load, reason))?;
    Ok(())
}

/// Removes the rows of the tasks up to this one, then the sweep itself.
pub(super) async fn clear(tx: &mut Tx, load: &Load) -> Result<bool> {
    let (seller, namespace) = load.feed();
    // A dry run that came late is cleared by the next load: its rows stand under the negative of its number.
    let first = -load.task;
    let last = load.key();
    let range = |limit| Range::all(limit).from((seller, namespace, first))?.up_to((seller, namespace, last));
    let bits = tx.scan(&FEED_SEEN, range(STEP)?).await?;
    let mut room = STEP - bits.len();
    for ((seller, namespace, task, chunk), _) in bits {
        tx.delete(&FEED_SEEN, (seller, namespace, task, chunk))?;
    }
    let batches = tx.scan(&FEED_BATCHES, range(room)?).await?;
    room -= batches.len();
    for (key, _) in batches {
        tx.delete(&FEED_BATCHES, key)?;
    }
    if room == 0 {
        return Ok(true);
    }
    let words = Range::all(room).from((seller, namespace, 0_i64))?.up_to((seller, namespace, last))?;
    for (key, _) in if load.dry { Vec::new() } else { tx.scan(&FEED_DECISIONS, words).await? } {
        tx.delete(&FEED_DECISIONS, key)?;
    }
    tx.delete(&FEED_SWEEPS, (seller, namespace, last))?;
    Ok(false)
}
