//! What the processes do for each stage at the moment: runs under way, how many there were in the last minute, the last
//! errors, the breaker. For people; nothing is decided by it.
//!
//! Each process counts in memory, and reports to the others in table `activity` whenever it looks after the registry; a
//! stage at rest is not reported again. A crash loses the counts of a minute, and leaves a report that is soon too old to
//! be believed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kit::Timestamp;
use offers::stages::interests::MAX_STAGES;
use offers::stages::tables::{ACTIVITY, registry_shard};
use store::{Range, Read as _, Tx};
use wire::stages::{ActivityRow, StageError};

use crate::directory::Entry;
use crate::pair::shortened;
use crate::{Error, Result, Stages};

/// Seconds over which runs are counted.
pub const WINDOW_SECONDS: i64 = 60;
/// Errors that are kept.
const MAX_ERRORS: usize = 10;
/// A report is believed this long: a few times the pause between two.
const FRESH: Duration = Duration::from_secs(15);
/// Reports of processes that are gone are taken away after this.
const FORGOTTEN: Duration = Duration::from_hours(24);
/// Reports that are read: stages times processes.
const MAX_REPORTS: usize = MAX_STAGES * 64;

/// What this process has done for a stage lately.
#[derive(Debug, Default)]
pub(crate) struct Activity(Mutex<Recent>);

#[derive(Debug, Default)]
struct Recent {
    running: u32,
    /// By second: runs, and how many of them failed.
    seconds: VecDeque<(i64, u64, u64)>,
    /// The newest first.
    errors: VecDeque<StageError>,
    /// As the others know it.
    reported: ActivityRow,
}

/// Runs that are under way until this is dropped.
pub(crate) struct Running<'a>(&'a Activity, u32);

impl Activity {
    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin(&self, offers: usize) -> Running<'_> {
        let offers = offers as u32;
        self.recent().running += offers;
        Running(self, offers)
    }

    pub(crate) fn ran(&self, offers: usize, now: Timestamp) {
        self.recent().second(now).1 += offers as u64;
    }

    /// A run failed; without an offer the call did, as a whole.
    pub(crate) fn failed(&self, offer: Option<i64>, error: &str, now: Timestamp) {
        let mut recent = self.recent();
        recent.second(now).2 += 1;
        let (offer_id, error) = (offer.unwrap_or(0), shortened(error));
        match recent.errors.front_mut() {
            Some(last) if last.error == error => {
                (last.at, last.offer_id) = (now.0, offer_id);
                last.times = last.times.saturating_add(1);
            }
            _ => {
                let error = StageError { at: now.0, offer_id, error: error.to_owned(), times: 1 };
                recent.errors.push_front(error);
                recent.errors.truncate(MAX_ERRORS);
            }
        }
    }
}

impl Recent {
    fn second(&mut self, now: Timestamp) -> &mut (i64, u64, u64) {
        let second = now.0 / 1_000_000;
        self.seconds.retain(|(at, ..)| second - at < WINDOW_SECONDS);
        if self.seconds.back().is_none_or(|(at, ..)| *at < second) {
            self.seconds.push_back((second, 0, 0));
        }
        let last = self.seconds.len() - 1;
        &mut self.seconds[last]
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut recent = self.0.recent();
        recent.running = recent.running.saturating_sub(self.1);
    }
}

impl Entry {
    /// What this process has to say of the stage now.
    pub(crate) fn activity(&self, now: Timestamp) -> ActivityRow {
        let breaker = self.breaker();
        let recent = self.activity.recent();
        let counted = recent.seconds.iter().filter(|(at, ..)| now.0 / 1_000_000 - at < WINDOW_SECONDS);
        let (runs, failures) =
            counted.fold((0, 0), |(runs, failures), second| (runs + second.1, failures + second.2));
        ActivityRow {
            at: now.0,
            running: recent.running,
            runs,
            failures,
            limited: self.limiter.as_ref().map_or(0, cluster::Limiter::waiting),
            failed_calls: breaker.failures,
            down_since: breaker.down_since.map_or(0, |at| at.0),
            open_until: breaker.open_until.0,
            errors: recent.errors.iter().cloned().collect(),
        }
    }
}

impl Stages {
    /// Tells the other processes what this one does.
    pub(crate) async fn report(&self, now: Timestamp) -> Result<()> {
        let entries = self.entries();
        let reports: Vec<_> = entries
            .iter()
            .filter_map(|entry| {
                let row = entry.activity(now);
                let reported = entry.activity.recent().reported.clone();
                (!is_at_rest(&row) || !same(&row, &reported)).then_some((entry, row))
            })
            .collect();
        if reports.is_empty() {
            return Ok(());
        }
        let me = self.offers.cluster.member_id();
        let write = async |tx: &mut Tx| {
            for (entry, row) in &reports {
                tx.put(&ACTIVITY, (entry.id.as_str(), me), row)?;
            }
            for ((stage, process), row) in tx.scan(&ACTIVITY, Range::all(MAX_REPORTS)).await? {
                if now.since(Timestamp(row.at)) > FORGOTTEN {
                    tx.delete(&ACTIVITY, (stage.as_str(), process.as_str()))?;
                }
            }
            Ok::<_, Error>(())
        };
        self.offers.store.transact(registry_shard(), write).await?;
        for (entry, row) in reports {
            entry.activity.recent().reported = row;
        }
        Ok(())
    }

