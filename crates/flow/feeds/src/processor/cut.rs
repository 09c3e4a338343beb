//! Records into batches, on a thread of its own.
//!
//! A batch is cut by the source's records alone: it ends with the record that reaches the pinned number of records or of
//! raw bytes. What unifying makes of them, and which of them travel as «same», plays no part, so every try of a load
//! cuts the same batches under the same numbers, and the offers know a repeat.

use std::io::Read;
use std::sync::Arc;

use model::{Issue, IssueType, Level};
use prost::Message as _;
use tokio::sync::mpsc;
use wire::feeds::{FeedBatch, FeedRecord, FeedSettings, Task, TaskSettings, feed_message};

use crate::fingerprints::{self, Known, Noted};
use crate::source::{Unified, Unify};
use crate::survey::Survey;
use crate::tasks::{self, FeedKey};
use crate::{Fatal, Limits, RawRecord, Records, records};

/// A batch must fit into a message with room for its frame.
const MAX_BATCH_BYTES: usize = 3_500 << 10;
/// The title goes into the list of errors, where nobody reads more.
const TITLE_CHARACTERS: usize = 200;

/// One batch, ready to be sent.
pub(super) struct Cut {
    pub(super) message: topics::Message,
    pub(super) records: usize,
    pub(super) progress: Progress,
}

/// How far the file is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub(super) bytes: u64,
    pub(super) records: i64,
    pub(super) batches: i64,
}

/// What a load is cut by.
pub(super) struct Job {
    pub(super) key: FeedKey,
    pub(super) task_id: i64,
    pub(super) task: Task,
    pub(super) settings: TaskSettings,
    pub(super) unify: Arc<dyn Unify>,
    pub(super) known: Option<Known>,
    /// What the survey made of the seller's categories.
    pub(super) survey: Survey,
}

/// The whole file was read.
pub(super) struct WholeFile {
    pub(super) progress: Progress,
    pub(super) noted: Noted,
}

/// Reads the file to its end and hands the batches over; ends early when nobody takes them.
pub(super) fn cut(
    mut job: Job,
    input: impl Read + Send + 'static,
    out: &mpsc::Sender<Cut>,
) -> Result<WholeFile, Fatal> {
    let mut noted = Noted::begin().map_err(|error| Fatal::input(&error))?;
    let mut records = records(input, &Limits::default())?;
    if job.key.is_parsed() {
        records.take_links_for_ids();
    }
    let settings = job.settings.feed.clone().unwrap_or_default();
    let mut batch = Batch::default();
    let mut progress = Progress::default();
    while let Some(record) = records.next()? {
        progress.records += 1;
        batch.raw_bytes += record.raw_bytes;
        let record = feed_record(&mut job, &settings, record, &mut noted)?;
        batch.records.push(record);
        if batch.is_full(&job.settings) && !hand_over(&job, &mut batch, &records, &mut progress, out) {
            break;
        }
    }
    if !batch.records.is_empty() {
        hand_over(&job, &mut batch, &records, &mut progress, out);
    }
    progress.bytes = records.read_bytes();
    Ok(WholeFile { progress, noted })
}

#[derive(Default)]
struct Batch {
    records: Vec<FeedRecord>,
    raw_bytes: usize,
}

impl Batch {
    fn is_full(&self, settings: &TaskSettings) -> bool {
        self.records.len() >= settings.batch_records.max(1) as usize
            || self.raw_bytes >= settings.batch_bytes.max(1) as usize
    }
}

/// `false`: nobody wants more.
fn hand_over(
    job: &Job,
    batch: &mut Batch,
    records: &Records,
    progress: &mut Progress,
    out: &mpsc::Sender<Cut>,
) -> bool {
    progress.batches += 1;
    progress.bytes = records.read_bytes();
    let Batch { records: mut content, .. } = std::mem::take(batch);
    shrink(&mut content);
    let count = content.len();
    let kind = feed_message::Kind::Batch(FeedBatch { number: progress.batches, records: content });
    let message = tasks::message(&job.key, job.task_id, &job.task, kind);
    out.blocking_send(Cut { message, records: count, progress: *progress }).is_ok()
}

/// The record as it travels.
fn feed_record(
    job: &mut Job,
    settings: &FeedSettings,
    record: RawRecord,
    noted: &mut Noted,
) -> Result<FeedRecord, Fatal> {
    let read = fingerprints::of_offer(&record.offer);
    let mut travels = FeedRecord {
        external_id: record.external_id.clone(),
        line: record.line as i64,
        title: record.offer.title.chars().take(TITLE_CHARACTERS).collect(),
        issues: record.issues,
        ..FeedRecord::default()
    };
    let known = match &mut job.known {
        Some(known) => known.find(&read).map_err(|e| Fatal::input(&e))?,
        None => None,
    };
    let unified = if is_bad(&travels.issues) {
        None
    } else if known.is_some() {
        travels.same = true;
        known
    } else {
        match job.unify.unify(&record.offer, settings, job.survey.find(&record.offer.category_path)) {
            Unified::Content(content, issues) => {
                let fingerprint = fingerprints::of_content(&content);
                travels.content = Some(*content);
                Some(fingerprints::Unified { fingerprint, issues })
            }
            Unified::Skipped(reason) => {
                travels.skipped_because = reason;
                None
            }
        }
    };
    // What was refused must be looked at again; warnings are said again.
    let kept = unified.as_ref().filter(|unified| !is_bad(&unified.issues));
    noted.add(&read, kept).map_err(|e| Fatal::input(&e))?;
    if let Some(unified) = unified {
        travels.fingerprint = unified.fingerprint.to_vec();
        travels.issues.extend(unified.issues);
    }
    Ok(travels)
}

fn is_bad(issues: &[Issue]) -> bool {
    issues.iter().any(|issue| issue.level() == Level::Error)
}

/// A batch is never split: when it is too large for a message, its largest offers are kept out.
fn shrink(records: &mut [FeedRecord]) {
    let mut sizes: Vec<_> = records.iter().map(FeedRecord::encoded_len).collect();
    let mut total: usize = sizes.iter().sum();
    while total > MAX_BATCH_BYTES {
        let Some((place, size)) = sizes.iter().copied().enumerate().max_by_key(|(_, size)| *size) else {
            return;
        };
        let record = &mut records[place];
        record.content = None;
        record.issues = vec![too_large(size)];
        sizes[place] = record.encoded_len();
        total = total - size + sizes[place];
    }
}

fn too_large(bytes: usize) -> Issue {
    Issue {
        level: Level::Error.into(),
        r#type: IssueType::Validation.into(),
        code: "too_large".to_owned(),
        parameters: vec![bytes.to_string(), MAX_BATCH_BYTES.to_string()],
        ..Issue::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_offers_make_room_and_the_others_stay() {
        let record = |bytes: usize| FeedRecord {
            content: Some(model::Content { description: "x".repeat(bytes), ..model::Content::default() }),
            ..FeedRecord::default()
        };
        let mut records = vec![record(1 << 20), record(3 << 20), record(1 << 20)];
        shrink(&mut records);
        let kept: Vec<_> = records.iter().map(|record| record.content.is_some()).collect();
        assert_eq!(kept, [true, false, true]);
        assert_eq!(records[1].issues[0].code, "too_large");
        assert!(records.iter().map(FeedRecord::encoded_len).sum::<usize>() <= MAX_BATCH_BYTES);
    }
}
