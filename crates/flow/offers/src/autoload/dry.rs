//! What a load would do. Only bits and batches under the task's own number are written, and results; the head is neither
//! read nor moved, and at its end nothing is left.

use std::collections::BTreeSet;

use model::{Issue, IssueType, Status};
use store::{Range, Read as _, Tx};
use wire::feeds::terminal_result::End;
use wire::feeds::{Difference, FeedBatch, FeedRecord, FeedTerminal, Outcome, RecordResult, Tally};
use wire::offers::SweepRow;

use super::batch::{Stored, unknown};
use super::decide::{Decision, Known, Rules, bad_id, decide, error};
use super::record::{ban_issue, blank, nameless};
use super::results::{self, Report};
use super::seen::Seen;
use super::{Load, terminal};
use crate::diff::diff_contents;
use crate::tables::{FEED_BATCHES, FEED_SEEN, FEED_SWEEPS};
use crate::{Offers, Result};

/// Offers of a batch whose differences are shown, and fields of each.
const SAMPLES: usize = 3;
const SAMPLE_FIELDS: usize = 20;
/// Rows of batches that are added up at a time.
const PAGE: usize = 10_000;

pub(super) async fn batches(
    tx: &mut Tx,
    offers: &Offers,
    load: &Load,
    batches: Vec<FeedBatch>,
) -> Result<()> {
    let batches = unknown(tx, load, batches).await?;
    let stored = Stored::load(tx, load, &batches).await?;
    let rules = Rules { now: offers.clock.now(), revive_within: offers.settings.revive_within };
    let seen = Seen::load(tx, load, stored.ordinals()).await?;
    let new_seen = new_seen(tx, load, &stored, &batches).await?;
    let mut trial = Trial { stored, seen, new_seen, rules, new: BTreeSet::new() };
    let mut reports = Vec::with_capacity(batches.len());
    for batch in batches {
        let mut report = Report::of(batch.number);
        let mut samples = SAMPLES;
        for record in batch.records {
            report.add(trial.record(record, &mut samples));
        }
        reports.push(report);
    }
    let (seller, namespace) = load.feed();
    for report in &reports {
        tx.put(&FEED_BATCHES, (seller, namespace, load.key(), report.number), &report.tally)?;
    }
    for mark in &trial.new {
        tx.put(&FEED_SEEN, (seller, namespace, load.key(), *mark), &Vec::new())?;
    }
    trial.seen.save(tx, load)?;
    results::send_reports(tx, load, reports).await
}

/// What a dry run knows while it looks at records.
struct Trial {
    stored: Stored,
    seen: Seen,
    /// Marks of ids without a row that earlier batches had.
    new_seen: BTreeSet<i64>,
    rules: Rules,
    /// The same of these batches.
    new: BTreeSet<i64>,
}

impl Trial {
    fn record(&mut self, mut record: FeedRecord, samples: &mut usize) -> RecordResult {
        if let Some(issue) = bad_id(&record.external_id) {
            return nameless(&mut record, issue);
        }
        let known = self.stored.of(&record);
        let mark = mark(&record.external_id);
        let seen = match known.row {
            Some(row) => self.seen.has(row.ordinal),
            None => self.new_seen.contains(&mark) || self.new.contains(&mark),
        };
        let decision = decide(&record, Known { seen, ..known }, self.rules);
        match known.row {
            Some(row) => self.seen.set(row.ordinal),
            None => {
                self.new.insert(mark);
            }
        }
        foretell(record, known, decision, samples)
    }
}

