//! What happens now and then: the registry is read, walks end and begin, and stages that do not keep up stop being told.
//!
//! A stage that has not answered for [`DOWN_AFTER`], or has more than [`MAX_WAITING`] offers waiting here, in its main lane or
//! with a run that is due, or one that has waited for [`MAX_AGE`], is **suspended**: it is told of no change, so no backlog
//! grows, and it owes them. When it answers again, or has caught up, a walk over what changed since makes up for it.

use std::collections::BTreeMap;
use std::time::Duration;

use kit::{Shutdown, Timestamp};
use offers::stages::Lane;
use offers::stages::interests::REFRESH;
use offers::stages::tables::{COUNTS, QUEUE, TIMERS};
use store::{Range, Shard};

use crate::registry::{catch_up, owe};
use crate::{ROLE, Result, Stages};

/// A stage that has not answered this long is down.
const DOWN_AFTER: Duration = Duration::from_secs(60);
/// Offers waiting for a stage in the shards of this process.
const MAX_WAITING: i64 = 100_000;
/// How long the first of them may have waited.
const MAX_AGE: Duration = Duration::from_secs(24 * 3_600);
/// Due runs of a shard that are counted.
const MAX_COUNTED: usize = 2_000;
/// It is told again when no more than this are left.
const FEW_WAITING: i64 = 1_000;

/// What waits for a stage.
#[derive(Clone, Copy, Debug, Default)]
struct Backlog {
    waits: i64,
    /// Something has waited for too long.
    is_old: bool,
}

impl Stages {
    /// Runs until the shutdown is called.
    pub async fn maintain(&self, shutdown: &Shutdown) {
        while shutdown.sleep(REFRESH).await {
            if let Err(error) = self.maintain_once().await {
                tracing::warn!("the registry of stages cannot be looked after: {error}");
            }
        }
    }

    pub async fn maintain_once(&self) -> Result<()> {
        self.refresh().await?;
        let now = self.offers.clock.now();
        let held = self.offers.cluster.held(ROLE);
        if held.is_empty() {
            return Ok(());
        }
        self.report(now).await?;
        self.suspend(&held, now).await?;
        self.end_walks(now).await?;
        self.end_removals().await
    }

    async fn suspend(&self, held: &[Shard], now: Timestamp) -> Result<()> {
        let backlogs = self.backlogs(held, now).await?;
        let rate = self.settings.walk_per_second;
        for entry in self.directory.entries().iter().filter(|entry| entry.may_run()) {
            let Backlog { waits, is_old } = backlogs.get(&entry.id).copied().unwrap_or_default();
            let down_since = entry.breaker().down_since;
            let is_down = down_since.is_some_and(|since| now.since(since) >= DOWN_AFTER);
            if entry.row.suspended_at == 0 {
                if is_down || waits > MAX_WAITING || is_old {
                    tracing::warn!(
                        stage = entry.id,
                        waits,
                        is_old,
                        is_down,
                        "a stage is told of no more changes"
                    );
                    self.change(&entry.id, |row, now| {
                        row.suspended_at = now.0;
                        owe(row, down_since.unwrap_or(now));
                        Ok(())
                    })
                    .await?;
                }
            } else if waits <= FEW_WAITING && !is_old && self.answers(entry, now).await {
                tracing::info!(
                    stage = entry.id,
                    "a stage is told of changes again and makes up for those missed"
                );
                self.change(&entry.id, |row, now| {
                    if row.suspended_at != 0 {
                        row.suspended_at = 0;
                        catch_up(row, now, rate);
                    }
                    Ok(())
                })
                .await?;
            }
        }
        Ok(())
    }

    /// What waits for each stage in these shards.
    async fn backlogs(&self, held: &[Shard], now: Timestamp) -> Result<BTreeMap<String, Backlog>> {
        let store = &self.offers.store;
        let mut backlogs = BTreeMap::<String, Backlog>::new();
        let mut timers = BTreeMap::<String, Vec<Shard>>::new();
        for (shard, (stage, lane), count) in store.scan_shards(&COUNTS, held, Range::all(1_024)).await? {
            if lane == Lane::Main.number() {
                backlogs.entry(stage).or_default().waits += count.waiting;
            } else if lane == Lane::Timers.number() {
                timers.entry(stage).or_default().push(shard);
            }
        }
        let oldest = now.minus(MAX_AGE).0;
        for (stage, backlog) in backlogs.iter_mut().filter(|(_, backlog)| backlog.waits > 0) {
            let heads = store.scan_shards(&QUEUE, held, Range::prefix((stage.as_str(),), 1)?).await?;
            backlog.is_old = heads.iter().any(|(_, _, since)| *since <= oldest);
        }
        // Only for other programs are runs noted among the timers.
        let remote = |stage: &String| self.directory.entry(stage).is_some_and(|entry| !entry.is_local);
        for (stage, shards) in timers.into_iter().filter(|(stage, _)| remote(stage)) {
            let due = Range::prefix((stage.as_str(),), MAX_COUNTED)?.up_to((stage.as_str(), now.0))?;
            let due = store.scan_shards(&TIMERS, &shards, due).await?;
            let backlog = backlogs.entry(stage).or_default();
            backlog.waits += due.len() as i64;
            backlog.is_old |= due.iter().any(|(_, (_, at, _), ())| *at <= oldest);
        }
        Ok(backlogs)
    }

    async fn answers(&self, entry: &crate::Entry, now: Timestamp) -> bool {
        if entry.closed_until(now).is_some() {
            return false;
        }
        let probe = tokio::time::timeout(self.settings.deadline, entry.port.probe()).await;
        match probe {
            Ok(Ok(())) => {
                entry.health.succeeded();
                true
            }
            Ok(Err(error)) => {
                entry.health.failed(now, &error.0);
                false
            }
            Err(_) => {
                entry.health.failed(now, "no answer in time");
                false
            }
        }
    }
}
