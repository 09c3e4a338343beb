//! Moving all rows: from one engine to another, into a backup file, and back out of it.
//!
//! A target is empty to begin with and carries a mark while it is being filled, so a copy that broke off is never
//! taken for whole: opening it is refused until it has been made anew.

use crate::engine::{Moment, RawRow, Reader};
use crate::key::KeyBytes;
use crate::{Error, Kind, Range, Read as _, Result, Shard, Snapshot, Space, Store, Table, TableId, Tx};

/// What a store notes about itself.
pub(crate) const MARKS: Table<(String,), String> = Table::new("store", "marks", &["name"], Space::Small);
const UNFINISHED: &str = "unfinished";
const PAGE_ROWS: usize = 500;
const PAGE_BYTES: usize = 4 << 20;

/// Copies every row of every declared table into an empty store. The source may be in use: it is copied as of one moment,
/// however long that takes. (On the engine in memory, which only simulations use, each shard has a moment of its own.)
pub async fn copy(from: &Store, to: &Store, mut progress: impl FnMut(u64)) -> Result<u64> {
    begin(to).await?;
    let source = Source::new(from).await?;
    let mut rows = 0;
    for shard in Shard::all() {
        let reader = source.reader(shard).await?;
        for (table, spec) in from.schema().tables() {
            let target = to.schema().id(spec.system, spec.name)?;
            let mut range = Range::all(PAGE_ROWS);
            loop {
                let page = reader.scan(table, &range).await?;
                let Some((last, _)) = page.last() else { break };
                range = range.beyond(last.clone());
                rows += page.len() as u64;
                write(to, shard, target, page).await?;
                progress(rows);
            }
        }
    }
    finish(to).await?;
    Ok(rows)
}

/// A source's shards, as of one moment if it can.
pub(crate) struct Source<'a> {
    store: &'a Store,
    moment: Option<Box<dyn Moment>>,
}

impl<'a> Source<'a> {
    pub(crate) async fn new(store: &'a Store) -> Result<Self> {
        Ok(Self { store, moment: store.engine().moment().await? })
    }

    pub(crate) async fn reader(&self, shard: Shard) -> Result<Box<dyn Reader>> {
        match &self.moment {
            Some(moment) => Ok(moment.reader(shard)),
            None => self.store.engine().snapshot(shard).await,
        }
    }
}

/// Marks an empty store as being filled.
pub(crate) async fn begin(to: &Store) -> Result<()> {
    let shards: Vec<_> = Shard::all().collect();
    for (table, spec) in to.schema().tables() {
        if !to.engine().scan_shards(table, &shards, &Range::all(1)).await?.is_empty() {
            return Err(Error::new(
                Kind::Invalid,
                format!("the target is not empty (it has rows in {}): give one that is", spec.full_name()),
            ));
        }
    }
    let mark = "a copy into this store has begun and not ended".to_owned();
    to.transact(home(), async |tx: &mut Tx| tx.put(&MARKS, (UNFINISHED,), &mark)).await
}

pub(crate) async fn finish(to: &Store) -> Result<()> {
    to.transact(home(), async |tx: &mut Tx| tx.delete(&MARKS, (UNFINISHED,))).await
}

/// Refuses a store whose copy broke off.
pub(crate) async fn check_finished(store: &Store) -> Result<()> {
    let snapshot: Snapshot = store.snapshot(home()).await?;
    match snapshot.get(&MARKS, (UNFINISHED,)).await? {
        None => Ok(()),
        Some(mark) => {
            Err(Error::new(Kind::Incompatible, format!("{mark}: remove it and copy or restore again")))
        }
    }
}

/// Writes rows of one table in transactions of bounded size.
pub(crate) async fn write(to: &Store, shard: Shard, table: TableId, rows: Vec<RawRow>) -> Result<()> {
    let mut rows = rows.into_iter().peekable();
    while rows.peek().is_some() {
        let mut part: Vec<(KeyBytes, bytes::Bytes)> = Vec::new();
        let mut bytes = 0;
        while let Some(row) = rows.next_if(|(key, value)| {
            part.is_empty() || bytes + key.as_slice().len() + value.len() <= PAGE_BYTES
        }) {
            bytes += row.0.as_slice().len() + row.1.len();
            part.push(row);
        }
        to.transact(shard, async |tx: &mut Tx| {
            part.into_iter().try_for_each(|(key, value)| tx.write_raw(table, key, Some(value)))
        })
        .await?;
    }
    Ok(())
}

/// Where a store keeps its marks.
fn home() -> Shard {
    Shard::wrapping(0)
}
