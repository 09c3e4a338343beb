//! Numbers of a load, as they grow with its results.

use wire::feeds::{Outcome, RecordResult, Statistics, Tally, Task};

/// A dry run keeps so many examples of each outcome.
const SAMPLES: usize = 20;
/// Why a record that travelled as «same» was skipped.
pub(crate) const CONTENT_NEEDED: &str = "content_needed";

pub(crate) fn add_tally(statistics: &mut Statistics, more: Tally) {
    let sum = statistics.tally.get_or_insert_default();
    let pairs = [
        (&mut sum.created, more.created),
        (&mut sum.updated, more.updated),
        (&mut sum.unchanged, more.unchanged),
        (&mut sum.rejected, more.rejected),
        (&mut sum.banned, more.banned),
        (&mut sum.duplicate, more.duplicate),
        (&mut sum.skipped, more.skipped),
        (&mut sum.stale, more.stale),
        (&mut sum.deleted, more.deleted),
        (&mut sum.made_manual, more.made_manual),
    ];
    for (sum, more) in pairs {
        *sum += more;
    }
}

pub(crate) fn add_record(statistics: &mut Statistics, record: &RecordResult, dry_run: bool) {
    if record.outcome() == Outcome::Skipped && record.reason == CONTENT_NEEDED {
        statistics.content_needed += 1;
    }
    if dry_run && !record.differences.is_empty() {
        let like = |sample: &&RecordResult| sample.outcome == record.outcome;
        if statistics.samples.iter().filter(like).count() < SAMPLES {
            statistics.samples.push(RecordResult { issues: Vec::new(), ..record.clone() });
        }
    }
}

/// Records that have an outcome.
pub fn total(statistics: &Statistics) -> i64 {
    let tally = statistics.tally.unwrap_or_default();
    tally.created
        + tally.updated
        + tally.unchanged
        + tally.rejected
        + tally.banned
        + tally.duplicate
        + tally.skipped
        + tally.stale
}

/// What is missing for the books to balance, in words; `None`: they do.
pub(crate) fn imbalance(statistics: &Statistics, task: &Task) -> Option<String> {
    let acknowledged = task.progress.unwrap_or_default().batches_acknowledged;
    let total = total(statistics);
    if acknowledged == task.batches && total == task.records {
        return None;
    }
    Some(format!(
        "the file has {} offers in {} batches, and the results tell of {total} offers in {acknowledged} batches",
        task.records, task.batches
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::feeds::TaskProgress;

    #[test]
    fn books_that_do_not_balance_say_what_is_missing() {
        let task = Task {
            records: 3,
            batches: 1,
            progress: Some(TaskProgress { batches_acknowledged: 1, ..TaskProgress::default() }),
            ..Task::default()
        };
        let mut statistics = Statistics::default();
        add_tally(&mut statistics, Tally { created: 1, rejected: 1, deleted: 7, ..Tally::default() });
        let missing = imbalance(&statistics, &task).unwrap();
        assert!(missing.contains("3 offers in 1 batches") && missing.contains("2 offers"), "{missing}");
        add_tally(&mut statistics, Tally { stale: 1, ..Tally::default() });
        assert_eq!(imbalance(&statistics, &task), None);
    }
}
