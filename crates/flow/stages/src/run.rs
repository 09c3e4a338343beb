//! T2: the runs of a stage, up to 100 offers of a shard at a time.
//!
//! ```text
//! outside: snapshot; a permit of the stage's limits; offers marked busy; the lease outlives the deadline; process
//! T2:      work token; offers and pairs are as they were loaded; offer, event, pair, queue, timer, counts, topic
//! ```
//!
//! A crash before T2 leaves everything as it was, and the runs happen again: `process` is pure. What conflicts stays
//! where it stood, in the queue or among the timers, and runs again.

use std::collections::BTreeMap;
use std::time::Duration;

use cluster::Permit;
use kit::Timestamp;
use offers::stages::tables::{QUEUE, TIMERS};
use offers::stages::{Lane, pairs};
use store::{Range, Read as _, Shard, Tx};
use tracing::Instrument as _;
use wire::stages::Saved;

use crate::directory::Entry;
use crate::item::{self, Item};
use crate::pair::{self, Cause, MAX_STATE_BYTES};
use crate::patch::{check_content, patch_of};
use crate::stage::{Failed, Job, Outcome, StateChange, Unavailable};
use crate::{Done, Error, ROLE, Result, Stages, metrics};

/// Why a pair that runs too often is parked.
const LOOP: &str = "it runs again and again without a change from outside";
/// So much before the deadline an answer counts as late.
const SLACK: Duration = Duration::from_millis(50);
/// How long a batch waits for the stage's limits, and when it asks again.
const PERMIT_WAIT: Duration = Duration::from_millis(250);
const PERMIT_AGAIN: Duration = Duration::from_millis(100);

impl Stages {
    /// Runs the next batch of a stage: what waits in its main lane, or what its timers say.
    pub(crate) async fn run_stage(&self, shard: Shard, entry: &Entry) -> Result<Done> {
        let now = self.offers.clock.now();
        if !entry.may_run() {
            return Ok(Done::Nothing);
        }
        if let Some(until) = entry.closed_until(now) {
            return Ok(Done::Later(until));
        }
        let lanes = if self.memory.lower_first(shard, &entry.id) {
            [Lane::Timers, Lane::Main]
        } else {
            [Lane::Main, Lane::Timers]
        };
        let mut first = Done::Nothing;
        for lane in lanes {
            match self.run_lane(shard, entry, lane, now).await? {
                // What is in the way of one lane is not in the way of the other.
                done @ (Done::Nothing | Done::NotNow) => {
                    first = if first == Done::Nothing { done } else { first };
                }
                done => return Ok(done),
            }
        }
        Ok(first)
    }

    async fn run_lane(&self, shard: Shard, entry: &Entry, lane: Lane, now: Timestamp) -> Result<Done> {
        let snapshot = self.offers.store.snapshot(shard).await?;
        let stage = entry.id.as_str();
        let batch = entry.health.batch();
        let limit = batch + self.memory.busy_count(shard);
        let (causes, expected) = match lane {
            Lane::Main => {
                let rows = snapshot.scan(&QUEUE, Range::prefix((stage,), limit)?).await?;
                let ids: Vec<_> = rows.into_iter().map(|((_, _, offer), _)| offer).collect();
                (ids, Cause::Queue)
            }
            _ => {
                let range = Range::prefix((stage,), limit)?.up_to((stage, now.0))?;
                let rows = snapshot.scan(&TIMERS, range).await?;
                (rows.into_iter().map(|((_, _, offer), ())| offer).collect(), Cause::Moment(now.0))
            }
        };
        if causes.is_empty() {
            return Ok(Done::Nothing);
        }
        // Before any offer is marked: a stage that has to wait for its limits keeps none from the others.
        let Some(permit) = self.permit(entry).await? else { return Ok(Done::Later(now.plus(PERMIT_AGAIN))) };
        let busy = self.memory.take(shard, causes, batch);
        if busy.ids().is_empty() {
            // Another stage is at all of them.
            return Ok(Done::NotNow);
        }
        let wanted: Vec<_> = busy.ids().iter().map(|id| (*id, vec![entry.id.clone()])).collect();
        let mut items = item::load(&snapshot, &wanted).await?;
        drop(snapshot);
        let gone: Vec<_> =
            busy.ids().iter().filter(|id| !items.iter().any(|item| item.id == **id)).copied().collect();
        let places: Vec<_> = (0..items.len()).collect();
        let processed = self.process(shard, entry, &mut items, &places, (lane, expected), now).await?;
        drop(permit);
        match processed {
            Processed::Settled => {}
            Processed::TimedOut if items.len() == 1 => {
                let put_off = pair::put_off(items[0].pair(stage), expected, now);
                items[0].set_pair(stage, put_off);
            }
            Processed::Unavailable | Processed::TimedOut => {
                return Ok(Done::Later(entry.closed_until(now).unwrap_or(now)));
            }
        }
        let saved_at = self.offers.clock.now();
        let save = async |tx: &mut Tx| {
            self.offers.cluster.check(tx, ROLE).await?;
            pairs::forget(tx, &gone).await?;
            item::save(tx, self, lane, &items, saved_at).await
        };
        let span = tracing::info_span!("save", stage, lane = lane.name(), offers = items.len());
        let conflicts = self.offers.store.transact(shard, save).instrument(span).await?;
        metrics::ran(&entry.id, lane, items.len() - conflicts.len(), conflicts.len());
        Ok(Done::Worked)
    }

