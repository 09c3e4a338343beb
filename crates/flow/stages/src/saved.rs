//! After the save: who wants `on_saved` called is called, at least once, in order per offer and stage.
//!
//! ```text
//! T2        the run's save and a message for topic `stages.saved`, in one transaction        item.rs
//! consumer  group `on-saved` puts the message behind the pair's others: `calls`, `callers`   NoteCalls
//! work      the first of each pair is called with; then it goes, or waits longer each time   Stages::call
//! ```
//!
//! So a slow stage delays no partition and no other stage, and a pair whose call was tried too often is parked with all that
//! stands behind it: listed, tried again or dropped like a run that failed. A crash between a call and its transaction
//! repeats the call; a lease that outlives every call keeps two processes from calling for one pair at a time.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use kit::Timestamp;
use model::OfferId;
use offers::read::shard_of;
use offers::stages::callers::Callers;
use offers::stages::tables::{CALLERS, CALLS, CALLS_DUE};
use offers::tables::{CONTENT, OFFER};
use prost::Message as _;
use store::{Encode as _, Range, Read as _, Shard, Tx};
use topics::Record;
use topics::consume::{Failure, Handler, Undecodable};
use wire::stages::{CallerRow, SavedRun};

use crate::directory::Entry;
use crate::pair::{PATIENCE, cut, wait};
use crate::{Done, Error, ROLE, Result, Stages, metrics};

/// The group that reads `stages.saved` for the calls.
pub const GROUP: &str = "on-saved";
/// Calls of a stage under way in a shard, each for another offer.
const CALLS_AT_ONCE: usize = 16;
/// A call that could not be made is made again after this, if nothing else holds it back.
const AWAY: Duration = Duration::from_secs(10);
/// How long a call waits for the stage's limits before others come first.
const PERMIT_WAIT: Duration = Duration::from_millis(500);
/// A stage that is not known may have been registered through another process so long ago.
const UNKNOWN_FOR: Duration = Duration::from_secs(30);

/// Puts saves behind each other, a line per pair. For [`topics::consume::run`].
pub struct NoteCalls(pub Stages);

#[async_trait]
impl Handler for NoteCalls {
    type Message = SavedRun;

    fn decode(&self, record: &Record) -> Result<(Shard, SavedRun), Undecodable> {
        let run = SavedRun::decode(record.payload.clone()).map_err(Undecodable::new)?;
        let offer = run.offer.as_ref().and_then(|offer| OfferId::from_raw(offer.id));
        let offer = offer.ok_or_else(|| Undecodable::new("it names no offer"))?;
        Ok((shard_of(offer), run))
    }

