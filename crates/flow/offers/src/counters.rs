//! Numbers kept per seller. Current ones go up and down; Sold and MoneyEarned only grow.

use std::collections::BTreeMap;

use store::{Range, Read, Tx};

use crate::Result;
use crate::tables::COUNTERS;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    Active,
    Expired,
    Banned,
    /// Offers that ever were sold here, each once.
    Sold,
    /// Their prices at that moment, per currency.
    MoneyEarned,
}

impl Counter {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "Active",
            Self::Expired => "Expired",
            Self::Banned => "Banned",
            Self::Sold => "Sold",
            Self::MoneyEarned => "MoneyEarned",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) seller: String,
    pub(crate) counter: Counter,
    pub(crate) currency: String,
    pub(crate) stripe: u32,
}

impl Key {
    fn columns(&self) -> (&str, &str, &str, u32) {
        (&self.seller, self.counter.name(), &self.currency, self.stripe)
    }
}

/// What a seller's counters say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub active: i64,
    pub expired: i64,
    pub banned: i64,
    pub sold: i64,
    /// Minor units by currency.
    pub money_earned: BTreeMap<String, i64>,
}

/// Most rows of one seller: five counters over all currencies and stripes.
const MAX_ROWS: usize = 10_000;

/// Sums the stripes.
pub async fn read(read: &impl Read, seller: &str) -> Result<Counters> {
    let mut counters = Counters::default();
    for ((_, counter, currency, _), value) in
        read.scan(&COUNTERS, Range::prefix((seller,), MAX_ROWS)?).await?
    {
        match counter.as_str() {
            "Active" => counters.active += value,
            "Expired" => counters.expired += value,
            "Banned" => counters.banned += value,
            "Sold" => counters.sold += value,
            _ => *counters.money_earned.entry(currency).or_default() += value,
        }
    }
    Ok(counters)
}

pub(crate) async fn add(tx: &mut Tx, deltas: BTreeMap<Key, i64>) -> Result<()> {
    let deltas: Vec<_> = deltas.into_iter().filter(|(_, delta)| *delta != 0).collect();
    let stored = tx.get_many(&COUNTERS, deltas.iter().map(|(key, _)| key.columns())).await?;
    for ((key, delta), value) in deltas.iter().zip(stored) {
        tx.put(&COUNTERS, key.columns(), &(value.unwrap_or(0).saturating_add(*delta)))?;
    }
    Ok(())
}
