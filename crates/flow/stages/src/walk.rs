//! Walks over all offers of a stage: a traversal, or making up for changes that it was not told of.
//!
//! The registry's row orders a walk (generation, which offers, how fast); each shard's row in `walks` says how far it is
//! there, and moves in the transaction that saves the runs of a page. So a crash repeats at most a page, and a pause or a
//! new holder of the work token goes on where the last one stood. The runs are in the low lane.
//!
//! The runs of another program are only noted, so its walk waits while such runs of the shard are due.
//!
//! A page ends before the first offer that another stage works on, or that changed while its run was under way: the next
//! page begins with it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kit::Timestamp;
use offers::stages::Lane;
use offers::stages::tables::{STAGE_WALKS, TIMERS};
use offers::tables::{CONTENT, OFFER};
use store::{Range, Read as _, Shard, Snapshot, Tx};
use wire::offers::offer_part::Kind;
use wire::stages::{RegistryRow, Walk, WalkRow};

use crate::ask::{Concern, Concerns, wanted};
use crate::directory::Entry;
use crate::item;
use crate::registry::order;
use crate::scheduler::Look;
use crate::stage::Fields;
use crate::turns::BATCH;
use crate::{Done, Error, Piece, ROLE, Result, Stages};

/// A walk waits this long for runs that are due.
const BEHIND: Duration = Duration::from_millis(500);

/// Offers a second that a walk may be ordered to look at.
const MAX_PER_SECOND: u32 = 1_000_000;

impl Stages {
    /// Orders a walk over all offers, in the place of one that may be under way. 0 offers a second: the default.
    pub async fn traverse(&self, id: &str, per_second: u32) -> Result<RegistryRow> {
        if per_second > MAX_PER_SECOND {
            let text = format!("a walk looks at 1 to {MAX_PER_SECOND} offers a second; 0 is the usual rate");
            return Err(Error::Field("offers_per_second", text));
        }
        let rate = if per_second == 0 { self.settings.walk_per_second } else { per_second };
        self.change(id, |row, now| {
            if row.untold {
                return Err(Error::Conflict(format!("the stage {id:?} looks at no offer by itself")));
            }
            // One that makes up for changes must not begin earlier than it would have.
            let not_before = row.walk.filter(|walk| walk.done_at == 0).map_or(now.0, |walk| walk.not_before);
            order(row, 0, Timestamp(not_before), now, rate);
            Ok(())
        })
        .await
    }

    /// Lets a walk rest where it is.
    pub async fn pause_walk(&self, id: &str) -> Result<RegistryRow> {
        self.set_walk(id, |walk, now| {
            if !walk.paused {
                (walk.paused, walk.paused_at) = (true, now.0);
            }
        })
        .await
    }

    pub async fn resume_walk(&self, id: &str) -> Result<RegistryRow> {
        self.set_walk(id, |walk, now| {
            if walk.paused {
                walk.rested += now.since(Timestamp(walk.paused_at)).as_micros() as i64;
                (walk.paused, walk.paused_at) = (false, 0);
            }
        })
        .await
    }

    async fn set_walk(
        &self,
        id: &str,
        set: impl Fn(&mut Walk, Timestamp) + Send + Sync,
    ) -> Result<RegistryRow> {
        self.change(id, |row, now| match row.walk.as_mut().filter(|walk| walk.done_at == 0) {
            Some(walk) => {
                set(walk, now);
                Ok(())
            }
            None => Err(Error::Conflict(format!("no walk of the stage {id:?} is under way"))),
        })
        .await
    }

    /// Which of these shards a walk has work in.
    pub(crate) async fn look_for_walks(
        &self,
        shards: &[Shard],
        now: Timestamp,
        look: &mut Look,
    ) -> Result<()> {
        for entry in self.directory.entries().iter().filter(|entry| entry.may_run()) {
            let Some(walk) = active(entry) else { continue };
            let paced = self.memory.walk_next(&entry.id).0;
            let next = walk.not_before.max(paced);
            let closed = entry.closed_until(now).map_or(0, |until| until.0);
            for shard in self.unfinished(&entry.id, walk.generation, shards).await? {
                if next.max(closed) > now.0 {
                    look.later(shard, Timestamp(next.max(closed)));
                } else {
                    look.due.push((shard, Piece::Walk(entry.id.clone())));
                }
            }
        }
        Ok(())
    }

