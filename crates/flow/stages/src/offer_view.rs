//! What the stages have to do with an offer, and why it waits for them.

use kit::Timestamp;
use model::{Offer, OfferId};
use offers::read::shard_of;
use offers::stages::pairs::Places;
use offers::stages::tables::{PAIRS, QUEUE, STAGE_WALKS};
use store::{Range, Read as _};
use wire::stages::{PairRow, WalkRow};

use crate::directory::Entry;
use crate::{ROLE, Result, Stages};

/// Rows of a queue that are counted.
const MAX_COUNTED: usize = 1_000;

/// Why an offer waits for a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Paused,
    Parked,
    /// The stage does not answer.
    Breaker,
    /// No living process holds the work token of the offer's shard.
    Lease,
    /// The stage's limits let no more calls through.
    Limit,
    /// Its turn has not come.
    Turn,
    /// A run failed and is tried again later.
    Retry,
    Timer,
    /// A walk that makes up for changes has not come to it yet.
    Walk,
}

impl Why {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Parked => "parked",
            Self::Breaker => "breaker",
            Self::Lease => "lease",
            Self::Limit => "limit",
            Self::Turn => "turn",
            Self::Retry => "retry",
            Self::Timer => "timer",
            Self::Walk => "walk",
        }
    }
}

/// What a stage has to do with an offer.
pub struct OfferStage {
    pub stage: String,
    pub pair: PairRow,
    /// How many stand before it in its queue; at most [`MAX_COUNTED`] are counted.
    pub place: Option<usize>,
    /// The stage was not told of a change of it yet.
    pub is_owed: bool,
    pub why: Option<Why>,
}

/// What can keep the work of a stage from being done, whichever the offer.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools)]
struct Obstacles {
    is_paused: bool,
    is_open: bool,
    is_unserved: bool,
    is_limited: bool,
}

impl Stages {
    /// What each stage has to do with an offer: those that have a row for it, or owe it.
    pub async fn stages_of(&self, offer: &Offer, id: OfferId) -> Result<Vec<OfferStage>> {
        self.refresh().await?;
        let now = self.offers.clock.now();
        let shard = shard_of(id);
        let mut activities = self.activities().await?;
        let is_unserved = !self.offers.cluster.is_served(ROLE, shard).await?;
        let snapshot = self.offers.store.snapshot(shard).await?;
        let mut found = Vec::new();
        for entry in self.entries().iter() {
            let stage = entry.id.as_str();
            let pair = snapshot.get(&PAIRS, (id.raw(), stage)).await?;
            let walked = snapshot.get(&STAGE_WALKS, (stage,)).await?;
            let is_owed = is_owed(entry, walked, offer, id);
            if pair.is_none() && !is_owed {
                continue;
            }
            let pair = pair.unwrap_or_default();
            let place = match Places::of(&pair).queue {
                Some((turn, _)) => {
                    let before = Range::prefix((stage,), MAX_COUNTED)?.before((stage, turn, id.raw()))?;
                    Some(snapshot.scan(&QUEUE, before).await?.len())
                }
                None => None,
            };
            let activity = activities.remove(stage).unwrap_or_default();
            let obstacles = Obstacles {
                is_paused: entry.row.paused_at != 0,
                is_open: activity.open_until > now.0,
                is_unserved,
                is_limited: activity.limited > 0,
            };
            let why = why(&pair, obstacles, is_owed, now);
            found.push(OfferStage { stage: entry.id.clone(), pair, place, is_owed, why });
        }
        Ok(found)
    }
}

/// Whether the stage was not told of a change of the offer, and no walk has made up for it.
fn is_owed(entry: &Entry, walked: Option<WalkRow>, offer: &Offer, id: OfferId) -> bool {
    if entry.row.owes_since == 0 {
        return false;
    }
    match entry.row.walk.filter(|walk| walk.done_at == 0) {
        None => offer.updated_at >= entry.row.owes_since,
        Some(walk) => {
            let passed = walked.is_some_and(|row| {
                row.generation == walk.generation && (row.done_at != 0 || row.last_offer >= id.raw())
            });
            !passed && offer.updated_at >= walk.since
        }
    }
}

fn why(pair: &PairRow, obstacles: Obstacles, is_owed: bool, now: Timestamp) -> Option<Why> {
    let places = Places::of(pair);
    if places.parked {
        return Some(Why::Parked);
    }
    let is_due = places.queue.is_some() || places.timer.is_some_and(|at| at <= now.0);
    if !is_due && places.timer.is_none() && !is_owed {
        return None;
    }
    if obstacles.is_paused {
        return Some(Why::Paused);
    }
    if is_due || is_owed {
        let found = [
            (obstacles.is_unserved, Why::Lease),
            (obstacles.is_open, Why::Breaker),
            (obstacles.is_limited && is_due, Why::Limit),
        ];
        if let Some((_, why)) = found.into_iter().find(|(holds, _)| *holds) {
            return Some(why);
        }
    }
    Some(match places {
        Places { queue: Some(_), .. } => Why::Turn,
        Places { timer: Some(at), .. } if at == pair.retry_at => Why::Retry,
        Places { timer: Some(_), .. } => Why::Timer,
        _ => Why::Walk,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_obstacle_is_named() {
        let now = Timestamp(1_000);
        let check = |pair: &PairRow, obstacles: Obstacles, is_owed: bool, expected: Option<Why>| {
            assert_eq!(why(pair, obstacles, is_owed, now), expected, "{pair:?} {obstacles:?}");
        };
        let free = Obstacles::default();
        let paused = Obstacles { is_paused: true, is_open: true, ..free };
        let queued = PairRow { queued_at: 5, turn: 1, ..PairRow::default() };
        let timer = PairRow { timer_at: 5_000, ..PairRow::default() };
        let failing = PairRow { retry_at: 2_000, tries: 3, ..timer.clone() };
        let parked = PairRow { parked_at: 9, ..timer.clone() };
        check(&PairRow::default(), free, false, None);
        check(&PairRow::default(), free, true, Some(Why::Walk));
        check(&parked, paused, false, Some(Why::Parked));
        check(&queued, paused, false, Some(Why::Paused));
        check(&queued, free, false, Some(Why::Turn));
        check(&queued, Obstacles { is_limited: true, ..free }, false, Some(Why::Limit));
        check(&queued, Obstacles { is_unserved: true, is_open: true, ..free }, false, Some(Why::Lease));
        check(&queued, Obstacles { is_open: true, is_limited: true, ..free }, false, Some(Why::Breaker));
        check(&timer, Obstacles { is_open: true, is_unserved: true, ..free }, false, Some(Why::Timer));
        check(&failing, free, false, Some(Why::Retry));
        check(
            &PairRow { timer_at: 500, ..timer },
            Obstacles { is_open: true, ..free },
            false,
            Some(Why::Breaker),
        );
    }
}