fn foretell(
    mut record: FeedRecord,
    known: Known<'_>,
    decision: Decision,
    samples: &mut usize,
) -> RecordResult {
    let mut result = blank(&mut record);
    result.offer_id = known.row.map_or(0, |row| row.offer_id);
    let banned = known.offer.filter(|offer| offer.status() == Status::Banned);
    let outcome = match decision {
        Decision::Duplicate => {
            let value = record.external_id.clone();
            result.issues.push(Issue { value, ..error(IssueType::Duplicate, "duplicate") });
            Outcome::Duplicate
        }
        Decision::Rejected(issues) => {
            result.issues = issues;
            Outcome::Rejected
        }
        Decision::Skipped(reason) => {
            result.reason = reason;
            Outcome::Skipped
        }
        Decision::Unchanged => Outcome::Unchanged,
        Decision::Revived if known.row.is_some_and(|row| row.banned) => Outcome::Banned,
        Decision::Created | Decision::Revived => Outcome::Created,
        Decision::Matched | Decision::Readopted => {
            let differences = differences(&record, known);
            let expired = known.offer.is_some_and(|offer| offer.status() == Status::Expired);
            let changes = !differences.is_empty() || expired || decision == Decision::Readopted;
            if *samples > 0 && !differences.is_empty() {
                *samples -= 1;
                result.differences = differences;
            }
            match banned {
                Some(offer) => {
                    result.issues.push(ban_issue(offer));
                    Outcome::Banned
                }
                None if changes => Outcome::Updated,
                None => Outcome::Unchanged,
            }
        }
    };
    result.set_outcome(outcome);
    result
}

fn differences(record: &FeedRecord, known: Known<'_>) -> Vec<Difference> {
    let (Some(offer), Some(content)) = (known.offer, record.content.as_ref().filter(|_| !record.same)) else {
        return Vec::new();
    };
    let fields = diff_contents(&offer.content.clone().unwrap_or_default(), content);
    fields
        .into_iter()
        .take(SAMPLE_FIELDS)
        .map(|field| Difference {
            path: field.path,
            from: field.from.unwrap_or_default(),
            to: field.to.unwrap_or_default(),
        })
        .collect()
}

/// What stands for an id that has no row: sixty-three bits of its hash, negative, where no chunk is.
fn mark(external_id: &str) -> i64 {
    let hash = blake3::hash(external_id.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    i64::from_be_bytes(first) | i64::MIN
}

async fn new_seen(tx: &Tx, load: &Load, stored: &Stored, batches: &[FeedBatch]) -> Result<BTreeSet<i64>> {
    let records = batches.iter().flat_map(|batch| &batch.records);
    let new = records.filter(|record| stored.of(record).row.is_none());
    let marks: BTreeSet<i64> = new.map(|record| mark(&record.external_id)).collect();
    let (seller, namespace) = load.feed();
    let keys: Vec<_> = marks.iter().map(|mark| (seller, namespace, load.key(), *mark)).collect();
    let found = tx.get_many(&FEED_SEEN, keys).await?;
    Ok(marks.into_iter().zip(found).filter(|(_, found)| found.is_some()).map(|(mark, _)| mark).collect())
}

/// Counts what would go, beside the stream; the sweeper clears the rows and tells the end.
pub(super) async fn terminal(tx: &mut Tx, load: &Load, terminal: &FeedTerminal) -> Result<()> {
    if tx.get(&FEED_SWEEPS, (&*load.seller, &*load.namespace, load.key())).await?.is_some() {
        return Ok(());
    }
    let row = done(tx, load).await?;
    let row = SweepRow { limit: i64::MAX, on_missing: terminal.on_missing, removal: terminal.removal, ..row };
    if row.batches < terminal.batches {
        return terminal::finish(tx, load, row, End::Incomplete).await;
    }
    terminal::put(tx, load, &row)
}

pub(super) async fn abort(tx: &mut Tx, load: &Load) -> Result<()> {
    let row = done(tx, load).await?;
    terminal::finish(tx, load, row, End::Aborted).await
}

/// The batches so far, added up.
async fn done(tx: &Tx, load: &Load) -> Result<SweepRow> {
    let (seller, namespace) = load.feed();
    let (mut batches, mut totals, mut last) = (0, Tally::default(), 0);
    loop {
        let range = Range::prefix((seller, namespace, load.key()), PAGE)?;
        let page = tx.scan(&FEED_BATCHES, range.after((seller, namespace, load.key(), last))?).await?;
        for ((.., number), tally) in &page {
            (batches, last) = (batches + 1, *number);
            results::add(&mut totals, tally);
        }
        if page.len() < PAGE {
            return Ok(SweepRow { batches, totals: Some(totals), dry_run: true, ..SweepRow::default() });
        }
    }
}
