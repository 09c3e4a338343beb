//! The stages as this process knows them: the registry's rows, each with the way to reach its stage.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use cluster::{Cluster, Limiter};
use kit::Timestamp;
use offers::stages::interests::is_told;
use wire::stages::{RegistryRow, Saved, Tls};

use crate::activity::Activity;
use crate::config::MAX_DEADLINE;
use crate::health::{Breaker, Health};
use crate::stage::{Local, Port, Stage};

/// A stage that comes with the program.
#[derive(Clone)]
pub struct Builtin {
    pub id: &'static str,
    /// Paths that it cares for; none: every path.
    pub masks: Vec<&'static str>,
    pub saved: Saved,
    /// 0: never by itself.
    pub traverse_every_hours: u32,
    /// It is told of no change: something else keeps its times.
    pub untold: bool,
    /// Of what it goes by: with a greater one it looks at all offers again.
    pub revision: u32,
    pub port: Arc<dyn Port>,
}

impl Builtin {
    pub fn new(id: &'static str, masks: &[&'static str], stage: impl Stage) -> Self {
        Self {
            id,
            masks: masks.to_vec(),
            saved: Saved::None,
            traverse_every_hours: 0,
            untold: false,
            revision: 0,
            port: Arc::new(Local(stage)),
        }
    }
}

/// A registered stage.
pub struct Entry {
    pub id: String,
    pub row: RegistryRow,
    pub(crate) port: Arc<dyn Port>,
    /// It runs in this process, so calling it costs nothing but its own time.
    pub(crate) is_local: bool,
    pub(crate) health: Arc<Health>,
    pub(crate) activity: Arc<Activity>,
    pub(crate) limiter: Option<Limiter>,
}

impl Entry {
    /// Whether it is told of a change of this moment. The walk that makes up for what it owes looks at later ones only, so
    /// what was written before it began to owe is told even then.
    pub(crate) fn hears_of(&self, at: i64) -> bool {
        let row = &self.row;
        is_told(row) || (row.removed_at == 0 && !row.untold && row.owes_since != 0 && at < row.owes_since)
    }

    /// Whether what waits for it may run.
    pub(crate) fn may_run(&self) -> bool {
        self.row.paused_at == 0 && self.row.removed_at == 0
    }

    pub fn deadline(&self, default: Duration) -> Duration {
        match self.row.deadline_ms {
            0 => default,
            ms => Duration::from_millis(u64::from(ms)),
        }
        .min(MAX_DEADLINE)
    }

    /// How the calls of this process to it went lately.
    pub fn breaker(&self) -> Breaker {
        self.health.shown()
    }

    pub(crate) fn closed_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.health.closed_until(now)
    }
}

/// Makes the way to a stage of another program.
pub type Connect = dyn Fn(&str, &RegistryRow) -> Option<Arc<dyn Port>> + Send + Sync;

/// All of them.
pub(crate) struct Directory {
    pub(crate) builtins: Vec<Builtin>,
    connect: Box<Connect>,
    cluster: Cluster,
    entries: RwLock<Arc<Vec<Arc<Entry>>>>,
}

impl Directory {
    pub(crate) fn new(builtins: Vec<Builtin>, connect: Box<Connect>, cluster: Cluster) -> Self {
        Self { builtins, connect, cluster, entries: RwLock::default() }
    }

    pub(crate) fn entries(&self) -> Arc<Vec<Arc<Entry>>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn entry(&self, id: &str) -> Option<Arc<Entry>> {
        self.entries().iter().find(|entry| entry.id == id).cloned()
    }

    /// Takes the registry as it was read; what did not change keeps its connection and its breaker.
    pub(crate) fn set(&self, rows: Vec<(String, RegistryRow)>) {
        let old = self.entries();
        let entries = rows.into_iter().filter_map(|(id, row)| {
            let before = old.iter().find(|entry| entry.id == id);
            match before {
                Some(before) if before.row == row => Some(before.clone()),
                before => self.entry_of(id, row, before).map(Arc::new),
            }
        });
        let entries = Arc::new(entries.collect());
        *self.entries.write().unwrap_or_else(PoisonError::into_inner) = entries;
    }

    /// `None`: a built-in of another version of the program, or an address that cannot be spoken to.
    fn entry_of(&self, id: String, row: RegistryRow, before: Option<&Arc<Entry>>) -> Option<Entry> {
        let builtin = self.builtins.iter().find(|builtin| builtin.id == id);
        let same = before.filter(|before| reach(&before.row) == reach(&row));
        let port = match (same, builtin) {
            (Some(same), _) => same.port.clone(),
            (None, Some(builtin)) => builtin.port.clone(),
            (None, None) => (self.connect)(&id, &row)?,
        };
        let health = same.map(|same| same.health.clone()).unwrap_or_default();
        let activity = before.map(|before| before.activity.clone()).unwrap_or_default();
        let limiter = self.limiter(&id, &row, same);
        Some(Entry { id, row, port, is_local: builtin.is_some(), health, activity, limiter })
    }

    fn limiter(&self, id: &str, row: &RegistryRow, same: Option<&Arc<Entry>>) -> Option<Limiter> {
        if row.calls_per_second <= 0.0 && row.parallel == 0 {
            return None;
        }
        let rate = if row.calls_per_second > 0.0 { row.calls_per_second } else { f64::INFINITY };
        let parallel = if row.parallel > 0 { row.parallel } else { u32::MAX };
        let kept = same.and_then(|same| same.limiter.clone());
        let limiter = kept.unwrap_or_else(|| self.cluster.limiter(&format!("stages.{id}"), rate, parallel));
        limiter.change(rate, parallel);
        Some(limiter)
    }
}

/// What a connection depends on.
fn reach(row: &RegistryRow) -> (&str, u32, Option<&Tls>) {
    (&row.address, row.deadline_ms, row.tls.as_ref())
}