    /// What all processes do for each stage: this one as it is now, the others as they reported.
    pub(crate) async fn activities(&self) -> Result<BTreeMap<String, ActivityRow>> {
        let now = self.offers.clock.now();
        let me = self.offers.cluster.member_id();
        let snapshot = self.offers.store.snapshot(registry_shard()).await?;
        let mut sums = BTreeMap::<String, ActivityRow>::new();
        for ((stage, process), row) in snapshot.scan(&ACTIVITY, Range::all(MAX_REPORTS)).await? {
            if process != me {
                add(sums.entry(stage).or_default(), believed(row, now));
            }
        }
        for entry in self.entries().iter() {
            add(sums.entry(entry.id.clone()).or_default(), entry.activity(now));
        }
        Ok(sums)
    }
}

fn is_at_rest(row: &ActivityRow) -> bool {
    row.running == 0 && row.runs == 0 && row.failures == 0 && row.limited == 0 && row.failed_calls == 0
}

/// Whether two reports differ in nothing but their moment.
fn same(one: &ActivityRow, other: &ActivityRow) -> bool {
    ActivityRow { at: 0, ..one.clone() } == ActivityRow { at: 0, ..other.clone() }
}

/// Of an old report only the errors are true still.
fn believed(row: ActivityRow, now: Timestamp) -> ActivityRow {
    if now.since(Timestamp(row.at)) <= FRESH {
        return row;
    }
    ActivityRow { at: row.at, errors: row.errors, ..ActivityRow::default() }
}

/// The breaker shown is that of the process whose calls fail longest.
fn add(sum: &mut ActivityRow, row: ActivityRow) {
    sum.at = sum.at.max(row.at);
    sum.running += row.running;
    sum.runs += row.runs;
    sum.failures += row.failures;
    sum.limited += row.limited;
    if row.failed_calls > sum.failed_calls {
        (sum.failed_calls, sum.down_since, sum.open_until) =
            (row.failed_calls, row.down_since, row.open_until);
    }
    sum.errors.extend(row.errors);
    sum.errors.sort_by_key(|error| std::cmp::Reverse(error.at));
    sum.errors.truncate(MAX_ERRORS);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp(seconds * 1_000_000)
    }

    #[test]
    fn runs_are_counted_for_a_minute_and_errors_are_kept() {
        let activity = Activity::default();
        let counted = |now: i64| {
            let mut recent = activity.recent();
            recent.second(at(now));
            recent
                .seconds
                .iter()
                .map(|second| (second.1, second.2))
                .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
        };
        let running = activity.begin(100);
        assert_eq!(activity.recent().running, 100);
        drop(running);
        activity.ran(100, at(1));
        activity.failed(Some(7), "no luck", at(1));
        activity.ran(20, at(30));
        assert_eq!((counted(30), counted(70)), ((120, 1), (20, 0)));
        assert_eq!(activity.recent().running, 0);
        activity.failed(Some(8), "no luck", at(80));
        activity.failed(None, &"я".repeat(2_000), at(81));
        let errors: Vec<_> = activity.recent().errors.iter().cloned().collect();
        assert_eq!(
            (errors[1].times, errors[1].offer_id, errors[1].at),
            (2, 8, at(80).0),
            "a repeat is counted"
        );
        assert_eq!((errors[0].offer_id, errors[0].error.chars().count()), (0, 500));
        for number in 0..30 {
            activity.failed(None, &format!("{number}"), at(90));
        }
        assert_eq!(activity.recent().errors.len(), MAX_ERRORS);
    }

    #[test]
    fn reports_of_processes_add_up_as_long_as_they_are_fresh() {
        let error = |at: i64, text: &str| StageError { at, error: text.to_owned(), ..StageError::default() };
        let row = ActivityRow {
            at: at(100).0,
            running: 3,
            runs: 60,
            failed_calls: 2,
            open_until: at(130).0,
            errors: vec![error(2, "b"), error(1, "a")],
            ..ActivityRow::default()
        };
        let mut sum = believed(row.clone(), at(110));
        add(
            &mut sum,
            believed(ActivityRow { errors: vec![error(3, "c")], failed_calls: 0, ..row.clone() }, at(110)),
        );
        assert_eq!((sum.running, sum.runs, sum.failed_calls, sum.open_until), (6, 120, 2, at(130).0));
        assert_eq!(sum.errors.iter().map(|error| error.at).collect::<Vec<_>>(), [3, 2, 1]);
        let old = believed(row, at(200));
        assert_eq!((old.running, old.runs, old.failed_calls, old.errors.len()), (0, 0, 0, 2));
        assert!(is_at_rest(&old) && same(&old, &ActivityRow { at: 5, ..old.clone() }));
    }
}
