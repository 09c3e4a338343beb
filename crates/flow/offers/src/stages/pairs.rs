//! The pair of an offer and a stage, with the rows that follow from it.
//!
//! | of the pair | follows |
//! | --- | --- |
//! | it waits in the main lane | `queue` (stage, turn, offer) |
//! | timer or retry, not parked | `timers` (stage, the earlier of both, offer) |
//! | runs failed, not parked | `failing` (stage, offer) |
//! | parked | `parked` (stage, offer) |
//! | anything of these | `counts` (stage, lane) |
//!
//! A pair that is parked keeps its timer, which counts again when it is un-parked.

use futures::future::try_join_all;
use store::{Range, Read as _, Tx};
use wire::stages::{CountRow, PairRow};

use super::callers;
use super::counts::Counts;
use super::tables::{FAILING, PAIRS, PARKED, QUEUE, TIMERS};
use super::{CHANNEL, Lane};
use crate::Result;

/// Stages that can have a pair with one offer.
const MAX_PAIRS: usize = 1_000;

/// The changes of a transaction's pairs; what they add up to is written once.
#[derive(Default)]
pub struct Pairs {
    counts: Counts,
}

/// Where a pair stands beside its own row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Its turn in the main lane, and since when it waits.
    pub queue: Option<(i64, i64)>,
    pub timer: Option<i64>,
    pub failing: bool,
    pub parked: bool,
}

impl Places {
    pub fn of(pair: &PairRow) -> Self {
        let parked = pair.parked_at != 0;
        let moments = [pair.timer_at, pair.retry_at];
        Self {
            queue: (pair.queued_at != 0).then_some((pair.turn, pair.queued_at)),
            timer: moments.into_iter().filter(|at| *at != 0 && !parked).min(),
            failing: pair.tries > 0 && !parked,
            parked,
        }
    }
}

/// Whether the pair says nothing, so that its row goes.
pub fn is_empty(pair: &PairRow) -> bool {
    pair.state.is_none() && pair.timer_at == 0 && Places::of(pair) == Places::default()
}

impl Pairs {
    /// Writes the pair as it is after a change, and all that follows.
    pub fn keep(
        &mut self,
        tx: &mut Tx,
        (offer, stage): (i64, &str),
        before: Option<&PairRow>,
        after: &PairRow,
    ) -> Result<()> {
        if before.map_or_else(|| is_empty(after), |before| before == after) {
            return Ok(());
        }
        if is_empty(after) {
            tx.delete(&PAIRS, (offer, stage))?;
        } else {
            tx.put(&PAIRS, (offer, stage), after)?;
        }
        let (was, is) = (before.map(Places::of).unwrap_or_default(), Places::of(after));
        if was.queue != is.queue {
            if let Some((turn, _)) = was.queue {
                tx.delete(&QUEUE, (stage, turn, offer))?;
            }
            if let Some((turn, since)) = is.queue {
                tx.put(&QUEUE, (stage, turn, offer), &since)?;
                tx.wake(CHANNEL);
            }
            let waiting = i64::from(is.queue.is_some()) - i64::from(was.queue.is_some());
            self.count(stage, Lane::Main).waiting += waiting;
        }
        if was.timer != is.timer {
            if let Some(at) = was.timer {
                tx.delete(&TIMERS, (stage, at, offer))?;
            }
            if let Some(at) = is.timer {
                tx.put(&TIMERS, (stage, at, offer), &())?;
                tx.wake(CHANNEL);
            }
            let waiting = i64::from(is.timer.is_some()) - i64::from(was.timer.is_some());
            self.count(stage, Lane::Timers).waiting += waiting;
        }
        if (was.failing, was.parked) != (is.failing, is.parked) {
            for (table, was, is) in [(&FAILING, was.failing, is.failing), (&PARKED, was.parked, is.parked)] {
                match (was, is) {
                    (false, true) => tx.put(table, (stage, offer), &())?,
                    (true, false) => tx.delete(table, (stage, offer))?,
                    _ => {}
                }
            }
            let count = self.count(stage, Lane::Main);
            count.failing += i64::from(is.failing) - i64::from(was.failing);
            count.parked += i64::from(is.parked) - i64::from(was.parked);
        }
        Ok(())
    }

    fn count(&mut self, stage: &str, lane: Lane) -> &mut CountRow {
        self.counts.of(stage, lane.number())
    }

    /// Adds up the counts.
    pub async fn finish(self, tx: &mut Tx) -> Result<()> {
        self.counts.finish(tx).await
    }
}

/// Takes the pairs of offers away, with all that follows from them.
pub async fn forget(tx: &mut Tx, offers: &[i64]) -> Result<()> {
    if offers.is_empty() {
        return Ok(());
    }
    let scans = offers.iter().map(|offer| async {
        Ok::<_, crate::Error>(tx.scan(&PAIRS, Range::prefix((*offer,), MAX_PAIRS)?).await?)
    });
    let found = try_join_all(scans).await?;
    let mut pairs = Pairs::default();
    for ((offer, stage), pair) in found.into_iter().flatten() {
        pairs.keep(tx, (offer, &stage), Some(&pair), &PairRow::default())?;
    }
    pairs.finish(tx).await?;
    callers::forget(tx, offers).await
}
