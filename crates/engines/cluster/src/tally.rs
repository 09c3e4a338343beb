//! Counts that all processes add to: statistics by hour, for people.
//!
//! A process counts in memory and writes its sums every few seconds, each hour a row of its own, so counting costs no
//! transaction and reading is one short scan however many processes there are. A process that is killed takes the last
//! seconds with it: what must be exact is a row of the work itself, not a tally.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kit::{Shutdown, Timestamp};
use serde::Serialize;
use store::{Range, Read as _, Shard, Space, Store, Table, Tx};

/// (tally, hour, process), in the shard of the tally.
pub(crate) const TALLIES: Table<(String, i64, String), TallyRow> =
    Table::new("cluster", "tallies", &["tally", "hour", "process"], Space::Small);

/// Sums are written this often.
pub const WRITTEN_EVERY: Duration = Duration::from_secs(5);
/// Hours that are kept.
pub const KEPT_HOURS: i64 = 48;
const HOUR_MICROS: i64 = 3_600_000_000;
/// Rows of one question: processes times hours.
const PAGE: usize = 1_000;

#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct TallyRow {
    #[prost(btree_map = "string, uint64", tag = "1")]
    pub counts: BTreeMap<String, u64>,
}

/// Counts of one process under a name. Clones share them.
#[derive(Clone)]
pub struct Tally(Arc<Counts>);

struct Counts {
    name: &'static str,
    process: String,
    hours: Mutex<Hours>,
}

#[derive(Default)]
struct Hours {
    counts: BTreeMap<i64, BTreeMap<String, u64>>,
    /// Hours of which not all is written.
    unwritten: BTreeSet<i64>,
}

/// The hour of a moment, counted from 1970.
pub fn hour_of(at: Timestamp) -> i64 {
    at.hour()
}

/// When an hour began.
pub fn hour_began(hour: i64) -> Timestamp {
    Timestamp(hour.saturating_mul(HOUR_MICROS))
}

impl Tally {
    pub fn new(name: &'static str) -> Self {
        Self(Arc::new(Counts { name, process: kit::random_id(), hours: Mutex::default() }))
    }

    pub fn name(&self) -> &'static str {
        self.0.name
    }

    pub fn add(&self, label: &str, count: u64, now: Timestamp) {
        if count == 0 {
            return;
        }
        let hour = hour_of(now);
        let mut hours = self.hours();
        let counts = hours.counts.entry(hour).or_default();
        match counts.get_mut(label) {
            Some(known) => *known += count,
            None => drop(counts.insert(label.to_owned(), count)),
        }
        hours.unwritten.insert(hour);
    }

    /// Writes what was counted since the last time.
    pub async fn write(&self, store: &Store, now: Timestamp) -> store::Result<()> {
        let (unwritten, rows) = {
            let mut hours = self.hours();
            let unwritten = std::mem::take(&mut hours.unwritten);
            let row = |hour: &i64| (*hour, TallyRow { counts: hours.counts[hour].clone() });
            let rows: Vec<_> = unwritten.iter().map(row).collect();
            (unwritten, rows)
        };
        let shard = Shard::of(self.0.name);
        for (hour, row) in &rows {
            let key = (self.0.name, *hour, self.0.process.as_str());
            if let Err(error) = store.put_alone(&TALLIES, shard, key, row).await {
                self.hours().unwritten.extend(unwritten);
                return Err(error);
            }
        }
        let mut hours = self.hours();
        let Hours { counts, unwritten } = &mut *hours;
        counts.retain(|hour, _| *hour >= hour_of(now) || unwritten.contains(hour));
        Ok(())
    }

    /// What all processes wrote, hour by hour from this one on.
    pub async fn read(
        &self,
        store: &Store,
        from_hour: i64,
    ) -> store::Result<BTreeMap<i64, BTreeMap<String, u64>>> {
        let snapshot = store.snapshot(Shard::of(self.0.name)).await?;
        let mut hours: BTreeMap<i64, BTreeMap<String, u64>> = BTreeMap::new();
        let mut range = Range::prefix((self.0.name,), PAGE)?.after((self.0.name, from_hour, ""))?;
        loop {
            let page = snapshot.scan(&TALLIES, range).await?;
            let last = page.last().filter(|_| page.len() == PAGE).map(|(key, _)| key.clone());
            for ((_, hour, _), row) in page {
                let sums = hours.entry(hour).or_default();
                for (label, count) in row.counts {
                    *sums.entry(label).or_default() += count;
                }
            }
            let Some(last) = last else { return Ok(hours) };
            range = Range::prefix((self.0.name,), PAGE)?.after(last)?;
        }
    }

    /// Deletes rows that are older than is kept. Returns how many there were.
    pub async fn forget_old(&self, store: &Store, now: Timestamp) -> store::Result<usize> {
        let oldest = hour_of(now) - KEPT_HOURS;
        let forget = async |tx: &mut Tx| {
            let range = Range::prefix((self.0.name,), PAGE)?.before((self.0.name, oldest, ""))?;
            let rows = tx.scan(&TALLIES, range).await?;
            for (key, _) in &rows {
                tx.delete(&TALLIES, key)?;
            }
            Ok(rows.len())
        };
        store.transact(Shard::of(self.0.name), forget).await
    }

    fn hours(&self) -> std::sync::MutexGuard<'_, Hours> {
        self.0.hours.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the sums of these tallies again and again, and a last time at the end; `written` is called after each time.
