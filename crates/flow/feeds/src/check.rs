//! Reads a whole file and tells what a load of it would say, without a server.

use std::collections::BTreeMap;
use std::io::Read;

use model::{Issue, Level};
use serde::Serialize;

use crate::fatal::Fatal;
use crate::formats::{Packing, RawRecord, Records, records};
use crate::issue;
use crate::limits::Limits;
use crate::seen::Seen;

/// What is said of a file as a whole.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    pub format: String,
    pub packing: String,
    pub encoding: String,
    /// The file names another encoding than it has.
    pub contradicted_encoding: Option<String>,
    pub offers: u64,
    pub good: u64,
    /// Good, but something was guessed or lost.
    pub with_warnings: u64,
    pub rejected: u64,
    pub duplicates: u64,
    pub errors: u64,
    pub warnings: u64,
    /// How often each code was said, errors first.
    pub by_code: Vec<CodeCount>,
    pub text_bytes: u64,
    pub fatal: Option<FatalEnd>,
}

#[derive(Clone, Debug, Serialize)]
pub struct CodeCount {
    pub level: &'static str,
    pub code: String,
    pub count: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct FatalEnd {
    pub code: &'static str,
    pub message: String,
    pub line: u64,
    pub column: u64,
}

/// One issue of one offer.
#[derive(Clone, Debug)]
pub struct Finding {
    pub line: u64,
    pub external_id: String,
    pub title: String,
    pub issue: Issue,
}

/// What the reader of a check is told while it runs.
pub enum Event<'a> {
    /// Bytes of the file read so far.
    Progress(u64),
    Finding(&'a Finding),
}

/// Reads on after the record is read, and adds what is found: the unifying, where there is a catalog.
pub type Judge<'a> = dyn FnMut(&mut RawRecord) + 'a;

/// Reads all of a file. What ends the reading is part of the summary; an error is a failure of the one who listens.
pub fn check<E>(
    input: impl Read + Send + 'static,
    limits: &Limits,
    judge: &mut Judge<'_>,
    listen: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
) -> Result<(Summary, Option<Fatal>), E> {
    let mut summary = Summary::default();
    let mut counts = BTreeMap::new();
    let fatal = match records(input, limits) {
        Err(fatal) => Some(fatal),
        Ok(mut records) => {
            let fatal = read_all(&mut records, &mut summary, &mut counts, judge, listen)?;
            summary.describe(&records);
            fatal
        }
    };
    summary.by_code = counts
        .into_iter()
        .map(|((level, code), count)| CodeCount { level: level_name(level), code, count })
        .collect();
    summary.by_code.sort_by_key(|entry| (entry.level != "error", std::cmp::Reverse(entry.count)));
    summary.fatal = fatal.as_ref().map(|fatal| FatalEnd {
        code: fatal.code,
        message: fatal.message(model::Language::English),
        line: fatal.line,
        column: fatal.column,
    });
    Ok((summary, fatal))
}

type Counts = BTreeMap<(i32, String), u64>;

fn read_all<E>(
    records: &mut Records,
    summary: &mut Summary,
    counts: &mut Counts,
    judge: &mut Judge<'_>,
    listen: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
) -> Result<Option<Fatal>, E> {
    let mut seen = Seen::new();
    loop {
        let mut record = match records.next() {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(None),
            Err(fatal) => return Ok(Some(fatal)),
        };
        judge(&mut record);
        let known = match record.external_id.as_str() {
            "" => false,
            id => match seen.insert(id) {
                Ok(new) => !new,
                Err(error) => return Ok(Some(Fatal::input(&error))),
            },
        };
        if known {
            record.issues.push(issue::error("duplicate", "id", &record.external_id));
            summary.duplicates += 1;
        }
        summary.count(&record, known);
        if summary.offers.is_multiple_of(256) {
            listen(Event::Progress(records.read_bytes()))?;
        }
        let title = crate::issue::shortened(&record.offer.title);
        for issue in std::mem::take(&mut record.issues) {
            *counts.entry((issue.level, issue.code.clone())).or_default() += 1;
            let line = if issue.line > 0 { issue.line as u64 } else { record.line };
            let (external_id, title) = (record.external_id.clone(), title.clone());
            listen(Event::Finding(&Finding { line, external_id, title, issue }))?;
        }
    }
}

impl Summary {
    fn count(&mut self, record: &RawRecord, duplicate: bool) {
        self.offers += 1;
        let errors = record.issues.iter().filter(|issue| issue.level() == Level::Error).count() as u64;
        let warnings = record.issues.len() as u64 - errors;
        self.errors += errors;
        self.warnings += warnings;
        match (errors, warnings) {
            _ if duplicate => {}
            (0, 0) => self.good += 1,
            (0, _) => self.with_warnings += 1,
            _ => self.rejected += 1,
        }
    }

    fn describe(&mut self, records: &Records) {
        self.format = records.format().name().into();
        self.packing = match records.packing() {
            Packing::Plain => "plain",
            Packing::Gzip => "gzip",
            Packing::Zip => "zip",
        }
        .into();
        self.encoding = records.encoding().into();
        self.contradicted_encoding = records.contradicted_encoding().map(str::to_owned);
        self.text_bytes = records.text_bytes();
    }

    /// Nothing that would keep an offer out.
    pub fn is_clean(&self) -> bool {
        self.errors == 0 && self.fatal.is_none()
    }
}

pub(crate) fn level_name(level: i32) -> &'static str {
    if level == i32::from(Level::Error) { "error" } else { "warning" }
}
