//! Which field causes how many shipments, over all processes, and which of them flap.
//!
//! A field that changes a thousand times as often as others floods whoever is told of it. So every shipment is counted
//! under the fields whose change caused it, and a field that causes more of them in an hour than the setting
//! `united.flapping_shipments_per_hour` allows is reported: in the log, as a metric and here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cluster::tally::{Tally, hour_began, hour_of};
use kit::Timestamp;
use store::Shard;

use crate::subscription::{Subject, Subscription};
use crate::{ROLE, Result, United, metrics};

/// The cause of a first shipment: the offer is new to us.
pub const NEW_OFFER: &str = "new";
/// All shipments, whatever caused them.
const ALL: &str = "";
/// More shipments of one field in an hour are reported, unless the setting says otherwise.
pub const USUAL_FLAPPING: u64 = 100_000;

/// What the shipments of a process are counted in. Clones share it.
#[derive(Clone)]
pub struct Shipments {
    pub tally: Tally,
    limit: Arc<AtomicU64>,
    /// Fields that were reported in an hour, each once.
    reported: Arc<Mutex<BTreeSet<String>>>,
    reported_hour: Arc<AtomicI64>,
}

impl Default for Shipments {
    fn default() -> Self {
        Self {
            tally: Tally::new("united.shipments"),
            limit: Arc::new(AtomicU64::new(USUAL_FLAPPING)),
            reported: Arc::default(),
            reported_hour: Arc::default(),
        }
    }
}

impl Shipments {
    /// Shipments of one field in an hour that are still no flapping; 0: as many as there are.
    pub fn set_limit(&self, shipments_per_hour: u64) {
        self.limit.store(shipments_per_hour, Ordering::Relaxed);
    }

    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }
}

/// Why the offers of a transaction are shipped.
#[derive(Default)]
pub(crate) struct Causes {
    offers: u64,
    new: u64,
    fields: BTreeMap<Subject, u64>,
}

impl Causes {
    pub(crate) fn add(&mut self, is_new: bool, triggers: &BTreeSet<Subject>) {
        self.offers += 1;
        if is_new {
            self.new += 1;
            return;
        }
        for subject in triggers {
            *self.fields.entry(*subject).or_default() += 1;
        }
    }
}

/// A marked field and what it causes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldStats {
    /// Its path, or [`NEW_OFFER`].
    pub field: String,
    pub mark: Subscription,
    pub shipments: u64,
    /// The most in this hour and the one before.
    pub per_hour: u64,
    pub flaps: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    pub since: Timestamp,
    pub shipments: u64,
    /// By what they cause, the most first.
    pub fields: Vec<FieldStats>,
    pub flapping_above: u64,
}

impl United {
    pub(crate) fn count(&self, causes: &Causes, now: i64) {
        if causes.offers == 0 {
            return;
        }
        let (tally, now) = (&self.shipments.tally, Timestamp(now));
        tally.add(ALL, causes.offers, now);
        tally.add(NEW_OFFER, causes.new, now);
        metrics::shipped(causes.offers);
        for (subject, shipments) in &causes.fields {
            let field = self.subscriptions.path(*subject);
            tally.add(field, *shipments, now);
            metrics::triggered(field, *shipments);
        }
    }

    /// Shipments by field in this hour and so many before it; what this process counted is written first.
    pub async fn stats(&self, hours: i64) -> Result<Stats> {
        let now = self.clock.now();
        self.shipments.tally.write(&self.store, now).await?;
        self.read_stats(hours, now).await
    }

    async fn read_stats(&self, hours: i64, now: Timestamp) -> Result<Stats> {
        let (this_hour, limit) = (hour_of(now), self.shipments.limit());
        let first = this_hour - hours;
        let counted = self.shipments.tally.read(&self.store, first).await?;
        let sum = |label: &str| counted.values().filter_map(|counts| counts.get(label)).sum::<u64>();
        let peak = |label: &str| {
            let hours = counted.range(this_hour - 1..).filter_map(|(_, counts)| counts.get(label));
            hours.copied().max().unwrap_or(0)
        };
        let of = |field: &str, mark: Subscription| {
            let per_hour = peak(field);
            let flaps = limit > 0 && mark == Subscription::Trigger && per_hour > limit;
            FieldStats { field: field.to_owned(), mark, shipments: sum(field), per_hour, flaps }
        };
        let mut fields: Vec<_> = self.subscriptions.marks().map(|(path, mark)| of(path, mark)).collect();
        // A flood of new offers is a load, not a field that flaps.
        fields.push(of(NEW_OFFER, Subscription::None));
        fields.sort_by(|one, other| (other.shipments, &one.field).cmp(&(one.shipments, &other.field)));
        let since = hour_began(first);
        Ok(Stats { since, shipments: sum(ALL), fields, flapping_above: limit })
    }

    /// Reports the fields that flap, each once an hour. One of all processes does it.
    pub async fn report_flapping(&self) {
        if !self.cluster.holds(ROLE, Shard::of(self.shipments.tally.name())) {
            metrics::flapping(0);
            return;
        }
        let now = self.clock.now();
        match self.read_stats(1, now).await {
            Ok(stats) => drop(self.report(&stats, now)),
            Err(error) => tracing::warn!(%error, "shipments by field cannot be read"),
        }
    }

    /// Returns the fields that flap and were not reported in this hour yet.
    pub fn report(&self, stats: &Stats, now: Timestamp) -> Vec<String> {
        let flapping: Vec<_> = stats.fields.iter().filter(|field| field.flaps).collect();
        metrics::flapping(flapping.len());
        let mut reported = self.shipments.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if self.shipments.reported_hour.swap(hour_of(now), Ordering::Relaxed) != hour_of(now) {
            reported.clear();
        }
        let mut new = Vec::new();
        for FieldStats { field, per_hour, .. } in flapping {
            if reported.insert(field.clone()) {
                let allowed = stats.flapping_above;
                tracing::warn!(
                    field,
                    per_hour,
                    allowed,
                    "a trigger field flaps: it causes too many shipments"
                );
                new.push(field.clone());
            }
        }
        new
    }
}