pub async fn keep<F: Future<Output = ()> + Send>(
    store: Store,
    clock: kit::Clock,
    tallies: Vec<Tally>,
    shutdown: Shutdown,
    written: impl Fn() -> F + Send,
) {
    let mut forgotten_at = i64::MIN;
    loop {
        shutdown.sleep(WRITTEN_EVERY).await;
        let now = clock.now();
        for tally in &tallies {
            let done = async {
                tally.write(&store, now).await?;
                if forgotten_at < hour_of(now) {
                    tally.forget_old(&store, now).await?;
                }
                Ok::<_, store::Error>(())
            };
            if let Err(error) = done.await {
                tracing::warn!(tally = tally.name(), %error, "statistics are not written; tried again");
            }
        }
        forgotten_at = hour_of(now);
        written().await;
        if shutdown.is_called() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use store::Schema;

    use super::*;

    fn counts(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
        pairs.iter().map(|(label, count)| ((*label).to_owned(), *count)).collect()
    }

    #[tokio::test]
    async fn processes_add_up_hour_by_hour_and_old_hours_go() {
        let store = Store::memory(Schema::new(crate::tables()));
        let (one, two) = (Tally::new("t"), Tally::new("t"));
        let noon = hour_began(500_000);
        let later = noon.plus(Duration::from_secs(3_600));
        one.add("a", 2, noon);
        one.write(&store, noon).await.unwrap();
        one.add("a", 1, noon);
        one.add("b", 5, later);
        two.add("a", 10, noon);
        one.write(&store, later).await.unwrap();
        two.write(&store, later).await.unwrap();
        // Written again: nothing is counted twice.
        one.write(&store, later).await.unwrap();
        let read = one.read(&store, 500_000).await.unwrap();
        assert_eq!(read[&500_000], counts(&[("a", 13)]));
        assert_eq!(read[&500_001], counts(&[("b", 5)]));
        assert_eq!(one.read(&store, 500_001).await.unwrap().len(), 1);
        assert!(Tally::new("other").read(&store, 0).await.unwrap().is_empty());

        let days_later = hour_began(500_001 + KEPT_HOURS);
        assert_eq!(two.forget_old(&store, days_later).await.unwrap(), 2);
        assert_eq!(one.read(&store, 0).await.unwrap().keys().copied().collect::<Vec<_>>(), [500_001]);
    }

    #[tokio::test]
    async fn what_was_not_written_is_written_the_next_time() {
        let store = Store::memory(Schema::new(crate::tables()));
        let tally = Tally::new("t");
        let now = hour_began(9);
        tally.add("a", 1, now);
        // A schema without the table stands for a store that fails.
        let broken = Store::memory(Schema::new(Vec::new()));
        tally.write(&broken, now).await.unwrap_err();
        tally.write(&store, now.plus(Duration::from_secs(7_200))).await.unwrap();
        assert_eq!(tally.read(&store, 0).await.unwrap()[&9], counts(&[("a", 1)]));
    }
}
