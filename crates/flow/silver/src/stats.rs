//! How many offers each step had, and what became of them, over all processes.

use std::collections::BTreeMap;

use cluster::tally::{hour_began, hour_of};
use kit::Timestamp;

use crate::import::Imported;
use crate::{Result, Silver, metrics};

/// The steps in their order.
pub const STEPS: [&str; 8] = [
    "convert",
    "first_filter",
    "second_filter",
    "close_migration",
    "to_silver",
    "dbs_filter",
    "detect",
    "save",
];

/// Offers of a step that came to the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeStats {
    pub step: String,
    pub outcome: String,
    pub offers: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    pub since: Timestamp,
    /// In the order of the steps, the most frequent outcome first.
    pub steps: Vec<OutcomeStats>,
}

impl Silver {
    /// What a batch came to. A batch whose commit fails is counted again when it is tried again.
    pub(crate) fn count(&self, imported: &Imported) {
        let now = self.united.clock.now();
        for (trace, offers) in &imported.0 {
            let (step, outcome) = (trace.step, trace.outcome);
            metrics::stepped(step, outcome, *offers);
            self.outcomes.add(&format!("{step}/{outcome}"), *offers, now);
        }
    }

    /// Offers by step and outcome in this hour and so many before it; what this process counted is written first.
    pub async fn stats(&self, hours: i64) -> Result<Stats> {
        let (store, now) = (&self.united.store, self.united.clock.now());
        self.outcomes.write(store, now).await?;
        let first = hour_of(now) - hours;
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for (label, offers) in self.outcomes.read(store, first).await?.into_values().flatten() {
            *sums.entry(label).or_default() += offers;
        }
        let stats = |(label, offers): (String, u64)| {
            let (step, outcome) = label.split_once('/')?;
            Some(OutcomeStats { step: step.to_owned(), outcome: outcome.to_owned(), offers })
        };
        let mut steps: Vec<_> = sums.into_iter().filter_map(stats).collect();
        let place = |step: &str| STEPS.iter().position(|known| *known == step).unwrap_or(STEPS.len());
        steps.sort_by_key(|stats| (place(&stats.step), u64::MAX - stats.offers));
        Ok(Stats { since: hour_began(first), steps })
    }
}
