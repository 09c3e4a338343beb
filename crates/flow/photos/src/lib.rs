//! Photos: urls of strangers become images that are checked, kept and served in several sizes.
//!
//! ```text
//! photos.requests ─▶ receive.rs: all urls known? ── yes ─▶ result in the outbox, in the same transaction
//!                        │ no
//!                        ▼
//!                  row in photos.requests ─▶ work.rs, under the shard's token: fetch, check, resize, store (outside of
//!                                            any transaction) ─▶ answer.rs: one transaction ─▶ photos.results
//! ```
//!
//! A request lives in the shard of its seller until it is answered, so a process may die anywhere: whoever holds the token
//! next finds the row and begins again. The transaction that answers writes what is known of each url, which offer uses
//! it, the errors, the result, and deletes the request; so there is **one result per request**, and it tells what is there.
//!
//! A photo is **one file** ([`bundle`]): the original with its four sizes, under one hash, with one reference per (seller,
//! url). So there is nothing that could be half there: either the file is, or it is not. `/photos/{hash}/{size}` reads a
//! part of it. A reference that a crash left pending is settled by [`owns`], which the sweep of files asks.
//!
//! Which offer uses which url is a set of rows, not a number: a repeated message changes nothing, and a url is let go
//! ([`release`]) when the last row of its set goes. A url that is known causes no traffic, in whichever offer of the seller
//! it comes again.
//!
//! An image is hostile until it is decoded ([`picture`]): its type is what its bytes say, what it says beyond its pixels is
//! taken away before a decoder sees it (`strip/`), its pixels are counted before
//! memory is taken for them, JPEG is decoded strictly (half an image is an error), of an animation the first frame
//! counts, and no more images are decoded at the same time than the settings allow. What is served was made here, but
//! for the original, which tells no place and no camera either, is served with its real type and never sniffed, and to
//! strangers only if the settings say so.
//!
//! An upload costs its seller of an hourly quota before it is looked at, and goes when no offer has named it for long
//! ([`Unused`]).
//!
//! How sharp a photo is, how well exposed, and a hash of what it looks like are measured once, when it is decoded, and kept
//! with it (`measure.rs`): the stage `photo-order` goes by them.
//!
//! Not done here: asking again later (the stage `photos` does), and showing photos of a removed seller.

mod answer;
pub mod api;
pub mod bundle;
mod config;
mod erase;
mod error;
mod issue;
mod measure;
mod metrics;
pub mod picture;
mod receive;
mod release;
mod start;
mod store_photo;
mod strip;
pub mod tables;
mod unused;
mod upload;
mod work;

use std::sync::Arc;

use cluster::Cluster;
use fetch::Fetcher;
use files::Files;
use kit::Clock;
use spine::Base;
use store::Store;
use tokio::sync::Semaphore;
use topics::Topics;

pub use config::{Format, Settings};
pub use erase::Erasures;
pub use error::{Error, Result};
pub use receive::Requests;
pub use release::{Release, owns, release};
pub use tables::tables;
pub use unused::Unused;
pub use upload::{Uploaded, upload};
pub use work::Requested;

/// Every topic that the photos write or read.
pub const TOPICS: [&str; 3] =
    [model::topics::PHOTOS_REQUESTS, model::topics::PHOTOS_RESULTS, model::topics::OFFERS_ERASURES];
/// The group that reads the requests.
pub const GROUP: &str = "photos";
/// The role under whose tokens requests are worked on, and the channel that wakes it.
pub const ROLE: &str = "photos";

/// What the photos of a process stand on. Clones share it.
#[derive(Clone)]
pub struct Photos {
    pub store: Store,
    pub topics: Topics,
    pub files: Files,
    pub cluster: Cluster,
    pub clock: Clock,
    pub fetcher: Fetcher,
    pub settings: Arc<Settings>,
    /// How many photos may be in memory on their way.
    downloads: Arc<Semaphore>,
    /// How many images may be decoded at the same time.
    decoders: Arc<Semaphore>,
}

impl Photos {
    /// Photos are fetched as `downloads` says, within the limits of the settings.
    pub fn new(base: &Base, settings: Settings, downloads: fetch::Options) -> Self {
        let Base { store, topics, files, cluster, clock } = base.clone();
        let fetcher = Fetcher::new(fetch::Options {
            max_bytes: settings.max_bytes,
            idle_timeout: settings.idle_timeout,
            total_timeout: settings.total_timeout,
            ..downloads
        });
        let decoders = Arc::new(Semaphore::new(settings.decoders.max(1)));
        let downloads = Arc::new(Semaphore::new(settings.downloads.max(1)));
        let settings = Arc::new(settings);
        Self { store, topics, files, cluster, clock, fetcher, settings, downloads, decoders }
    }
}
