//! Silver and gold: what sellers say of their goods, imported as they say it, and one clean record made of that.
//!
//! United offers ship what changed ([`united`], topic `united.offers`). The import takes each message through steps, each a
//! function of its own: [`convert`] from the wire to parameters (0), [`steps`] for the filters, the collapse and the
//! detection of changes (1, 2, 4, 5, 6), [`import`] for what is written and for the answers to migrations (3, 7), [`debt`]
//! for what fails (8). The plan of a batch is made first and its rows are written last, in one transaction per business and
//! batch; an offer that cannot be imported is left out and owed alone, and [`again`] reads it anew from united in the same
//! shard. [`gold`] then chooses one value per parameter by survivorship rules, keeps every candidate and why the winner won, and
//! writes the record back to the united offer.
//!
//! Guarantees:
//! - whatever the order, repetition or batching of messages, silver, existence, queues and gold are the fold of the newest
//!   parts; what a filter leaves out is noted ([`tables::CUTS`]) and read again when it would pass;
//! - a repeat writes nothing, a newer version of the same data one row and no queue;
//! - nothing is owed that is stored: a debt goes when every part that it speaks of is there;
//! - a migration is answered once, and only when silver has seen the version that moved, or does not keep such offers;
//! - draining gold ships nothing; ERP hears of a key after its gold, with the gold's version;
//! - of an erased seller nothing stays: not in silver, gold, markers, queues, cuts or debts.
//!
//! A DBS offer passes a mode that does not take it when we *keep* its SSKU, live or removed, or when it has a marker of
//! existence: were it the marker alone, the order of messages would decide.
//!
//! - messages that retention took before they were read are an error: their businesses are read again from united
//!   ([`reread`]), and nothing is skipped in silence;
//! - other rules hold for every SSKU: they are all queued again ([`gold::requeue`]), and no process makes gold by older ones.
//!
//! What the steps did is counted over all processes ([`stats`]). A trace goes on from the shipment to gold.
//!
//! Not here: business groups of the original.

pub mod again;
pub mod api;
pub mod consume;
pub mod convert;
pub mod debt;
mod error;
pub mod export;
pub mod failures;
pub mod forget;
pub mod gold;
pub mod import;
mod metrics;
pub mod parameters;
mod queues;
pub mod read;
pub mod reread;
pub mod settings;
pub mod ssku;
mod start;
pub mod stats;
pub mod steps;
pub mod tables;
mod work;

use std::sync::{Arc, PoisonError, RwLock};

use cluster::tally::Tally;
use store::Shard;
use united::United;

pub use error::{Error, Result};
pub use gold::requeue::Requeued;
pub use settings::Settings;
pub use tables::tables;
pub use work::{Debts, Purge, Queued, Reopened};

/// Every topic that silver writes or reads.
pub const TOPICS: [&str; 3] =
    [model::topics::UNITED_OFFERS, model::topics::MIGRATIONS_DONE, model::topics::ERP_SSKU];
/// The group under which the shipments are read, and the role under whose tokens background work is done.
pub const ROLE: &str = "silver";
/// Woken when a queue, a debt or a setting was written.
pub const CHANNEL: &str = "silver";

/// A page of work ends when its transaction has written so much: there is room for one more SSKU, however large.
const PAGE_BYTES: usize = store::MAX_TRANSACTION_BYTES / 4;

/// Woken in all shards when other rules of gold are known.
const RULES_CHANNEL: &str = "silver.rules";
/// Woken when a business must be read again.
const REREADS_CHANNEL: &str = "silver.rereads";

/// What silver and gold of a process stand on. Clones share it.
#[derive(Clone)]
pub struct Silver {
    pub united: United,
    settings: Arc<RwLock<Arc<Settings>>>,
    /// Offers by step and outcome.
    pub outcomes: Tally,
}

impl Silver {
    /// With default settings; [`Silver::read_settings`] reads the store's.
    pub fn new(united: United) -> Self {
        Self { united, settings: Arc::default(), outcomes: Tally::new("silver.offers") }
    }

    /// The settings as they were read last: one snapshot for whoever asks.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the settings of the store.
    pub async fn read_settings(&self) -> Result<Arc<Settings>> {
        let read = Arc::new(settings::read(&self.united.store).await?);
        self.united.shipments.set_limit(read.flapping);
        let before = {
            let mut held = self.settings.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *held, read.clone())
        };
        if read.gold_version > before.gold_version {
            let wakes = self.united.store.wakes();
            Shard::all().for_each(|shard| wakes.wake(RULES_CHANNEL, shard));
        }
        Ok(read)
    }
}
