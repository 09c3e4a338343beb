//! The HTTP door of feeds. Each route asks [`web::Access`] first; what another seller has is not there.

mod docs;
mod error_list;
mod feeds;
mod json;
mod loads;
mod published;
mod uploads;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::{Access, Result};

use crate::{FeedKey, Feeds};

pub use error_list::{csv_table, xlsx_table};
pub use json::{ErrorItem, FeedItem, HeldItem, LoadError, LoadItem, Missing, NewLoad, StatisticsItem};

pub fn routes() -> OpenApiRouter<Feeds> {
    OpenApiRouter::new()
        .routes(routes!(feeds::list))
        .routes(routes!(feeds::put, feeds::show, feeds::remove))
        .routes(routes!(feeds::fetch))
        .routes(routes!(feeds::pause))
        .routes(routes!(feeds::resume))
        .routes(routes!(uploads::upload))
        .routes(routes!(uploads::parsed))
        .routes(routes!(loads::list))
        .routes(routes!(loads::show))
        .routes(routes!(loads::confirm))
        .routes(routes!(loads::reject))
        .routes(routes!(loads::rerun))
        .routes(routes!(loads::cancel))
        .routes(routes!(error_list::list))
        .routes(routes!(error_list::xlsx))
        .routes(routes!(error_list::csv))
        .routes(routes!(published::schema))
        .routes(routes!(published::example))
}

/// The feed that a path names, if the caller may change it: what a service has collected is not the seller's to change.
fn own_feed_key(access: &Access, seller: &str, namespace: &str) -> Result<FeedKey> {
    let key = feed_key(access, seller, namespace)?;
    if key.is_parsed() {
        access.require_service()?;
    }
    Ok(key)
}

/// The feed that a path names, if the caller may see its seller.
fn feed_key(access: &Access, seller: &str, namespace: &str) -> Result<FeedKey> {
    access.require_seller(seller)?;
    Ok(FeedKey::new(seller, namespace)?)
}
