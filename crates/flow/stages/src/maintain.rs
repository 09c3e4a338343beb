//! What happens now and then: the registry is read, walks end and begin, and stages that do not keep up stop being told.
//!
//! Every process reads and reports; the one with the work token of the registry's shard decides for all, over all shards
//! and by what all have reported, so that two never undo each other's decisions.
//!
//! A stage that has not answered for [`DOWN_AFTER`], or has more than [`MAX_WAITING`] offers waiting, in its main lane or
//! with a run that is due, or one that has waited for [`MAX_AGE`], is **suspended**: it is told of no change, so no backlog
//! grows, and it owes them. When it answers again, or has caught up, a walk over what changed since makes up for it.

use std::collections::BTreeMap;
use std::time::Duration;

use kit::{Shutdown, Timestamp};
use offers::stages::Lane;
use offers::stages::interests::REFRESH;
use offers::stages::tables::{COUNTS, QUEUE, TIMERS, registry_shard};
use store::{Range, Shard};

use crate::registry::{catch_up, owe};
use crate::{ROLE, Result, Stages};

/// A stage that has not answered this long is down.
const DOWN_AFTER: Duration = Duration::from_secs(60);
/// Offers waiting for a stage.
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
        self.ask_suspended(now).await;
        self.report(now).await?;
        if !held.contains(&registry_shard()) {
            return Ok(());
        }
        self.suspend(now).await?;
        self.end_walks(now).await?;
        self.end_removals().await
    }

    /// A process whose calls failed and that has nothing more to run would take a suspended stage for down for ever.
    async fn ask_suspended(&self, now: Timestamp) {
        for entry in self.directory.entries().iter() {
            if entry.row.suspended_at != 0 && entry.may_run() && entry.breaker().down_since.is_some() {
                self.answers(entry, now).await;
            }
        }
    }

    async fn suspend(&self, now: Timestamp) -> Result<()> {
        let backlogs = self.backlogs(now).await?;
        let activities = self.activities().await?;
        let rate = self.settings.walk_per_second;
        for entry in self.directory.entries().iter().filter(|entry| entry.may_run()) {
            let Backlog { waits, is_old } = backlogs.get(&entry.id).copied().unwrap_or_default();
            let reported = activities.get(&entry.id).map_or(0, |activity| activity.down_since);
            let down_since = (reported != 0).then_some(Timestamp(reported));
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
            } else if waits <= FEW_WAITING
                && !is_old
                && down_since.is_none()
                && self.answers(entry, now).await
            {
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

    /// What waits for each stage.
    async fn backlogs(&self, now: Timestamp) -> Result<BTreeMap<String, Backlog>> {
        let store = &self.offers.store;
        let all: Vec<_> = Shard::all().collect();
        let mut backlogs = BTreeMap::<String, Backlog>::new();
        let mut timers = BTreeMap::<String, Vec<Shard>>::new();
        for (shard, (stage, lane), count) in store.scan_shards(&COUNTS, &all, Range::all(1_024)).await? {
            if lane == Lane::Main.number() {
                backlogs.entry(stage).or_default().waits += count.waiting;
            } else if lane == Lane::Timers.number() {
                timers.entry(stage).or_default().push(shard);
            }
        }
        let oldest = now.minus(MAX_AGE).0;
        for (stage, backlog) in backlogs.iter_mut().filter(|(_, backlog)| backlog.waits > 0) {
            let heads = store.scan_shards(&QUEUE, &all, Range::prefix((stage.as_str(),), 1)?).await?;
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