    /// Shards that have offers and where the walk is not at the end.
    pub(crate) async fn unfinished(&self, id: &str, generation: i64, shards: &[Shard]) -> Result<Vec<Shard>> {
        let store = &self.offers.store;
        let rows = store.scan_shards(&STAGE_WALKS, shards, Range::prefix((id,), 1)?).await?;
        let ended = rows.into_iter().filter(|(_, _, row)| row.generation == generation && row.done_at != 0);
        let ended: BTreeSet<Shard> = ended.map(|(shard, _, _)| shard).collect();
        let rest: Vec<_> = shards.iter().copied().filter(|shard| !ended.contains(shard)).collect();
        let filled = store.scan_shards(&OFFER, &rest, Range::all(1)).await?;
        Ok(filled.into_iter().map(|(shard, _, _)| shard).collect())
    }

    /// The next page of a walk.
    pub(crate) async fn walk(&self, shard: Shard, entry: &Entry) -> Result<Done> {
        let now = self.offers.clock.now();
        let Some(walk) = active(entry).filter(|_| entry.may_run()) else { return Ok(Done::Nothing) };
        let wait_until = self.memory.walk_next(&entry.id).0.max(walk.not_before);
        if wait_until > now.0 {
            return Ok(Done::Later(Timestamp(wait_until)));
        }
        let snapshot = self.offers.store.snapshot(shard).await?;
        if !entry.is_local && self.has_due(&snapshot, entry, now).await? {
            return Ok(Done::Later(now.plus(BEHIND)));
        }
        let Some(mut page) = Page::read(&snapshot, &entry.id, &walk).await? else { return Ok(Done::Nothing) };
        let ids = page.offers.iter().filter(|(_, is_wanted)| *is_wanted).map(|(id, _)| *id);
        let busy = self.memory.take(shard, ids, BATCH);
        page.hold_before(|id| !busy.has(id));
        if page.is_held_at_once() {
            return Ok(Done::NotNow);
        }
        let concerns = page.concerns(&entry.id, &walk);
        let mut items = item::load(&snapshot, &wanted(&concerns)).await?;
        drop(snapshot);
        self.run_all(shard, Lane::Low, &mut items, &concerns, now).await?;
        let saved_at = self.offers.clock.now();
        let save = async |tx: &mut Tx| {
            self.offers.cluster.check(tx, ROLE).await?;
            let conflicts = item::save(tx, self, Lane::Low, &items, saved_at).await?;
            let row = page.row_after(conflicts.into_iter().min(), concerns.len(), saved_at);
            tx.put(&STAGE_WALKS, (entry.id.as_str(),), &row)?;
            Ok::<_, Error>(())
        };
        self.offers.store.transact(shard, save).await?;
        let held = self.offers.cluster.held(ROLE).len();
        self.memory.pace_walk(&entry.id, pause(walk.per_second, page.offers.len(), held), now);
        Ok(Done::Worked)
    }

    /// Whether runs of another program that were noted before are still due: more would only stand before its own timers.
    async fn has_due(&self, read: &Snapshot, entry: &Entry, now: Timestamp) -> Result<bool> {
        let stage = entry.id.as_str();
        let due = Range::prefix((stage,), 1)?.up_to((stage, now.0))?;
        Ok(!read.scan(&TIMERS, due).await?.is_empty())
    }

    /// Notes the end of walks that came to the end of every shard, and orders those whose time has come.
    pub(crate) async fn end_walks(&self, now: Timestamp) -> Result<()> {
        let all: Vec<_> = Shard::all().collect();
        for entry in self.directory.entries().iter() {
            let row = &entry.row;
            if let Some(walk) = active(entry)
                && walk.not_before <= now.0
                && self.unfinished(&entry.id, walk.generation, &all).await?.is_empty()
            {
                self.change(&entry.id, |row, now| {
                    end(row, walk.generation, now);
                    Ok(())
                })
                .await?;
            }
            let every = Duration::from_secs(u64::from(row.traverse_every_hours) * 3_600);
            let rests_since = row.walk.map_or(row.registered_at, |walk| walk.done_at);
            let is_due = !every.is_zero() && rests_since != 0 && Timestamp(rests_since).plus(every) <= now;
            if is_due && entry.may_run() {
                self.traverse(&entry.id, 0).await?;
            }
        }
        Ok(())
    }
}

