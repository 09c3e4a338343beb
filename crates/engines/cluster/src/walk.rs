//! Going over a whole table in the background, a page at a time: the cursor is a row, so a walk survives every crash.
//!
//! A step ([`step`]) is part of the caller's transaction: it hands out the next page and moves the cursor, so what the
//! caller does with the page and how far the walk is commit together. At the end of the table the walk rests until its
//! next round; a walk with a rate rests after every page.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kit::Timestamp;
use serde::Serialize;
use store::{Decode, KeyBytes, Range, Read as _, Shard, Space, Store, Table, Tx, Value};

use crate::work::{Due, Piece};

/// (walk): where it stands in this shard.
pub(crate) const WALKS: Table<(String,), WalkRow> = Table::new("cluster", "walks", &["walk"], Space::Small);

/// Where a walk stands in a shard.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize)]
pub struct WalkRow {
    /// It does not go on before this moment, in microseconds.
    #[prost(int64, tag = "1")]
    pub not_before: i64,
    /// The key of the last row handed out; empty at the beginning.
    #[prost(bytes = "vec", tag = "2")]
    pub behind: Vec<u8>,
    /// Rows handed out in this round.
    #[prost(uint64, tag = "3")]
    pub rows: u64,
    /// Rounds that came to the end.
    #[prost(uint64, tag = "4")]
    pub rounds: u64,
}

/// A walk over the rows of a range.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    pub name: &'a str,
    /// Which rows; its limit is the page.
    pub range: Range,
    /// How long it rests at the end before it begins again.
    pub every: Duration,
    /// Most rows a second, in one shard.
    pub rate: Option<u32>,
}

impl<'a> Walk<'a> {
    /// A walk over all rows of a shard, as fast as it can.
    pub fn over_all(name: &'a str, page: usize, every: Duration) -> Self {
        Self { name, range: Range::all(page), every, rate: None }
    }
}

/// A page of a walk.
#[derive(Debug)]
pub struct Page<K, V> {
    pub rows: Vec<(K, V)>,
    /// It came to the end of the range.
    pub ended: bool,
}

/// The next page of the walk, with the cursor moved behind it; `None`: it rests.
pub async fn step<K: Decode, V: Value>(
    tx: &mut Tx,
    table: &Table<K, V>,
    walk: &Walk<'_>,
    now: Timestamp,
) -> store::Result<Option<Page<K, V>>> {
    let row = tx.get(&WALKS, (walk.name,)).await?.unwrap_or_default();
    if row.not_before > now.0 {
        return Ok(None);
    }
    let mut range = walk.range.clone();
    if !row.behind.is_empty() {
        range = range.beyond(KeyBytes(row.behind.clone()));
    }
    let rows = tx.scan(table, range).await?;
    let last =
        rows.last().filter(|_| rows.len() == walk.range.limit).map(|(key, _)| key.encode()).transpose()?;
    let ended = last.is_none();
    let next = match last {
        Some(KeyBytes(behind)) => WalkRow {
            not_before: now.plus(pause(walk.rate, rows.len())).0,
            behind,
            rows: row.rows + rows.len() as u64,
            rounds: row.rounds,
        },
        None => WalkRow { not_before: now.plus(walk.every).0, rounds: row.rounds + 1, ..WalkRow::default() },
    };
    tx.put(&WALKS, (walk.name,), &next)?;
    Ok(Some(Page { rows, ended }))
}

fn pause(rate: Option<u32>, rows: usize) -> Duration {
    match rate {
        Some(rate) => Duration::from_secs_f64(rows as f64 / f64::from(rate.max(1))),
        None => Duration::ZERO,
    }
}

/// Forgets where the walk stands: the next step begins a round.
pub fn restart(tx: &mut Tx, name: &str) -> store::Result<()> {
    tx.delete(&WALKS, (name,))
}

/// The shards among these where the walk has something to do: those that have rows and where it does not rest.
pub async fn due<K: Decode, V: Value>(
    store: &Store,
    table: &Table<K, V>,
    walk: &Walk<'_>,
    shards: &[Shard],
    now: Timestamp,
) -> store::Result<Due<()>> {
    let first = walk.range.clone().limited(1);
    let filled = store.scan_shards(table, shards, first).await?;
    let filled: BTreeSet<Shard> = filled.into_iter().map(|(shard, ..)| shard).collect();
    let rows = store.scan_shards(&WALKS, shards, Range::prefix((walk.name,), 1)?).await?;
    let rests: BTreeMap<Shard, i64> =
        rows.into_iter().map(|(shard, _, row)| (shard, row.not_before)).collect();
    let mut due = Due::default();
    for shard in filled {
        match rests.get(&shard) {
            Some(until) if *until > now.0 => due.later.push((shard, Timestamp(*until))),
            _ => due.pieces.push(Piece { shard, owner: String::new(), key: (), long: false }),
        }
    }
    Ok(due)
}

#[cfg(test)]
mod tests {
    use store::Schema;

    use super::*;

    const NUMBERS: Table<(i64,), ()> = Table::new("test", "numbers", &["number"], Space::Small);

    async fn page(store: &Store, walk: &Walk<'_>, now: Timestamp) -> Option<(Vec<i64>, bool)> {
        let step = async |tx: &mut Tx| step(tx, &NUMBERS, walk, now).await;
        let page = store.transact(Shard::of("s"), step).await.unwrap()?;
        Some((page.rows.into_iter().map(|((number,), ())| number).collect(), page.ended))
    }

    #[tokio::test]
    async fn a_walk_goes_page_by_page_rests_and_begins_again() {
        let store = Store::memory(Schema::new([crate::tables(), vec![NUMBERS.spec()]].concat()));
        let fill = async |tx: &mut Tx| (1_i64..=5).try_for_each(|number| tx.put(&NUMBERS, (number,), &()));
        store.transact(Shard::of("s"), fill).await.unwrap();
        let walk = Walk { rate: Some(2), ..Walk::over_all("numbers", 2, Duration::from_secs(60)) };
        let (now, all) = (Timestamp(1), Shard::all().collect::<Vec<_>>());
        let is_due = async |now| due(&store, &NUMBERS, &walk, &all, now).await.unwrap();
        assert_eq!(is_due(now).await.pieces.len(), 1, "only the shard that has rows");
        assert_eq!(page(&store, &walk, now).await, Some((vec![1, 2], false)));
        assert_eq!(page(&store, &walk, now).await, None, "two rows a second");
        let now = now.plus(Duration::from_secs(1));
        assert_eq!(page(&store, &walk, now).await, Some((vec![3, 4], false)));
        let now = now.plus(Duration::from_secs(1));
        assert_eq!(page(&store, &walk, now).await, Some((vec![5], true)));
        assert_eq!(is_due(now).await.later, [(Shard::of("s"), now.plus(Duration::from_secs(60)))]);
        let now = now.plus(Duration::from_secs(60));
        assert_eq!(page(&store, &walk, now).await, Some((vec![1, 2], false)), "a new round");
    }
}
