//! What is owed under a key: how long it waits for its next try, and how many are dealt with at once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use async_trait::async_trait;
use store::{Decode, Encode, Range, Read as _, Shard, Store, Table, Tx, Value};

/// Debts that are dealt with in one transaction.
pub const PAGE: usize = 200;

/// How long what failed waits for its next try, and when a person must look.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    pub first_wait: Duration,
    pub max_wait: Duration,
    /// After this number of tries it is parked.
    pub max_tries: u32,
}

impl Patience {
    /// The wait after this number of failed tries (at least one): it doubles.
    pub fn wait(&self, tries: u32) -> Duration {
        let doubled = 1_u32.checked_shl(tries.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first_wait.saturating_mul(doubled).min(self.max_wait)
    }

    pub fn is_over(&self, tries: u32) -> bool {
        tries >= self.max_tries
    }
}

/// What people decided about debts.
#[async_trait]
pub trait Judge<K, V>: Send + Sync {
    type Error: From<store::Error> + Send;

    /// Deals with these rows of a shard, of which `before` were judged already; says how many of them were meant.
    async fn judge(&self, tx: &mut Tx, rows: BTreeMap<K, V>, before: usize) -> Result<usize, Self::Error>;
}

/// Judges every row of the tables within the range, in the order of keys: a page of a shard in each transaction. Returns how
/// many were meant. Ended half-way, the rest is as it was; called again, it goes on.
pub async fn judge_all<K, V, J>(
    store: &Store,
    tables: &[&Table<K, V>],
    only: Option<Shard>,
    range: &Range,
    judge: &J,
) -> Result<usize, J::Error>
where
    K: Decode + Encode + Ord + Clone + Send + Sync,
    V: Value,
    J: Judge<K, V>,
{
    let mut judged = 0;
    for shard in shards(store, tables, only, range).await? {
        let (mut before, mut next) = (0, Some(limited(range, PAGE)));
        while let Some(range) = next.take() {
            let body = async |tx: &mut Tx| {
                let (rows, last) = first_rows(tx, tables, &range).await?;
                let judged = judge.judge(tx, rows, before).await?;
                let rest = last.map(|key| range.clone().after(key)).transpose()?;
                Ok::<_, J::Error>((judged, rest))
            };
            let (count, rest) = store.transact(shard, body).await?;
            before += count;
            next = rest;
        }
        judged += before;
    }
    Ok(judged)
}

/// The shards that have such rows, found in one question per table.
async fn shards<K: Decode, V: Value>(
    store: &Store,
    tables: &[&Table<K, V>],
    only: Option<Shard>,
    range: &Range,
) -> store::Result<BTreeSet<Shard>> {
    if let Some(shard) = only {
        return Ok(BTreeSet::from([shard]));
    }
    let all: Vec<_> = Shard::all().collect();
    let mut shards = BTreeSet::new();
    for &table in tables {
        let heads = store.scan_shards(table, &all, limited(range, 1)).await?;
        shards.extend(heads.into_iter().map(|(shard, ..)| shard));
    }
    Ok(shards)
}

fn limited(range: &Range, limit: usize) -> Range {
    let mut range = range.clone();
    range.limit = limit;
    range
}

/// The first rows of all tables together, and the last key if there may be more behind it.
async fn first_rows<K: Decode + Ord + Clone, V: Value>(
    tx: &Tx,
    tables: &[&Table<K, V>],
    range: &Range,
) -> store::Result<(BTreeMap<K, V>, Option<K>)> {
    let mut rows = BTreeMap::new();
    for &table in tables {
        rows.extend(tx.scan(table, range.clone()).await?);
    }
    if rows.len() < range.limit {
        return Ok((rows, None));
    }
    let cut = rows.keys().nth(range.limit).cloned();
    if let Some(cut) = cut {
        rows.split_off(&cut);
    }
    let last = rows.keys().next_back().cloned();
    Ok((rows, last))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn waits_double_up_to_a_limit_and_end_with_a_person() {
        let patience =
            Patience { first_wait: Duration::from_secs(5), max_wait: Duration::from_secs(60), max_tries: 6 };
        let waits: Vec<_> = (1..=6).map(|tries| patience.wait(tries).as_secs()).collect();
        assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
        assert_eq!(patience.wait(u32::MAX).as_secs(), 60);
        assert!(!patience.is_over(5) && patience.is_over(6));
    }

    const ONE: Table<(i64,), ()> = Table::new("test", "one", &["number"], store::Space::Small);
    const OTHER: Table<(i64,), ()> = Table::new("test", "other", &["number"], store::Space::Small);

    /// Notes the pages: judged before, rows, the first key.
    #[derive(Default)]
    struct Pages(Mutex<Vec<(usize, usize, Option<i64>)>>);

    #[async_trait]
    impl Judge<(i64,), ()> for Pages {
        type Error = store::Error;

        async fn judge(&self, _: &mut Tx, rows: BTreeMap<(i64,), ()>, before: usize) -> store::Result<usize> {
            let first = rows.keys().next().map(|(number,)| *number);
            self.0.lock().unwrap().push((before, rows.len(), first));
            Ok(rows.len())
        }
    }

    #[tokio::test]
    async fn rows_of_several_tables_are_judged_once_page_by_page() {
        let store = Store::memory(store::Schema::new([ONE.spec(), OTHER.spec()]));
        let many = PAGE as i64 + PAGE as i64 / 2;
        for shard in [3, 9] {
            let fill = async |tx: &mut Tx| {
                for number in 0..many {
                    tx.put(if number % 3 == 0 { &ONE } else { &OTHER }, (number,), &())?;
                }
                Ok::<_, store::Error>(())
            };
            store.transact(Shard::wrapping(shard), fill).await.unwrap();
        }
        let (pages, all) = (Pages::default(), Range::all(PAGE));
        assert_eq!(judge_all(&store, &[&ONE, &OTHER], None, &all, &pages).await.unwrap() as i64, 2 * many);
        let of_a_shard = [(0, PAGE, Some(0)), (PAGE, PAGE / 2, Some(PAGE as i64))];
        assert_eq!(*pages.0.lock().unwrap(), [of_a_shard, of_a_shard].concat());
        let only = Some(Shard::wrapping(3));
        let judged = judge_all(&store, &[&ONE], only, &all, &Pages::default()).await.unwrap();
        assert_eq!(judged, PAGE / 2);
    }
}