    /// Leave to make a call, soon; `None`: the stage's limits have none to give now.
    async fn permit(&self, entry: &Entry) -> Result<Option<Option<Permit>>> {
        let Some(limiter) = &entry.limiter else { return Ok(Some(None)) };
        match tokio::time::timeout(PERMIT_WAIT, limiter.acquire()).await {
            Ok(permit) => Ok(Some(Some(permit?))),
            Err(_) => Ok(None),
        }
    }

    /// Calls `process` for these items and notes in them what comes of it.
    pub(crate) async fn process(
        &self,
        shard: Shard,
        entry: &Entry,
        items: &mut [Item],
        places: &[usize],
        (lane, cause): (Lane, Cause),
        now: Timestamp,
    ) -> Result<Processed> {
        let deadline = entry.deadline(self.settings.deadline);
        let hold = self.offers.cluster.hold(ROLE, shard, deadline).ok_or(Error::NoLease)?;
        let jobs: Vec<_> = places.iter().map(|place| job(&items[*place], entry, lane, now)).collect();
        let running = entry.activity.begin(jobs.len());
        let began = tokio::time::Instant::now();
        let span = tracing::info_span!("process", stage = entry.id, offers = jobs.len());
        let called = tokio::time::timeout(deadline, entry.port.process(&jobs)).instrument(span).await;
        // A program may say itself that its time is over, a moment before.
        let timed_out = called.is_err() || began.elapsed() + SLACK >= deadline;
        let results = match called {
            Ok(Ok(results)) if results.len() == jobs.len() => Ok(results),
            Ok(Ok(results)) => Err(Unavailable(format!("{} results of {} runs", results.len(), jobs.len()))),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(Unavailable(format!("no answer within {} ms", deadline.as_millis()))),
        };
        drop((hold, running));
        match results {
            Ok(results) => {
                entry.health.succeeded();
                entry.health.grow(results.len());
                entry.activity.ran(results.len(), now);
                let results: BTreeMap<_, _> = places.iter().copied().zip(results).collect();
                for (place, result) in results {
                    self.settle(entry, &mut items[place], cause, result, now);
                }
                Ok(Processed::Settled)
            }
            Err(error) => {
                tracing::warn!(stage = entry.id, %error, "a stage did not run");
                metrics::unavailable(&entry.id);
                entry.health.failed(now, &error.0);
                entry.activity.failed(None, &error.0, now);
                if timed_out {
                    entry.health.shrink(places.len());
                    return Ok(Processed::TimedOut);
                }
                Ok(Processed::Unavailable)
            }
        }
    }

    /// What a run's result means for the offer and the pair.
    fn settle(
        &self,
        entry: &Entry,
        item: &mut Item,
        cause: Cause,
        result: Result<Outcome, Failed>,
        now: Timestamp,
    ) {
        let stage = entry.id.as_str();
        let checked = result.and_then(|outcome| {
            check_state(&outcome)?;
            let patch = patch_of(&item.current, outcome.update.clone())?;
            let patched = patch.map(|patch| {
                let after = patch.apply(&self.offers, &item.current)?;
                if !entry.is_local {
                    check_content(&self.offers, &item.current, &after)?;
                }
                Ok::<_, String>((after != item.current).then_some((patch, after)))
            });
            Ok((outcome, patched.transpose()?.flatten()))
        });
        let before = item.pair(stage).clone();
        let saved = Saved::try_from(entry.row.saved).unwrap_or(Saved::None);
        match checked {
            _ if self.memory.is_loop(stage, item.id, now) => {
                let parked = pair::parked(&before, LOOP, now);
                metrics::looped(stage);
                entry.activity.failed(Some(item.id), LOOP, now);
                item.ran(stage, saved, parked, None);
            }
            Ok((outcome, change)) => {
                let after = pair::done(&before, cause, &outcome, now);
                item.ran(stage, saved, after, change);
                item.send(stage, outcome.photos_again, outcome.messages);
            }
            Err(failed) => {
                metrics::failed(stage);
                entry.activity.failed(Some(item.id), &failed.error, now);
                let after = if failed.is_final {
                    pair::parked(
                        &pair::failed(&before, cause, &failed.error, now, item.id),
                        &failed.error,
                        now,
                    )
                } else {
                    pair::failed(&before, cause, &failed.error, now, item.id)
                };
                item.ran(stage, saved, after, None);
            }
        }
    }
}

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processed {
    /// Every item has its result, good or bad.
    Settled,
    /// The stage could not be asked, or answered nonsense.
    Unavailable,
    /// It did not answer in time.
    TimedOut,
}

fn job<'a>(item: &'a Item, entry: &Entry, lane: Lane, now: Timestamp) -> Job<'a> {
    Job { offer: &item.current, state: item.pair(&entry.id).state.as_ref(), now, lane }
}

fn check_state(outcome: &Outcome) -> Result<(), String> {
    match &outcome.state {
        StateChange::Set(state) if prost::Message::encoded_len(state) > MAX_STATE_BYTES => {
            Err(format!("a state has at most {MAX_STATE_BYTES} bytes"))
        }
        _ => Ok(()),
    }
}
