//! What the feeds are told: through the outbox, in the transaction of what it tells.

use prost::Message as _;
use store::Tx;
use topics::{Message, outbox};
use wire::feeds::feed_result::Kind;
use wire::feeds::{BatchResult, FeedResult, Outcome, RecordResult, Tally, TerminalResult, terminal_result};

use super::Load;
use crate::Result;

/// A part of a batch's result is not longer, so that it fits a row of the outbox.
const MAX_PART_BYTES: usize = outbox::MAX_ROW_BYTES - (64 << 10);
/// A longer title is cut.
const MAX_TITLE_CHARACTERS: usize = 200;

/// What became of a batch, as it is found out.
#[derive(Default)]
pub(super) struct Report {
    pub(super) number: i64,
    pub(super) tally: Tally,
    records: Vec<RecordResult>,
}

impl Report {
    pub(super) fn of(number: i64) -> Self {
        Self { number, ..Self::default() }
    }

    /// Counts a record; it is listed only if it has something to say.
    pub(super) fn add(&mut self, mut result: RecordResult) {
        count(&mut self.tally, result.outcome());
        let speaks = !(result.issues.is_empty() && result.reason.is_empty() && result.differences.is_empty());
        if speaks {
            shorten(&mut result);
            self.records.push(result);
        }
    }

    fn results(self) -> Vec<Kind> {
        let mut parts: Vec<Vec<RecordResult>> = vec![Vec::new()];
        let mut bytes = 0;
        for record in self.records {
            let size = record.encoded_len() + 8;
            if bytes + size > MAX_PART_BYTES {
                parts.push(Vec::new());
                bytes = 0;
            }
            bytes += size;
            parts.last_mut().expect("there is a part").push(record);
        }
        let count = parts.len() as u32;
        let part = |(index, records)| {
            Kind::Batch(BatchResult {
                number: self.number,
                part: index,
                parts: count,
                tally: Some(self.tally),
                records,
            })
        };
        (1..).zip(parts).map(part).collect()
    }
}

/// One record's result must fit a part, whatever the file holds.
fn shorten(result: &mut RecordResult) {
    if let Some((end, _)) = result.title.char_indices().nth(MAX_TITLE_CHARACTERS) {
        result.title.truncate(end);
    }
    while result.encoded_len() > MAX_PART_BYTES && result.issues.len() > 1 {
        result.issues.truncate(result.issues.len() / 2);
    }
}

fn count(tally: &mut Tally, outcome: Outcome) {
    match outcome {
        Outcome::Created => tally.created += 1,
        Outcome::Updated => tally.updated += 1,
        Outcome::Unchanged => tally.unchanged += 1,
        Outcome::Rejected => tally.rejected += 1,
        Outcome::Banned => tally.banned += 1,
        Outcome::Duplicate => tally.duplicate += 1,
        Outcome::Skipped => tally.skipped += 1,
        Outcome::Stale | Outcome::Unspecified => tally.stale += 1,
    }
}

pub(super) fn add(sum: &mut Tally, tally: &Tally) {
    sum.created += tally.created;
    sum.updated += tally.updated;
    sum.unchanged += tally.unchanged;
    sum.rejected += tally.rejected;
    sum.banned += tally.banned;
    sum.duplicate += tally.duplicate;
    sum.skipped += tally.skipped;
    sum.stale += tally.stale;
    sum.deleted += tally.deleted;
    sum.made_manual += tally.made_manual;
}

pub(super) async fn send_reports(tx: &mut Tx, load: &Load, reports: Vec<Report>) -> Result<()> {
    send(tx, load, reports.into_iter().flat_map(Report::results)).await
}

pub(super) async fn send_end(
    tx: &mut Tx,
    load: &Load,
    end: terminal_result::End,
    totals: Tally,
    batches_applied: i64,
    sweeps: i64,
) -> Result<()> {
    let terminal = TerminalResult { end: end.into(), totals: Some(totals), batches_applied, sweeps };
    send(tx, load, [Kind::Terminal(terminal)]).await
}

pub(super) async fn send(tx: &mut Tx, load: &Load, kinds: impl IntoIterator<Item = Kind>) -> Result<()> {
    let message = |kind| {
        let result = FeedResult {
            seller_id: load.seller.clone(),
            namespace: load.namespace.clone(),
            task_id: load.task,
            dry_run: load.dry,
            kind: Some(kind),
        };
        Message::new(load.seller.as_str(), result.encode_to_vec())
    };
    outbox::send(tx, model::topics::FEED_RESULTS, kinds.into_iter().map(message).collect()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use wire::model::Issue;

    use super::*;

    #[test]
    fn a_long_result_travels_in_parts_that_fit_and_lose_nothing() {
        let mut report = Report::of(7);
        let issue = Issue { value: "x".repeat(40_000), ..Issue::default() };
        for line in 1..=100 {
            let outcome = Outcome::Rejected.into();
            report.add(RecordResult { line, outcome, issues: vec![issue.clone()], ..Default::default() });
        }
        report.add(RecordResult { outcome: Outcome::Unchanged.into(), ..Default::default() });
        let parts: Vec<_> = report
            .results()
            .into_iter()
            .map(|kind| match kind {
                Kind::Batch(part) => part,
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(parts.len() > 3);
        let places: Vec<_> = parts.iter().map(|part| part.part).collect();
        assert_eq!(places, (1..=parts.len() as u32).collect::<Vec<_>>());
        for part in &parts {
            assert!(part.encoded_len() < outbox::MAX_ROW_BYTES);
            assert_eq!((part.number, part.parts as usize), (7, parts.len()));
            let tally = part.tally.unwrap();
            assert_eq!((tally.rejected, tally.unchanged), (100, 1));
        }
        let lines: Vec<_> = parts.iter().flat_map(|part| &part.records).map(|record| record.line).collect();
        assert_eq!(lines, (1..=100).collect::<Vec<_>>());
    }
}
