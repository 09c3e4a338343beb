use kit::Timestamp;
use store::{Range, Read};

use crate::tables::{HeaderRow, RECORDS, RecordRow};
use crate::{Record, Result};

/// A read stops after the record that passes this, so that large records do not fill the memory.
const READ_BYTES: usize = 4 << 20;
/// Rows of the first question; the next ones go by the size of what came.
const FIRST_ROWS: usize = 64;

/// At most `max` records (and about [`READ_BYTES`]) from an offset on.
pub(super) async fn records(
    view: &impl Read,
    topic: &str,
    partition: u32,
    mut from: i64,
    max: usize,
) -> Result<Vec<Record>> {
    let (mut records, mut bytes) = (Vec::new(), 0);
    while records.len() < max && bytes < READ_BYTES {
        let fitting =
            if records.is_empty() { FIRST_ROWS } else { (READ_BYTES - bytes) * records.len() / bytes + 1 };
        let limit = fitting.min(max - records.len());
        let range = Range::prefix((topic,), limit)?.from((topic, from))?;
        let rows = view.scan(&RECORDS, range).await?;
        let complete = rows.len() < limit;
        for ((_, offset), row) in rows {
            from = offset + 1;
            let record = record(partition, offset, row);
            bytes += record.size() + 1;
            records.push(record);
        }
        if complete {
            break;
        }
    }
    Ok(records)
}

fn record(partition: u32, offset: i64, row: RecordRow) -> Record {
    let RecordRow { key, payload, headers, timestamp } = row;
    let headers = headers.into_iter().map(|HeaderRow { name, value }| (name, value)).collect();
    Record { partition, offset, key, payload, headers, timestamp: Timestamp(timestamp) }
}
