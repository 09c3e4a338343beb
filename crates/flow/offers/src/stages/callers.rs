//! Saves that a stage's `on_saved` has still to be called with: a line per pair of an offer and a stage, in the order of the
//! saves, of which only the first is ever called with.
//!
//! | of the caller | follows |
//! | --- | --- |
//! | it has saves and is not parked | `calls_due` (stage, when the first is called with, offer) |
//! | parked: the first was tried too often | `calls_parked` (stage, offer) |
//! | anything of these | `counts` (stage, [`LANE`]) |

use futures::future::try_join_all;
use store::{Range, Read as _, Tx};
use wire::stages::CallerRow;

use super::CHANNEL;
use super::counts::Counts;
use super::tables::{CALLERS, CALLS, CALLS_DUE, CALLS_PARKED};
use crate::Result;

/// The number under which calls stand in `counts`; no lane has it.
pub const LANE: u32 = 9;
/// Stages that can have a caller for one offer.
const MAX_CALLERS: usize = 1_000;
/// Saves of one caller that are deleted at a time.
const PAGE: usize = 500;

/// The changes of a transaction's callers; what they add up to is written once.
#[derive(Default)]
pub struct Callers {
    counts: Counts,
}

/// Where a caller stands beside its own row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallerPlaces {
    pub due: Option<i64>,
    pub parked: bool,
}

impl CallerPlaces {
    pub fn of(caller: &CallerRow) -> Self {
        let (waits, parked) = (caller.first < caller.next, caller.parked_at != 0);
        Self { due: (waits && !parked).then_some(caller.due_at), parked: waits && parked }
    }
}

impl Callers {
    /// Writes the caller as it is after a change, and all that follows; its saves are written by who changes it.
    pub fn keep(
        &mut self,
        tx: &mut Tx,
        (offer, stage): (i64, &str),
        before: Option<&CallerRow>,
        after: &CallerRow,
    ) -> Result<()> {
        if after.first >= after.next {
            if before.is_some() {
                tx.delete(&CALLERS, (offer, stage))?;
            }
        } else if before != Some(after) {
            tx.put(&CALLERS, (offer, stage), after)?;
        }
        let (was, is) = (before.map(CallerPlaces::of).unwrap_or_default(), CallerPlaces::of(after));
        if was.due != is.due {
            if let Some(at) = was.due {
                tx.delete(&CALLS_DUE, (stage, at, offer))?;
            }
            if let Some(at) = is.due {
                tx.put(&CALLS_DUE, (stage, at, offer), &())?;
                tx.wake(CHANNEL);
            }
        }
        if was.parked != is.parked {
            if is.parked {
                tx.put(&CALLS_PARKED, (stage, offer), &())?;
            } else {
                tx.delete(&CALLS_PARKED, (stage, offer))?;
            }
        }
        let count = self.counts.of(stage, LANE);
        count.waiting += i64::from(is.due.is_some()) - i64::from(was.due.is_some());
        count.parked += i64::from(is.parked) - i64::from(was.parked);
        Ok(())
    }

    /// Adds up the counts.
    pub async fn finish(self, tx: &mut Tx) -> Result<()> {
        self.counts.finish(tx).await
    }
}

/// Takes callers away with their saves, a page of each; those that have more are left with the rest. Says whether all of it
/// is gone.
pub async fn remove(tx: &mut Tx, found: &[((i64, String), CallerRow)]) -> Result<bool> {
    let mut callers = Callers::default();
    let mut whole = true;
    for ((offer, stage), before) in found {
        let last = before.next.min(before.first + PAGE as i64);
        for number in before.first..last {
            tx.delete(&CALLS, (*offer, stage.as_str(), number))?;
        }
        whole &= last == before.next;
        let after = CallerRow { first: last, ..before.clone() };
        callers.keep(tx, (*offer, stage), Some(before), &after)?;
    }
    callers.finish(tx).await?;
    Ok(whole)
}

/// Takes all that is kept for offers away: they leave the tables.
pub(super) async fn forget(tx: &mut Tx, offers: &[i64]) -> Result<()> {
    let scans = offers.iter().map(|offer| async {
        Ok::<_, crate::Error>(tx.scan(&CALLERS, Range::prefix((*offer,), MAX_CALLERS)?).await?)
    });
    let mut found: Vec<_> = try_join_all(scans).await?.into_iter().flatten().collect();
    while !found.is_empty() && !remove(tx, &found).await? {
        for (_, caller) in &mut found {
            caller.first = caller.next.min(caller.first + PAGE as i64);
        }
        found.retain(|(_, caller)| caller.first < caller.next);
    }
    Ok(())
}
