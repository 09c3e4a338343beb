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
pub mod tables;
pub mod validate;
pub mod write;

use std::sync::Arc;

use catalog::Catalog;
use cluster::Cluster;
use files::Files;
use kit::Clock;
use store::Store;

pub use config::Settings;
pub use error::{Error, Result};
pub use presets::Preset;
use stages::Interests;
pub use tables::tables;

/// Every change of an offer; key: its id as printed.
pub const CHANGES_TOPIC: &str = "offers.changes";
pub const OPINIONS_TOPIC: &str = "moderation.opinions";
pub const PHOTO_REQUESTS_TOPIC: &str = "photos.requests";
pub const PHOTO_RESULTS_TOPIC: &str = "photos.results";
pub const FEED_OFFERS_TOPIC: &str = "feed.offers";
pub const FEED_RESULTS_TOPIC: &str = "feed.results";
pub const FEED_DECISIONS_TOPIC: &str = "feed.decisions";

/// Sellers of whom nothing may stay, key: the seller; those who keep something of his take it as their word.
pub const ERASURES_TOPIC: &str = "offers.erasures";

/// Wishes to hear of all offers of a seller, key: the seller.
pub const FOLLOW_TOPIC: &str = "offers.follow";

/// Every topic that the offers write or read.
pub const TOPICS: [&str; 9] = [
    CHANGES_TOPIC,
    OPINIONS_TOPIC,
    PHOTO_REQUESTS_TOPIC,
    PHOTO_RESULTS_TOPIC,
    FEED_OFFERS_TOPIC,
    FEED_RESULTS_TOPIC,
    FEED_DECISIONS_TOPIC,
    ERASURES_TOPIC,
    FOLLOW_TOPIC,
];

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
    pub clock: Clock,
    pub settings: Arc<Settings>,
    pub catalog: Arc<Catalog>,
    pub cluster: Cluster,
    /// Which changes the stages want to hear of.
    pub interests: Interests,
    /// Where archived offers lie; without it none is archived and none is found there.
    pub files: Option<Files>,
    /// Others who keep something of a seller's offers, for the seller's export.
    pub keepers: Vec<Arc<dyn export::Keeper>>,
}

impl Offers {
    pub fn new(store: Store, clock: Clock, settings: Settings, catalog: Catalog) -> Self {
        let cluster = Cluster::solo(store.clone(), clock.clone());
        let (settings, catalog) = (Arc::new(settings), Arc::new(catalog));
        let (interests, keepers) = (Interests::default(), Vec::new());
        Self { store, clock, settings, catalog, cluster, interests, files: None, keepers }
    }

    /// The same as one of many processes.
    #[must_use]
    pub fn with_cluster(self, cluster: Cluster) -> Self {
        Self { cluster, ..self }
    }

    /// The same with somebody else who keeps something of sellers' offers.
    #[must_use]
    pub fn with_keeper(mut self, keeper: Arc<dyn export::Keeper>) -> Self {
        self.keepers.push(keeper);
        self
    }

    /// The same with an archive.
    #[must_use]
    pub fn with_files(self, files: Files) -> Self {
        Self { files: Some(files), ..self }
    }
}
