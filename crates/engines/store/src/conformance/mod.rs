//! The suite that every engine passes, and that `dvor store conformance` runs against a server a user brings.
//!
//! Each check is a plain async function on a store that has [`tables`]; it works in shards of its own and leaves no
//! row behind. A check fails with a sentence that says what was wanted and what was found.

mod basics;
mod crowd;
mod ranges;

use std::time::Duration;

pub(crate) use kit::ensure;
pub use kit::suite::Failure;
pub(crate) use kit::suite::Outcome;
use kit::suite::{self, Check};

use crate::{Error, Range, Read as _, Result, Shard, Space, Store, Table, TableSpec};

/// A table of every column type, one of large values, one that serves as a queue.
pub(crate) const MIXED: Table<(String, i64, u32, Vec<u8>, kit::Timestamp), String> =
    Table::new("conformance", "mixed", &["word", "number", "small", "bytes", "time"], Space::Small);
pub(crate) const LARGE: Table<(String,), Vec<u8>> =
    Table::new("conformance", "large", &["name"], Space::Large);
pub(crate) const QUEUE: Table<(i64,), i64> = Table::new("conformance", "queue", &["number"], Space::Queue);
pub(crate) const PAIRS: Table<(String, i64), i64> =
    Table::new("conformance", "pairs", &["name", "number"], Space::Small);

pub fn tables() -> Vec<TableSpec> {
    vec![MIXED.spec(), LARGE.spec(), QUEUE.spec(), PAIRS.spec()]
}

const CHECKS: &[(&str, Check<Store>)] = &[
    ("a row is there after its transaction and gone after its deletion", |s| Box::pin(basics::round_trip(s))),
    ("a body that fails leaves nothing", |s| Box::pin(basics::failed_body(s))),
    ("a body reads its own writes, scans too", |s| Box::pin(basics::own_writes(s))),
    ("a snapshot stays as it was and sees no open transaction", |s| Box::pin(basics::snapshot(s))),
    ("rows of many shards in one question", |s| Box::pin(basics::many_shards(s))),
    ("large, empty and many rows", |s| Box::pin(basics::large(s))),
    ("what no engine can store is refused, and the shard goes on", |s| Box::pin(basics::refused(s))),
    ("a wake-up comes after the commit, and only then", |s| Box::pin(basics::wakes(s))),
    ("a write without the shard's turn", |s| Box::pin(basics::put_alone(s))),
    ("rows come in the order of their keys, in both directions", |s| Box::pin(ranges::order(s))),
    ("ranges of every kind agree with a plain map", |s| Box::pin(ranges::model(s))),
    ("pages join without gap or repeat", |s| Box::pin(ranges::paging(s))),
    ("the first rows of many shards in one question", |s| Box::pin(ranges::scan_shards(s))),
    ("a queue consumed at its head", |s| Box::pin(ranges::queue(s))),
    ("shards do not wait for each other", |s| Box::pin(crowd::parallel_shards(s))),
    ("under concurrency every answer is that of a serial order", |s| Box::pin(crowd::serial(s))),
    ("rows written together are read together, and not older than an answered write", |s| {
        Box::pin(crowd::together(s))
    }),
    ("a caller that goes away leaves all of its writes or none", |s| Box::pin(crowd::dropped(s))),
];

/// Runs every check, telling `report` of each: name, time taken, outcome. Returns how many failed.
pub async fn run(store: &Store, report: impl FnMut(&str, Duration, &Outcome)) -> Result<usize> {
    let case = async || {
        clean(store).await?;
        Ok(store.clone())
    };
    let failed = suite::run(CHECKS, 1, case, report).await?;
    clean(store).await?;
    Ok(failed)
}

/// Removes every row that a check may have left in the shards the checks use.
async fn clean(store: &Store) -> Result<()> {
    for shard in (0..16).filter_map(Shard::new) {
        store
            .transact(shard, async |tx| {
                for table in tables() {
                    let id = tx.schema().id(table.system, table.name)?;
                    for (key, _) in tx.scan_raw(id, Range::all(usize::MAX >> 1)).await? {
                        tx.write_raw(id, key, None)?;
                    }
                }
                Ok::<_, Error>(())
            })
            .await?;
    }
    Ok(())
}

pub(crate) fn shard(number: u16) -> Shard {
    Shard::wrapping(u64::from(number))
}
