//! What people see of the stages: each with what waits for it, what it does and what went wrong.

use std::collections::BTreeMap;
use std::sync::Arc;

use kit::Timestamp;
use offers::stages::tables::{CHANGED, COUNTS, QUEUE, TIMERS};
use offers::stages::{Lane, callers};
use store::{Decode, Range, Shard, Table, Value};
use wire::stages::{ActivityRow, CountRow};

use crate::activity::WINDOW_SECONDS;
use crate::directory::Entry;
use crate::{Progress, Result, Stages};

pub use crate::offer_view::{OfferStage, Why};

/// Rows of `counts` that a shard can have.
const MAX_COUNTS: usize = 1_024;
/// Rows that are counted one by one, over all shards; of more it is said that there are more.
const MAX_COUNTED: usize = 2_000;

/// A number of rows that were counted one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub rows: usize,
    /// There are more.
    pub is_cut: bool,
}

/// A stage with its work.
pub struct StageView {
    pub entry: Arc<Entry>,
    pub waiting: i64,
    /// Since when the first in the queues has waited.
    pub oldest_at: Option<Timestamp>,
    pub timers: i64,
    /// Timers whose moment has come, and the earliest of these moments.
    pub due: Counted,
    pub due_since: Option<Timestamp>,
    /// Offers whose last run failed and that are tried again.
    pub failing: i64,
    pub parked: i64,
    /// Offers with saves that the stage was not told of yet.
    pub calls: CountRow,
    /// What all processes do for it.
    pub activity: ActivityRow,
    pub progress: Option<Progress>,
}

impl StageView {
    /// Runs a second, over the last minute.
    pub fn runs_per_second(&self) -> f64 {
        self.activity.runs as f64 / WINDOW_SECONDS as f64
    }

    /// How many of them failed.
    pub fn errors_per_second(&self) -> f64 {
        self.activity.failures as f64 / WINDOW_SECONDS as f64
    }

    /// Offers that are not tried any more, whether a run or telling of a save failed.
    pub fn all_parked(&self) -> i64 {
        self.parked + self.calls.parked
    }

    /// Until when no call is made because the last ones failed.
    pub fn open_until(&self, now: Timestamp) -> Option<Timestamp> {
        Some(Timestamp(self.activity.open_until)).filter(|until| *until > now)
    }
}

impl Stages {
    /// Every stage, or the one named.
    pub async fn views(&self, only: Option<&str>) -> Result<Vec<StageView>> {
        let all: Vec<_> = Shard::all().collect();
        let mut views = self.summaries().await?;
        views.retain(|view| only.is_none_or(|only| view.entry.id == only));
        for view in &mut views {
            if view.timers > 0 {
                (view.due, view.due_since) = self.due_timers(&view.entry.id, &all).await?;
            }
            view.progress = self.progress(&view.entry).await?;
        }
        Ok(views)
    }

    /// Every stage, without its due timers and without the progress of its walk: a few questions, for a page that is
    /// asked for all the time.
    pub async fn summaries(&self) -> Result<Vec<StageView>> {
        self.refresh().await?;
        let all: Vec<_> = Shard::all().collect();
        let mut counts = BTreeMap::<(String, u32), CountRow>::new();
        for (_, key, count) in self.offers.store.scan_shards(&COUNTS, &all, Range::all(MAX_COUNTS)).await? {
            let sum = counts.entry(key).or_default();
            sum.waiting += count.waiting;
            sum.parked += count.parked;
            sum.failing += count.failing;
        }
        let mut activities = self.activities().await?;
        let mut views = Vec::new();
        for entry in self.entries().iter() {
            let count =
                |lane: Lane| counts.get(&(entry.id.clone(), lane.number())).copied().unwrap_or_default();
            let main = count(Lane::Main);
            views.push(StageView {
                waiting: main.waiting,
                oldest_at: if main.waiting > 0 { self.oldest(&entry.id, &all).await? } else { None },
                timers: count(Lane::Timers).waiting,
                due: Counted::default(),
                due_since: None,
                failing: main.failing,
                parked: main.parked,
                calls: counts.get(&(entry.id.clone(), callers::LANE)).copied().unwrap_or_default(),
                activity: activities.remove(&entry.id).unwrap_or_default(),
                progress: None,
                entry: entry.clone(),
            });
        }
        Ok(views)
    }

    async fn oldest(&self, stage: &str, shards: &[Shard]) -> Result<Option<Timestamp>> {
        let heads = self.offers.store.scan_shards(&QUEUE, shards, Range::prefix((stage,), 1)?).await?;
        Ok(heads.into_iter().map(|(_, _, since)| Timestamp(since)).min())
    }

    async fn due_timers(&self, stage: &str, shards: &[Shard]) -> Result<(Counted, Option<Timestamp>)> {
        let now = self.offers.clock.now();
        let range = |limit: usize| Ok(Range::prefix((stage,), limit)?.up_to((stage, now.0))?);
        let (counted, heads) = self.counted(&TIMERS, shards, range).await?;
        Ok((counted, heads.into_iter().map(|(_, at, _)| Timestamp(at)).min()))
    }

    /// Transactions whose changes no stage has been told of yet, by lane.
    pub async fn untold(&self) -> Result<BTreeMap<&'static str, Counted>> {
        let all: Vec<_> = Shard::all().collect();
        let mut untold = BTreeMap::new();
        for lane in Lane::ALL {
            let range = |limit: usize| Ok(Range::prefix((lane.number(),), limit)?);
            untold.insert(lane.name(), self.counted(&CHANGED, &all, range).await?.0);
        }
        Ok(untold)
    }

    /// How many rows there are in a range, as long as they are few; and the first key of each shard.
    async fn counted<K: Decode, V: Value>(
        &self,
        table: &Table<K, V>,
        shards: &[Shard],
        range: impl Fn(usize) -> Result<Range>,
    ) -> Result<(Counted, Vec<K>)> {
        let heads = self.offers.store.scan_shards(table, shards, range(1)?).await?;
        let filled: Vec<_> = heads.iter().map(|(shard, _, _)| *shard).collect();
        let heads: Vec<_> = heads.into_iter().map(|(_, key, _)| key).collect();
        if filled.is_empty() {
            return Ok((Counted::default(), heads));
        }
        let limit = (MAX_COUNTED / filled.len()).max(1);
        let rows = self.offers.store.scan_shards(table, &filled, range(limit)?).await?;
        let mut by_shard = BTreeMap::<Shard, usize>::new();
        for (shard, ..) in &rows {
            *by_shard.entry(*shard).or_default() += 1;
        }
        let is_cut = by_shard.values().any(|count| *count >= limit);
        Ok((Counted { rows: rows.len(), is_cut }, heads))
    }
}
