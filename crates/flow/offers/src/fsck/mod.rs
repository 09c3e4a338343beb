//! Finds and repairs what does not agree with the offers, while writes go on.
//!
//! Everything here is kept right by [`crate::changes`]; this is for what a bug, a lost disk block or a hand in the tables
//! did. Two kinds of disagreement are repaired differently:
//!
//! - **A row against its offer** ([`rows`]): a place in a list, or a due row, that is missing or too many. It is found by
//!   a walk in pages and repaired in a transaction that reads the offer again, so a row that a writer has meanwhile put
//!   right is left alone.
//! - **A number against the rows it counts** ([`numbers`]): the length of a list, a current counter, the live offers of a
//!   feed. Rows and number are read in *one* snapshot, and their difference is then *added* to the number as it has
//!   become. Every writer changes rows and number alike, so the difference stays what it was however many of them
//!   commit in between; nobody is stopped.
//!
//! Only the repairs themselves change a difference, so two of them at once could correct twice. Each therefore counts on
//! the shard's row `fsck` in `walks`, and an addition whose snapshot saw another count than its transaction is taken
//! anew. So no work token is needed, and any process may check any shard.
//!
//! A list is counted in pages, in memory that does not grow with it. The embedded engine's snapshot stays open as long as
//! it takes; PostgreSQL's lives five minutes, which is why every list has a snapshot of its own: a million rows are read
//! in seconds. A list that cannot be counted in that time ends the check with the store's error, and nothing wrong is
//! added.

mod numbers;
mod rows;

use std::fmt;

use serde::{Deserialize, Serialize};
use store::{Range, Read, Shard, Tx};

use crate::tables::{COUNTERS, FEED_HEAD, PRESETS, PRESETS_COUNT, WALKS};
use crate::{Offers, Result};

/// Findings that a report names; the rest is only counted.
const MAX_NAMED: usize = 1_000;

/// What is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    Everything,
    Seller(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Says what it finds and changes nothing.
    Look,
    Repair,
}

/// What a check saw and did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub shards: u64,
    pub sellers: u64,
    pub offers: u64,
    /// Rows that were missing or too many.
    pub wrong_rows: u64,
    /// Numbers that were not the number of their rows.
    pub wrong_numbers: u64,
    pub repaired: bool,
    /// The first of them.
    pub findings: Vec<Finding>,
}

/// One disagreement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub seller: String,
    pub what: String,
    /// Of a number: what it was and what it should have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<i64>,
}

impl Report {
    pub fn is_clean(&self) -> bool {
        self.wrong_rows + self.wrong_numbers == 0
    }

    fn row(&mut self, seller: &str, what: String) {
        self.wrong_rows += 1;
        self.name(Finding { seller: seller.to_owned(), what, found: None, expected: None });
    }

    fn number(&mut self, seller: &str, what: String, found: i64, expected: i64) {
        self.wrong_numbers += 1;
        let (found, expected) = (Some(found), Some(expected));
        self.name(Finding { seller: seller.to_owned(), what, found, expected });
    }

    fn name(&mut self, finding: Finding) {
        if self.findings.len() < MAX_NAMED {
            self.findings.push(finding);
        }
    }

    /// Adds what another part of the check saw.
    fn add(&mut self, other: Self) {
        self.shards += other.shards;
        self.sellers += other.sellers;
        self.offers += other.offers;
        self.wrong_rows += other.wrong_rows;
        self.wrong_numbers += other.wrong_numbers;
        let room = MAX_NAMED.saturating_sub(self.findings.len());
        self.findings.extend(other.findings.into_iter().take(room));
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding { seller, what, found, expected } in &self.findings {
            match (found, expected) {
                (Some(found), Some(expected)) => {
                    writeln!(f, "seller {seller}: {what} said {found}, there are {expected}")?;
                }
                _ => writeln!(f, "seller {seller}: {what}")?,
            }
        }
        let total = self.wrong_rows + self.wrong_numbers;
        let unnamed = total.saturating_sub(self.findings.len() as u64);
        if unnamed > 0 {
            writeln!(f, "… and {unnamed} more")?;
        }
        write!(
            f,
            "{} offers of {} sellers in {} shards looked at: ",
            self.offers, self.sellers, self.shards
        )?;
        match (self.is_clean(), self.repaired) {
            (true, _) => write!(f, "everything agrees"),
            (false, true) => {
                write!(
                    f,
                    "{} rows and {} numbers were wrong and are repaired",
                    self.wrong_rows, self.wrong_numbers
                )
            }
            (false, false) => {
                write!(
                    f,
                    "{} rows and {} numbers are wrong; nothing was changed",
                    self.wrong_rows, self.wrong_numbers
                )
            }
        }
    }
}

/// Checks one seller, or all of them shard by shard.
pub async fn fsck(offers: &Offers, scope: &Scope, mode: Mode) -> Result<Report> {
    let mut report = Report { repaired: mode == Mode::Repair, ..Report::default() };
    match scope {
        Scope::Seller(seller) => {
            report.add(fsck_shard(offers, Shard::of(seller), Some(seller), mode).await?);
        }
        Scope::Everything => {
            for shard in Shard::all() {
                report.add(fsck_shard(offers, shard, None, mode).await?);
            }
        }
    }
    Ok(report)
}

/// Checks a shard, or one seller of it.
pub async fn fsck_shard(offers: &Offers, shard: Shard, only: Option<&str>, mode: Mode) -> Result<Report> {
    let mut report = Report { shards: 1, ..Report::default() };
    rows::check(offers, shard, only, mode, &mut report).await?;
    if let Some(seller) = only {
        report.sellers = 1;
        numbers::check(offers, shard, seller, mode, &mut report).await?;
        return Ok(report);
    }
    let mut last = String::new();
    while let Some(seller) = next_seller(offers, shard, &last).await? {
        report.sellers += 1;
        numbers::check(offers, shard, &seller, mode, &mut report).await?;
        last = seller;
    }
    Ok(report)
}

/// The shard's next seller who has a row in any of the tables that are checked.
pub(crate) async fn next_seller(offers: &Offers, shard: Shard, last: &str) -> Result<Option<String>> {
    let snapshot = offers.store.snapshot(shard).await?;
    let range = || Range::all(1).after((last,));
    let listed = snapshot.scan(&PRESETS, range()?).await?.into_iter().map(|(key, ())| key.0);
    let counted = snapshot.scan(&PRESETS_COUNT, range()?).await?.into_iter().map(|(key, _)| key.0);
    let numbered = snapshot.scan(&COUNTERS, range()?).await?.into_iter().map(|(key, _)| key.0);
    let fed = snapshot.scan(&FEED_HEAD, range()?).await?.into_iter().map(|(key, _)| key.0);
    Ok(listed.chain(counted).chain(numbered).chain(fed).min())
}

/// The walk's name under which repairs are counted.
const REPAIRS: &str = "fsck";

async fn repairs(read: &impl Read) -> Result<Vec<u8>> {
    Ok(read.get(&WALKS, (REPAIRS,)).await?.unwrap_or_default())
}

/// In every transaction that repairs something.
async fn count_repair(tx: &mut Tx) -> Result<()> {
    let mut number = [0; 8];
    let stored = repairs(tx).await?;
    if stored.len() == number.len() {
        number.copy_from_slice(&stored);
    }
    tx.put(&WALKS, (REPAIRS,), &(u64::from_le_bytes(number).wrapping_add(1).to_le_bytes().to_vec()))?;
    Ok(())
}