    async fn apply(&self, tx: &mut Tx, runs: Vec<SavedRun>) -> Result<(), Failure> {
        let now = self.0.offers.clock.now();
        let mut lines = BTreeMap::<(i64, String), Vec<SavedRun>>::new();
        for run in runs.into_iter().filter(|run| run.call) {
            if self.0.is_wanted(&run, now)? {
                let offer = run.offer.as_ref().map_or(0, |offer| offer.id);
                lines.entry((offer, run.stage.clone())).or_default().push(run);
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        let contents = lines.keys().map(|(offer, _)| (*offer, CONTENT).encode());
        let contents = contents.collect::<store::Result<Vec<_>>>()?;
        let table = tx.id(&OFFER)?;
        let (there, stored) = futures::try_join!(
            tx.get_many_raw(table, contents),
            tx.get_many(&CALLERS, lines.keys().map(|(offer, stage)| (*offer, stage.as_str())))
        )?;
        let mut callers = Callers::default();
        for ((((offer, stage), runs), there), before) in lines.iter().zip(there).zip(stored) {
            // An offer that left the tables takes along whatever was to be told of it.
            if there.is_none() {
                continue;
            }
            let mut after = before.clone().unwrap_or(CallerRow { due_at: now.0, ..CallerRow::default() });
            for run in runs {
                tx.put(&CALLS, (*offer, stage.as_str(), after.next), run)?;
                after.next += 1;
            }
            callers.keep(tx, (*offer, stage), before.as_ref(), &after).map_err(Failure::transient)?;
        }
        callers.finish(tx).await.map_err(Failure::transient)
    }
}

/// How a call went.
enum Called {
    Done,
    Failed(String),
    /// The stage could not be reached, which says nothing about the call.
    Away,
    /// The stage's limits let no more calls through.
    NotNow,
}

impl Stages {
    /// Whether the stage is still there to be called.
    fn is_wanted(&self, run: &SavedRun, now: Timestamp) -> Result<bool, Failure> {
        match self.directory.entry(&run.stage) {
            Some(entry) => Ok(entry.row.removed_at == 0),
            None if now.since(Timestamp(run.saved_at)) < UNKNOWN_FOR => {
                Err(Failure::transient(format!("the stage {:?} is not known yet", run.stage)))
            }
            None => Ok(false),
        }
    }

    /// Makes the calls of a stage that are due.
    pub(crate) async fn call(&self, shard: Shard, entry: &Entry) -> Result<Done> {
        let now = self.offers.clock.now();
        if !entry.may_run() {
            return Ok(Done::Nothing);
        }
        if let Some(until) = entry.closed_until(now) {
            return Ok(Done::Later(until));
        }
        let stage = entry.id.as_str();
        let snapshot = self.offers.store.snapshot(shard).await?;
        let range = Range::prefix((stage,), CALLS_AT_ONCE)?.up_to((stage, now.0))?;
        let due = snapshot.scan(&CALLS_DUE, range).await?;
        let offers: Vec<_> = due.into_iter().map(|((_, _, offer), ())| offer).collect();
        if offers.is_empty() {
            return Ok(Done::Nothing);
        }
        let callers = snapshot.get_many(&CALLERS, offers.iter().map(|offer| (*offer, stage))).await?;
        let callers: Vec<_> =
            offers.into_iter().zip(callers).filter_map(|(id, row)| Some((id, row?))).collect();
        let runs = callers.iter().map(|(offer, caller)| (*offer, stage, caller.first));
        let runs = snapshot.get_many(&CALLS, runs).await?;
        drop(snapshot);
        let deadline = entry.deadline(self.settings.deadline);
        let longest = PERMIT_WAIT + deadline;
        let hold = self.offers.cluster.hold(ROLE, shard, longest).ok_or(Error::NoLease)?;
        let called = join_all(runs.iter().map(|run| self.call_once(entry, run.as_ref(), deadline))).await;
        drop(hold);
        let made: Vec<_> = callers.into_iter().zip(called).collect();
        self.note_calls(shard, stage, &made).await?;
        Ok(Done::Worked)
    }

    async fn call_once(&self, entry: &Entry, run: Option<&SavedRun>, deadline: Duration) -> Called {
        // Nothing is there to be told of, so the line moves on.
        let Some(run) = run else { return Called::Done };
        let permit = match &entry.limiter {
            Some(limiter) => match tokio::time::timeout(PERMIT_WAIT, limiter.acquire()).await {
                Ok(Ok(permit)) => Some(permit),
                _ => return Called::NotNow,
            },
            None => None,
        };
        let now = self.offers.clock.now();
        let called = tokio::time::timeout(deadline, entry.port.on_saved(run)).await;
        drop(permit);
        let called = match called {
            Ok(called) => called.map_err(|error| error.0),
            Err(_) => Err(format!("no answer within {} ms", deadline.as_millis())),
        };
        match called {
            Ok(answered) => {
                entry.health.succeeded();
                answered.map_or_else(Called::Failed, |()| Called::Done)
            }
            Err(error) => {
                // One line for the calls that were under way together.
                if entry.closed_until(now).is_none() {
                    tracing::warn!(stage = entry.id, error, "a stage could not be told of a save");
                }
                metrics::unavailable(&entry.id);
                entry.health.failed(now, &error);
                entry.activity.failed(None, &error, now);
                Called::Away
            }
        }
    }

    async fn note_calls(&self, shard: Shard, stage: &str, made: &[((i64, CallerRow), Called)]) -> Result<()> {
        let now = self.offers.clock.now();
        let note = async |tx: &mut Tx| {
            self.offers.cluster.check(tx, ROLE).await?;
            let stored = tx.get_many(&CALLERS, made.iter().map(|((offer, _), _)| (*offer, stage))).await?;
            let mut callers = Callers::default();
            for (((offer, loaded), called), stored) in made.iter().zip(stored) {
                // Others may have put saves behind it meanwhile; a person may have dropped its first.
                let Some(before) = stored.filter(|row| row.first == loaded.first && row.parked_at == 0)
                else {
                    continue;
                };
                let after = after_call(&before, called, now, *offer);
                if after.first != before.first {
                    tx.delete(&CALLS, (*offer, stage, before.first))?;
                }
                callers.keep(tx, (*offer, stage), Some(&before), &after)?;
            }
            callers.finish(tx).await?;
            Ok::<_, Error>(())
        };
        self.offers.store.transact(shard, note).await?;
        for (_, called) in made {
            metrics::called(stage, matches!(called, Called::Done));
        }
        Ok(())
    }
}

fn after_call(caller: &CallerRow, called: &Called, now: Timestamp, offer: i64) -> CallerRow {
    let mut after = caller.clone();
    match called {
        Called::Done => after = next(&after, now),
        Called::Away => after.due_at = now.plus(AWAY).0,
        Called::NotNow => after.due_at = now.plus(PERMIT_WAIT).0,
        Called::Failed(error) => {
            after.tries += 1;
            (after.error, after.failed_at) = (cut(error), now.0);
            if PATIENCE.is_over(after.tries) {
                (after.parked_at, after.due_at) = (now.0, 0);
            } else {
                after.due_at = now.plus(wait(after.tries, offer)).0;
            }
        }
    }
    after
}

/// The line without its first save.
pub(crate) fn next(caller: &CallerRow, now: Timestamp) -> CallerRow {
    CallerRow { first: caller.first + 1, next: caller.next, due_at: now.0, ..CallerRow::default() }
}

/// The first save is called with once more, as if it had not been tried.
pub(crate) fn again(caller: &CallerRow, now: Timestamp) -> CallerRow {
    CallerRow { first: caller.first, next: caller.next, due_at: now.0, ..CallerRow::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    #[test]
    fn a_call_that_fails_waits_and_is_parked_in_the_end_and_one_that_cannot_be_made_counts_no_try() {
        let mut caller = CallerRow { first: 4, next: 6, due_at: 1, ..CallerRow::default() };
        caller = after_call(&caller, &Called::Away, NOW, 7);
        assert_eq!((caller.first, caller.tries, caller.due_at), (4, 0, NOW.plus(AWAY).0));
        for tries in 1..PATIENCE.max_tries {
            caller = after_call(&caller, &Called::Failed("no".into()), NOW, 7);
            assert!(caller.tries == tries && caller.parked_at == 0 && caller.due_at > NOW.0);
        }
        caller = after_call(&caller, &Called::Failed("never".into()), NOW, 7);
        assert_eq!((caller.parked_at, caller.due_at, caller.error.as_str()), (NOW.0, 0, "never"));
        let retried = again(&caller, NOW);
        assert_eq!((retried.first, retried.tries, retried.parked_at, retried.due_at), (4, 0, 0, NOW.0));
        let done = after_call(&retried, &Called::Done, NOW, 7);
        assert_eq!((done.first, done.next, done.due_at), (5, 6, NOW.0));
    }
}
