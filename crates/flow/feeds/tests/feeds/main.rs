//! What is read of files, and what is said of them.
#![allow(clippy::unwrap_used)]

mod crashes;
mod docs;
mod fetched;
mod formats;
mod fuzzed;
mod hostile;
mod kept;
mod limits;
mod offers;
mod own;
mod pinned;
mod second_opinion;
mod surveys;
mod traps;
mod trips;
mod turns;
mod verbs;
mod way;
mod world;

use std::io::Cursor;

use feeds::{Fatal, Limits, RawRecord, Records, records};
use model::Level;

pub fn open(bytes: impl Into<Vec<u8>>) -> Result<Records, Fatal> {
    records(Cursor::new(bytes.into()), &Limits::default())
}

/// All records, and what ended the file if it did not end well.
pub fn read(bytes: impl Into<Vec<u8>>) -> (Vec<RawRecord>, Option<Fatal>) {
    let mut records = match open(bytes) {
        Ok(records) => records,
        Err(fatal) => return (Vec::new(), Some(fatal)),
    };
    let mut all = Vec::new();
    loop {
        match records.next() {
            Ok(Some(record)) => all.push(record),
            Ok(None) => return (all, None),
            Err(fatal) => return (all, Some(fatal)),
        }
    }
}

/// All records of a file that ends well.
#[track_caller]
pub fn good(bytes: impl Into<Vec<u8>>) -> Vec<RawRecord> {
    let (records, fatal) = read(bytes);
    assert_eq!(fatal, None);
    records
}

/// `error id_missing`, `warning row_width`.
pub fn said(record: &RawRecord) -> Vec<String> {
    let level = |level| if level == Level::Error { "error" } else { "warning" };
    record.issues.iter().map(|issue| format!("{} {}", level(issue.level()), issue.code)).collect()
}
