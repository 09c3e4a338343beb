//! The steps of the import, 1 to 6: what becomes of an offer, decided before anything is written.
//!
//! Each step is a function of what came, what is stored and the settings; [`plan`] puts them in a row for one SSKU. A plan
//! depends on the newest parts alone, so messages may come in any order, twice, or cut into other batches: what a step
//! leaves out is noted as a *cut* with its reason, and a cut is read again from its source as soon as it could pass.

pub mod dbs_filter;
pub mod detect;
pub mod first_filter;
pub mod second_filter;
pub mod to_silver;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use wire::silver::SskuRow;

pub use dbs_filter::DbsMode;
pub use detect::Detected;

use crate::ssku::{CommonSsku, Key, SOURCE_ID, SourceType};

/// What the steps are told from outside: one snapshot for a whole batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Businesses that are too heavy for us; empty in normal life.
    pub forbidden: BTreeSet<u32>,
    pub dbs_mode: DbsMode,
    /// Businesses whose DBS offers are taken in any mode, from the first to the last of each range.
    pub dbs_ranges: Vec<(u32, u32)>,
}

impl Rules {
    /// Whether DBS offers of this business come in without further condition.
    pub fn takes_dbs(&self, business: u32) -> bool {
        let is_allowed = || self.dbs_ranges.iter().any(|(first, last)| (*first..=*last).contains(&business));
        self.dbs_mode == DbsMode::BlueAndDbs || is_allowed()
    }
}

/// What is stored of an SSKU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stored {
    /// By source type and source id.
    pub rows: BTreeMap<(String, String), SskuRow>,
    /// A marker of existence is there.
    pub exists: bool,
}

impl Stored {
    /// The record of this type, if it is one that an import may have written.
    pub fn row(&self, source: SourceType) -> Option<&SskuRow> {
        self.rows.get(&(source.name().to_owned(), SOURCE_ID.to_owned()))
    }

    /// Whether we keep the SSKU.
    pub fn is_kept(&self) -> bool {
        SourceType::EVERY.iter().any(|source| self.row(*source).is_some())
    }

    pub fn has_services(&self) -> bool {
        let rows = SourceType::EVERY.iter().filter_map(|source| self.row(*source));
        rows.into_iter().any(|row| !row.services.is_empty())
    }
}

/// Why something of an offer was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// The business is forbidden.
    Forbidden,
    /// There was no service to keep it for.
    NoServices,
    /// Services of a colour that is not kept.
    Colour,
    /// DBS services, which the mode does not take.
    Dbs,
}

impl Cut {
    pub const EVERY: [Self; 4] = [Self::Forbidden, Self::NoServices, Self::Colour, Self::Dbs];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::NoServices => "no_services",
            Self::Colour => "colour",
            Self::Dbs => "dbs",
        }
    }
}

/// A step, and what it did to an offer, for counters and for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trace {
    pub step: &'static str,
    pub outcome: &'static str,
}

/// What is to be done for an SSKU.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub key: Key,
    pub detected: Option<Detected>,
    pub cuts: BTreeSet<Cut>,
    pub trace: Vec<Trace>,
    /// The greatest version that the messages had: a migration that waits for it is answered.
    pub version: i64,
}

/// Takes the offers that a batch has for one SSKU through the steps.
///
/// What a filter cuts depends on whether we keep the SSKU. One of the batch's offers may be the one that makes us keep it;
/// had it come alone before the others, they would have met a kept SSKU, so they do here too.
pub fn plan(rules: &Rules, key: &Key, offers: &[CommonSsku], stored: &Stored) -> Plan {
    if stored.is_kept() {
        return attempt(rules, key, offers, stored, true);
    }
    let comes_to_exist = |plan: &Plan| matches!(plan.detected, Some(Detected::Changed { .. }));
    if let [offer] = offers {
        let alone = attempt(rules, key, std::slice::from_ref(offer), stored, false);
        let again = comes_to_exist(&alone) && !alone.cuts.is_empty();
        return if again { attempt(rules, key, offers, stored, true) } else { alone };
    }
    let mut each = offers.iter().map(|offer| attempt(rules, key, std::slice::from_ref(offer), stored, false));
    let kept = each.any(|plan| comes_to_exist(&plan));
    attempt(rules, key, offers, stored, kept)
}

fn attempt(rules: &Rules, key: &Key, offers: &[CommonSsku], stored: &Stored, kept: bool) -> Plan {
    let version = offers.iter().map(CommonSsku::version).max().unwrap_or(0);
    let mut plan =
        Plan { key: key.clone(), detected: None, cuts: BTreeSet::new(), trace: Vec::new(), version };
    let mut passed = Vec::new();
    let has_services = kept || stored.has_services();
    for offer in offers {
        if let Err(cut) = first_filter::first_filter(rules, offer, has_services) {
            plan.note("first_filter", cut.name());
            plan.cuts.insert(cut);
            continue;
        }
        plan.note("first_filter", "passed");
        let coloured = second_filter::second_filter(offer.clone(), kept);
        plan.note("second_filter", coloured.outcome());
        if !coloured.cut.is_empty() {
            plan.cuts.insert(Cut::Colour);
        }
        if coloured.is_nothing_left(has_services) {
            plan.note("close_migration", "unsupported");
            continue;
        }
        passed.push(coloured.offer);
    }
    let collapses = passed.len() > 1;
    let Some(silver) = to_silver::to_silver(passed) else { return plan };
    plan.note("to_silver", if collapses { "collapsed" } else { "passed" });
    let filtered = dbs_filter::dbs_filter(rules, silver, kept || stored.exists);
    plan.note("dbs_filter", filtered.outcome());
    if !filtered.cut.is_empty() {
        plan.cuts.insert(Cut::Dbs);
    }
    let detected = detect::detect(stored, &filtered.offer);
    plan.note("detect", detected.outcome());
    if matches!(detected, Detected::Empty) {
        plan.cuts.insert(Cut::NoServices);
    }
    plan.detected = Some(detected);
    plan
}

impl Plan {
    fn note(&mut self, step: &'static str, outcome: &'static str) {
        self.trace.push(Trace { step, outcome });
    }
}

#[cfg(test)]
pub(crate) mod tests;
