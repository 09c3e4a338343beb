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
mod forget;
pub mod fsck;
pub mod history;
pub mod id;
pub mod idempotency;
pub mod moderation;
pub mod photos;
pub mod presets;
pub mod read;
pub mod tables;
pub mod validate;
pub mod write;

use std::sync::Arc;

use catalog::Catalog;
use files::Files;
use kit::Clock;
use store::Store;

pub use config::Settings;
pub use error::{Error, Result};
pub use presets::Preset;
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

/// Every topic that the offers write or read.
pub const TOPICS: [&str; 8] = [
    CHANGES_TOPIC,
    OPINIONS_TOPIC,
    PHOTO_REQUESTS_TOPIC,
    PHOTO_RESULTS_TOPIC,
    FEED_OFFERS_TOPIC,
    FEED_RESULTS_TOPIC,
    FEED_DECISIONS_TOPIC,
    ERASURES_TOPIC,
];

/// Woken when an offer's due time was written.
pub const DUE_CHANNEL: &str = "offers.due";
/// Woken when a sweep has work.
pub const SWEEP_CHANNEL: &str = "offers.sweep";

/// What all of the offers' functions stand on. Clones share it.
#[derive(Clone)]
pub struct Offers {
    pub store: Store,
    pub clock: Clock,
    pub settings: Arc<Settings>,
    pub catalog: Arc<Catalog>,
    /// Where archived offers lie; without it none is archived and none is found there.
    pub files: Option<Files>,
}

impl Offers {
    pub fn new(store: Store, clock: Clock, settings: Settings, catalog: Catalog) -> Self {
        Self { store, clock, settings: Arc::new(settings), catalog: Arc::new(catalog), files: None }
    }

    /// The same with an archive.
    #[must_use]
    pub fn with_files(self, files: Files) -> Self {
        Self { files: Some(files), ..self }
    }
}