fn active(entry: &Entry) -> Option<Walk> {
    entry.row.walk.filter(|walk| walk.done_at == 0 && !walk.paused)
}

fn end(row: &mut RegistryRow, generation: i64, now: Timestamp) {
    if let Some(walk) = row.walk.as_mut().filter(|walk| walk.generation == generation) {
        walk.done_at = now.0;
        if row.paused_at == 0 && row.suspended_at == 0 {
            row.owes_since = 0;
        }
    }
}

/// The next offers of a shard.
struct Page {
    before: WalkRow,
    /// Each with whether the walk looks at it.
    offers: Vec<(i64, bool)>,
    last: i64,
    is_last: bool,
    /// The page ends before this one.
    held: Option<i64>,
}

impl Page {
    /// `None`: the walk is at the end of the shard.
    async fn read(read: &Snapshot, stage: &str, walk: &Walk) -> Result<Option<Self>> {
        let stored = read.get(&STAGE_WALKS, (stage,)).await?;
        let stored = stored.filter(|row| row.generation == walk.generation);
        let before = stored.unwrap_or(WalkRow { generation: walk.generation, ..WalkRow::default() });
        if before.done_at != 0 {
            return Ok(None);
        }
        let rows = read.scan(&OFFER, Range::all(BATCH).after((before.last_offer,))?).await?;
        let is_last = rows.len() < BATCH;
        let last = rows.last().map_or(before.last_offer, |((id, _), _)| *id);
        let contents = rows.into_iter().filter(|((_, kind), _)| kind == CONTENT);
        let offers = contents.filter_map(|((id, _), part)| match part.kind {
            Some(Kind::Content(offer)) => Some((id, offer.updated_at >= walk.since)),
            _ => None,
        });
        Ok(Some(Self { before, offers: offers.collect(), last, is_last, held: None }))
    }

    /// Ends the page before the first offer of the walk that somebody works on.
    fn hold_before(&mut self, is_busy: impl Fn(i64) -> bool) {
        let held = self.offers.iter().find(|(id, is_wanted)| *is_wanted && is_busy(*id));
        self.held = held.map(|(id, _)| *id);
        if let Some(held) = self.held {
            self.offers.retain(|(id, _)| *id < held);
        }
    }

    fn is_held_at_once(&self) -> bool {
        self.held.is_some() && self.offers.is_empty()
    }

    /// What a stage was not told of may have come from outside; a walk over everything is no change at all.
    fn concerns(&self, stage: &str, walk: &Walk) -> Concerns {
        let concern = Concern { fields: Fields::Whole, outside: walk.since != 0 };
        let wanted = self.offers.iter().filter(|(_, is_wanted)| *is_wanted);
        wanted.map(|(id, _)| (*id, BTreeMap::from([(stage.to_owned(), concern.clone())]))).collect()
    }

    /// Where the walk stands after the page, whose first run that conflicts is the next page's first.
    fn row_after(&self, conflict: Option<i64>, asked: usize, now: Timestamp) -> WalkRow {
        let stop = conflict.or(self.held);
        let last_offer = stop.map_or(self.last, |stop| stop - 1);
        WalkRow {
            generation: self.before.generation,
            last_offer,
            looked: self.before.looked
                + self.offers.iter().filter(|(id, _)| *id <= last_offer).count() as i64,
            asked: self.before.asked + asked as i64,
            done_at: if self.is_last && stop.is_none() { now.0 } else { 0 },
        }
    }
}

/// How long this process waits after a page: its share of the rate is its share of the shards.
fn pause(per_second: u32, offers: usize, held: usize) -> Duration {
    let share = held.max(1) as f64 / f64::from(store::SHARDS);
    Duration::from_secs_f64(offers as f64 / (f64::from(per_second.max(1)) * share))
}
