//! Offers: what sellers have listed, in every state, with all that hangs on it.
//!
//! An offer lives in its seller's shard with everything that must agree with it: its places in the cabinet's lists
//! ([`presets`]), their lengths, the seller's counters, its history, the rows that tie it to a feed, and the events that
//! tell others. All of that is written by [`changes`] and by nothing else, in the transaction of the change, from the
//! offer's own data before and after; so a list cannot miss an offer, a count cannot drift, and no change goes untold.
//!
//! Guarantees:
//! - a change and its event commit together; events of an offer leave in the order of its versions;
//! - a status moves only along the edges of `model::status`; a ban is left to moderation ([`moderation`]);
//! - what a feed owns is changed by the feed alone ([`autoload`]), which in turn never brings back what a person
//!   withdrew, sold or was banned for;
//! - an id is never given twice, not even after the offer went to the archive.
//!
//! One file per verb: [`write`] by hand, [`moderation`], [`autoload`] by feeds, [`cabinet`] for lists, [`counters`].
//! The HTTP and gRPC doors are in `api/`.
//!
//! Not here: reading feed files (`feeds`), fetching photos (`photos`), enriching (`stages`). They meet the offers in
//! topics.

pub mod api;
pub mod archive;
pub mod autoload;
pub mod bulk;
pub mod cabinet;
pub mod changes;
pub mod config;
pub mod counters;
pub mod diff;
pub mod drafts;
pub mod due;
pub mod erase;
pub mod error;
pub mod export;
pub mod external;
pub mod follow;
pub mod forget;
pub mod fsck;
pub mod history;
pub mod id;
pub mod idempotency;
pub mod moderation;
pub mod photos;
pub mod presets;
pub mod read;
pub mod stages;
mod start;
pub mod tables;
pub mod validate;
pub mod write;

use std::sync::Arc;

use catalog::Catalog;
use cluster::Cluster;
use files::Files;
use kit::Clock;
use spine::Base;
use store::Store;
use topics::Topics;

pub use config::Settings;
pub use error::{Error, Result};
pub use presets::Preset;
use stages::Interests;
pub use tables::tables;

/// Every topic that the offers write or read.
pub const TOPICS: [&str; 9] = [
    model::topics::OFFERS_CHANGES,
    model::topics::MODERATION_OPINIONS,
    model::topics::PHOTOS_REQUESTS,
    model::topics::PHOTOS_RESULTS,
    model::topics::FEED_OFFERS,
    model::topics::FEED_RESULTS,
    model::topics::FEED_DECISIONS,
    model::topics::OFFERS_ERASURES,
    model::topics::OFFERS_FOLLOW,
];

/// The group under which the offers read topics.
pub const GROUP: &str = "offers";

/// Woken when an offer's due time was written.
pub const DUE_CHANNEL: &str = "offers.due";
/// Woken when a seller is to be erased.
pub const ERASE_CHANNEL: &str = "offers.erase";
/// Woken when a seller has a new follower.
pub const FOLLOW_CHANNEL: &str = "offers.follow";
/// Woken when a sweep has work.
pub const SWEEP_CHANNEL: &str = "offers.sweep";

/// What all of the offers' functions stand on. Clones share it.
#[derive(Clone)]
pub struct Offers {
    pub store: Store,
    pub topics: Topics,
    /// Where archived offers lie.
    pub files: Files,
    pub cluster: Cluster,
    pub clock: Clock,
    pub settings: Arc<Settings>,
    pub catalog: Arc<Catalog>,
    /// Which changes the stages want to hear of.
    pub interests: Interests,
    /// Others who keep something of a seller's offers, for the seller's export.
    pub keepers: Vec<Arc<dyn export::Keeper>>,
}

impl Offers {
    pub fn new(base: &Base, settings: Settings, catalog: Catalog) -> Self {
        let Base { store, topics, files, cluster, clock } = base.clone();
        let (settings, catalog) = (Arc::new(settings), Arc::new(catalog));
        let (interests, keepers) = (Interests::default(), Vec::new());
        Self { store, topics, files, cluster, clock, settings, catalog, interests, keepers }
    }

    /// The same with somebody else who keeps something of sellers' offers.
    #[must_use]
    pub fn with_keeper(mut self, keeper: Arc<dyn export::Keeper>) -> Self {
        self.keepers.push(keeper);
        self
    }
}
