//! Feeds: a seller's file becomes loads, a load becomes batches for the offers, and their results become its history.
//!
//! ```text
//! upload, loader → file + task + queue → processor → topic feed.offers → offers → topic feed.results → history
//!                                           │
//!        bytes → unpack → text → formats (one file each) → RawRecord → unify → Content
//! ```
//!
//! - [`upload`] and [`loader`] bring files in, [`processor`] cuts them into batches, [`results`] counts what became of them,
//!   [`cleanup`] forgets. Each begins with a table of its transactions and of what a crash between any two leaves.
//! - A feed's loads are processed one at a time and in order, under a lock that is a fenced lease. Batches are cut by the
//!   source's records alone, so every try of a load sends the same ones, and the offers know a repeat.
//! - **Nothing half-done is called done.** The terminal message goes out after every batch was acknowledged, and the next
//!   load begins after the terminal message was; a load ends as `succeeded` only if the books balance ([`statistics`]); a broken file takes
//!   nothing away.
//! - The format is recognised from the content, never from the name ([`records`]). Memory is constant, and every length
//!   that a file can choose has a limit in [`Limits`]. **A bad record costs itself only**; what breaks the file as a
//!   whole is [`Fatal`], and nothing after it is trusted.
//! - Own XML is checked against `schema/feed.xsd`, whose compiled tables are walked over quick-xml's events while the
//!   record is built. Nothing outside of the file is ever fetched and no entity that a file declares is expanded. What
//!   real feeds do wrong and can be understood is read, and what was guessed or lost is a warning.
//!
//! Everything of a feed lives in its seller's shard ([`tables`]); files are known by their hash and live elsewhere.
//! Reading is blocking and belongs on a blocking thread. Not here: whether an id stands twice in a load, what changes,
//! and what goes when a load no longer has it. The offers decide that.

pub mod api;
pub mod check;
pub mod cleanup;
pub mod config;
pub mod decide;
pub mod erase;
mod error;
pub mod errors;
pub mod excerpt;
mod fatal;
pub mod feed;
pub mod fingerprints;
pub mod follow_up;
pub mod formats;
pub mod fuzzing;
pub mod history;
mod issue;
mod limits;
pub mod loader;
mod metrics;
mod offer;
pub mod processor;
mod quota;
pub mod report;
pub mod results;
mod seen;
mod source;
mod start;
pub mod statistics;
pub mod survey;
pub mod tables;
pub mod tasks;
mod text;
pub mod timers;
pub mod unify;
mod unpack;
pub mod upload;
pub mod webhooks;
mod window;
pub mod xsd;

use std::sync::Arc;

use cluster::Cluster;
use files::Files;
use kit::Clock;
use spine::Base;
use store::Store;
use tokio::sync::Semaphore;
use topics::Topics;

pub use error::{Error, Result};
pub use fatal::Fatal;
pub use formats::{Format, RawRecord, Records, records};
pub use limits::Limits;
pub use offer::{FeedAttribute, FeedOffer};
pub use source::{LazyKnowledge, Unified, Unify};
pub use tables::tables;
pub use tasks::FeedKey;
pub use unify::{Knowledge, Settings, fingerprint, unify, unify_decided};

/// Every topic that the feeds write or read.
pub const TOPICS: [&str; 4] = [
    model::topics::FEED_OFFERS,
    model::topics::FEED_RESULTS,
    model::topics::FEED_DECISIONS,
    model::topics::OFFERS_ERASURES,
];

/// Woken when a load may be processed.
pub const QUEUE_CHANNEL: &str = "feeds.queue";
/// Woken when a feed may be fetched.
pub const FETCH_CHANNEL: &str = "feeds.fetch";
/// Woken when a load's timer was set.
pub const TIMER_CHANNEL: &str = "feeds.timers";
/// Woken when a load may be forgotten.
pub const OLD_CHANNEL: &str = "feeds.old";
/// Woken when there is something to tell.
pub const WEBHOOK_CHANNEL: &str = "feeds.webhooks";

/// What all functions of feeds stand on. Clones share it.
#[derive(Clone)]
pub struct Feeds {
    pub store: Store,
    pub topics: Topics,
    pub files: Files,
    pub cluster: Cluster,
    pub clock: Clock,
    pub settings: Arc<config::Settings>,
    pub unify: Arc<dyn Unify>,
    pub fetcher: fetch::Fetcher,
    /// Downloads of feeds that services hand over: each needs one of these for as long as it lasts.
    pub handed_over: Arc<Semaphore>,
    /// Excerpts and tables that are made for people: each needs one of these, and a core, for as long as it lasts.
    pub renderings: Arc<Semaphore>,
}

/// Of one process, at the same time.
pub const MAX_RENDERINGS: usize = 2;

impl Feeds {
    /// Feeds are fetched as `downloads` says, within the limits of the settings.
    pub fn new(
        base: &Base,
        settings: config::Settings,
        unify: Arc<dyn Unify>,
        downloads: fetch::Options,
    ) -> Self {
        let Base { store, topics, files, cluster, clock } = base.clone();
        let handed_over = Arc::new(Semaphore::new(settings.downloads.max(1)));
        let fetcher = fetch::Fetcher::new(fetch::Options {
            max_bytes: settings.max_file_bytes,
            idle_timeout: settings.idle_timeout,
            total_timeout: settings.total_timeout,
            ..downloads
        });
        let settings = Arc::new(settings);
        let renderings = Arc::new(Semaphore::new(MAX_RENDERINGS));
        Self { store, topics, files, cluster, clock, settings, unify, fetcher, handed_over, renderings }
    }

    pub(crate) fn catalog_version(&self) -> u32 {
        self.unify.catalog_version()
    }
}

/// The published schema of the own format, and an example of it.
pub const SCHEMA: &str = include_str!("../schema/feed.xsd");
pub const EXAMPLE: &str = include_str!("../schema/feed-example.xml");
