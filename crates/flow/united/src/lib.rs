//! United offers: a business's offers, each with a basic part and a part per shop.
//!
//! A business sells in several shops, and each of them has its own word on the same goods. Here the words on one offer
//! stand together: a **service** per shop, and a **basic** part, which is what the newest service says ([`basic`]). Master
//! data (crate `silver`) hears of changes by topic `united.offers`, and only of those that it subscribed to: which field is
//! shipped, and which one causes a shipment, is a mark in `proto/` ([`subscription`]).
//!
//! Everything of a business lives in its shard. [`write::Writing`] is the only writer of parts: rows, versions, the business's
//! clock and the shipment in the outbox are one transaction, so a crash leaves all or nothing of a change.
//!
//! Guarantees:
//! - a part's version grows with every change of a subscribed field and with nothing else: equal versions are equal data.
//!   Versions come from the business's clock, which never goes back;
//! - an offer is shipped when a trigger changed, and then with its basic part and the services that changed; an offer that is
//!   new to us is always shipped;
//! - the golden record that comes back ([`master_data`]) is outside of versions and comparison, and no mark may stand
//!   beneath it: draining gold ships nothing;
//! - a value that is said again keeps the time at which it was said first.
//!
//! - offers of followed sellers come by topic `united.parts` ([`receive`], [`fill`]) under the epoch of their shop's mapping
//!   ([`shops`]); what is late of an older epoch is dropped, what it brought is marked as removed, and after an erasure deleted.
//!   In the end the live parts are the live offers of mapped sellers, whatever happened meanwhile;
//! - an offer lives in one business ([`moves`]): it moves whole, what reaches its former home is forwarded, and a request
//!   for migration has one answer ([`migrations`]), not before silver of the target has seen what moved;
//! - messages that retention took before they were read lose nothing: parts are asked for anew ([`shops`]), moves are asked for
//!   and sent again, and every mapping is told to its seller's shard once an hour.
//!
//! Which field causes how many shipments is counted over all processes ([`stats`]); one that flaps is reported.

pub mod api;
mod basic;
mod error;
pub mod fill;
mod give;
mod list;
mod lost;
pub mod master_data;
mod metrics;
pub mod migrations;
pub mod moves;
mod parts;
mod put;
mod read;
pub mod receive;
mod ship;
pub mod shops;
mod start;
pub mod stats;
pub mod subscription;
mod tables;
mod work;
pub mod write;

use std::sync::Arc;

use catalog::Catalog;
use cluster::Cluster;
use kit::Clock;
use spine::Base;
use store::Store;
use topics::Topics;

pub use error::{Error, Result};
pub use list::{Migration, OfferView, SkuOrigin, origin_of};
pub use parts::{Edition, MAX_PART_BYTES, MAX_SHOP_SKU_BYTES, check_shop_sku};
pub use read::MAX_KEYS;
pub use subscription::Subscriptions;
pub use tables::{
    CLOCK, ENDINGS, GIVEN, MIGRATIONS, MIGRATIONS_OPEN, MOVED, OFFERS, SHOPS, cut_page, shard_of, tables,
};
pub use work::{Endings, Retold};

/// Every topic that united writes or reads.
pub const TOPICS: [&str; 6] = [
    model::topics::UNITED_OFFERS,
    model::topics::UNITED_PARTS,
    model::topics::OFFERS_FOLLOW,
    model::topics::MIGRATIONS_REQUESTS,
    model::topics::UNITED_MOVES,
    model::topics::MIGRATIONS_DONE,
];
/// The group under which topics are read, and the role under whose tokens background work is done.
pub const ROLE: &str = "united";
/// Woken when there is background work.
pub const CHANNEL: &str = "united";

/// What the united offers of a process stand on. Clones share it.
#[derive(Clone)]
pub struct United {
    pub store: Store,
    pub topics: Topics,
    pub cluster: Cluster,
    pub clock: Clock,
    pub catalog: Catalog,
    pub subscriptions: Arc<Subscriptions>,
    pub shipments: stats::Shipments,
}

impl United {
    pub fn new(base: &Base, catalog: Catalog) -> Self {
        let Base { store, topics, cluster, clock, .. } = base.clone();
        let (subscriptions, shipments) = (Arc::new(Subscriptions::shipped()), stats::Shipments::default());
        Self { store, topics, cluster, clock, catalog, subscriptions, shipments }
    }
}
