//! What is due in which shard, and the doing of one piece of it.
//!
//! A piece of work is a shard's changes, or one stage in one shard; so a slow stage keeps nobody waiting but itself. Pieces
//! carry no data: each looks at the tables again and does one batch.

use std::collections::{BTreeMap, BTreeSet};

use kit::Timestamp;
use offers::stages::tables::{CALLS_DUE, CHANGED, COUNTS, TIMERS};
use offers::stages::{Lane, callers};
use store::{Range, Shard};

use crate::{Result, Stages};

/// Rows of `counts` that a shard can have.
const MAX_COUNTS: usize = 1_024;

/// What can be done in a shard.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Piece {
    /// Tells stages of changes.
    Changed,
    /// Runs a stage.
    Stage(String),
    /// Goes on with a stage's walk over all offers.
    Walk(String),
    /// Tells a stage of its saves.
    Calls(String),
    /// Takes the pairs of a removed stage away.
    Clear(String),
}

impl Piece {
    /// The stage that it is about; none for the changes of a shard.
    pub fn stage(&self) -> &str {
        match self {
            Self::Changed => "",
            Self::Stage(id) | Self::Walk(id) | Self::Calls(id) | Self::Clear(id) => id,
        }
    }
}

/// What became of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Something was done, and there may be more.
    Worked,
    /// There was nothing to do.
    Nothing,
    /// What there is waits for another piece of the shard, which looks again when it ends.
    NotNow,
    /// Not before this moment.
    Later(Timestamp),
}

/// What a look at some shards showed.
#[derive(Debug, Default)]
pub struct Look {
    pub due: Vec<(Shard, Piece)>,
    /// When something will be due in a shard that has nothing due now.
    pub later: BTreeMap<Shard, Timestamp>,
}

impl Look {
    pub(crate) fn later(&mut self, shard: Shard, at: Timestamp) {
        self.later.entry(shard).and_modify(|first| *first = at.min(*first)).or_insert(at);
    }
}

impl Stages {
    /// What is due in these shards: few questions, however many shards there are.
    pub async fn look(&self, shards: &[Shard], now: Timestamp) -> Result<Look> {
        let mut look = Look::default();
        let store = &self.offers.store;
        let mut changed = BTreeSet::new();
        for lane in Lane::ALL {
            let rows = store.scan_shards(&CHANGED, shards, Range::prefix((lane.number(),), 1)?).await?;
            changed.extend(rows.into_iter().map(|(shard, _, _)| shard));
        }
        look.due.extend(changed.into_iter().map(|shard| (shard, Piece::Changed)));
        let counts = store.scan_shards(&COUNTS, shards, Range::all(MAX_COUNTS)).await?;
        let mut timers = BTreeMap::<String, Vec<Shard>>::new();
        let mut calls = BTreeMap::<String, Vec<Shard>>::new();
        for (shard, (stage, lane), count) in counts {
            let Some(entry) = self.directory.entry(&stage).filter(|entry| entry.may_run()) else { continue };
            if count.waiting == 0 {
                continue;
            }
            if let Some(until) = entry.closed_until(now) {
                look.later(shard, until);
            } else if lane == Lane::Main.number() {
                look.due.push((shard, Piece::Stage(stage)));
            } else if lane == callers::LANE {
                calls.entry(stage).or_default().push(shard);
            } else {
                timers.entry(stage).or_default().push(shard);
            }
        }
        for (stage, shards) in calls {
            let heads = store.scan_shards(&CALLS_DUE, &shards, Range::prefix((stage.as_str(),), 1)?).await?;
            for (shard, (_, at, _), ()) in heads {
                if at <= now.0 {
                    look.due.push((shard, Piece::Calls(stage.clone())));
                } else {
                    look.later(shard, Timestamp(at));
                }
            }
        }
        for (stage, shards) in timers {
            let heads = store.scan_shards(&TIMERS, &shards, Range::prefix((stage.as_str(),), 1)?).await?;
            for (shard, (_, at, _), ()) in heads {
                if at <= now.0 {
                    look.due.push((shard, Piece::Stage(stage.clone())));
                } else {
                    look.later(shard, Timestamp(at));
                }
            }
        }
        self.look_for_walks(shards, now, &mut look).await?;
        for entry in self.directory.entries().iter().filter(|entry| entry.row.removed_at != 0) {
            let uncleared = self.uncleared(entry, shards).await?;
            look.due.extend(uncleared.into_iter().map(|shard| (shard, Piece::Clear(entry.id.clone()))));
        }
        look.due.sort_unstable();
        look.due.dedup();
        Ok(look)
    }

    /// Does one batch.
    pub async fn run_piece(&self, shard: Shard, piece: &Piece) -> Result<Done> {
        match piece {
            Piece::Changed => self.run_changed(shard).await,
            Piece::Stage(id) | Piece::Walk(id) | Piece::Calls(id) | Piece::Clear(id) => {
                match self.directory.entry(id) {
                    None => Ok(Done::Nothing),
                    Some(entry) => match piece {
                        Piece::Walk(_) => self.walk(shard, &entry).await,
                        Piece::Calls(_) => self.call(shard, &entry).await,
                        Piece::Clear(_) => self.clear(shard, &entry).await,
                        _ => self.run_stage(shard, &entry).await,
                    },
                }
            }
        }
    }

    /// The main lane first, but every so often a lower one that has work.
    async fn run_changed(&self, shard: Shard) -> Result<Done> {
        if self.memory.lower_first(shard, "") {
            let done = self.follow_lower(shard).await?;
            if done == Done::Worked {
                return Ok(done);
            }
        }
        let told = self.tell(shard).await?;
        if told != Done::Nothing {
            return Ok(told);
        }
        self.follow_lower(shard).await
    }

    /// The next changes of the lower lanes; none of them keeps another waiting for ever.
    async fn follow_lower(&self, shard: Shard) -> Result<Done> {
        let mut first = Done::Nothing;
        for lane in self.memory.lower_lanes(shard) {
            match self.follow(shard, lane).await? {
                done @ (Done::Nothing | Done::NotNow) => {
                    first = if first == Done::Nothing { done } else { first };
                }
                done => return Ok(done),
            }
        }
        Ok(first)
    }
}
