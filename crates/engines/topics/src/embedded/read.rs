use store::{Range, Read};

use crate::tables::RECORDS;
use crate::{Record, Result};

/// A read stops after the record that passes this, so that large records do not fill the memory.
const READ_BYTES: usize = 4 << 20;
/// Rows of the first question and of the longest: a record may have 4 MiB.
const FIRST_ROWS: usize = 16;
const MAX_ROWS: usize = 256;

/// At most `max` records (and about [`READ_BYTES`]) from an offset on.
pub(super) async fn records(
    view: &impl Read,
    topic: &str,
    partition: u32,
    mut from: i64,
    max: usize,
) -> Result<Vec<Record>> {
    let (mut records, mut bytes, mut step) = (Vec::new(), 0, FIRST_ROWS);
    while records.len() < max && bytes < READ_BYTES {
        let limit = step.min(max - records.len());
        let range = Range::prefix((topic,), limit)?.from((topic, from))?;
        let rows = view.scan(&RECORDS, range).await?;
        let exhausted = rows.len() < limit;
        for ((_, offset), row) in rows {
            from = offset + 1;
            let record = row.at(partition, offset);
            bytes += record.size();
            records.push(record);
        }
        if exhausted {
            break;
        }
        step = (step * 2).min(MAX_ROWS);
    }
    Ok(records)
}
