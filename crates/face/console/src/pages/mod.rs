//! One file per page; forms stand with the page that shows them.

mod acts;
mod cabinet;
mod cluster;
mod errors;
mod feed;
mod find;
mod letters;
mod load;
mod login;
mod offer;
mod overview;
mod pipeline;
mod seller;
mod sellers;
mod silver;
mod snippets;
mod stages;
mod topics;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::response::Response;
use axum::routing::{any, get, post};
use feeds::FeedKey;

use crate::Console;
use crate::session::STRANGERS_FORM_BYTES;
use crate::visit::{Refusal, Visit};
use crate::words::encoded;

type Answer = Result<Response, Refusal>;

pub(crate) fn routes() -> Router<Console> {
    Router::new()
        .route("/console", get(overview::show))
        .route("/console/", get(overview::show))
        .merge(strangers_routes())
        .route("/console/logout", post(login::leave))
        .route("/console/find", get(find::find))
        .merge(seller_routes())
        .merge(load_routes())
        .merge(machine_routes())
        .merge(stages::routes())
        .merge(silver::routes())
        // Below the console people get a page that says so, and not the API's answer.
        .route("/console/{*anything}", any(find::nothing))
}

/// Forms of those who have not logged in are short.
fn strangers_routes() -> Router<Console> {
    Router::new()
        .route("/console/login", get(login::show).post(login::enter))
        .route("/console/language", post(login::language))
        .layer(DefaultBodyLimit::max(STRANGERS_FORM_BYTES))
}

fn seller_routes() -> Router<Console> {
    Router::new()
        .route("/console/sellers", get(sellers::show))
        .route("/console/sellers/{seller}", get(seller::show))
        .route("/console/sellers/{seller}/offers", get(cabinet::show))
        .route("/console/sellers/{seller}/feeds", post(seller::make_feed))
        .route("/console/sellers/{seller}/feeds/{namespace}", get(feed::show))
        .route("/console/sellers/{seller}/feeds/{namespace}/settings", post(feed::change))
        .route("/console/sellers/{seller}/feeds/{namespace}/fetch", post(acts::fetch))
        .route("/console/sellers/{seller}/feeds/{namespace}/pause", post(acts::pause))
        .route("/console/sellers/{seller}/feeds/{namespace}/resume", post(acts::resume))
        .route(
            "/console/sellers/{seller}/feeds/{namespace}/uploads",
            // The feeds have a limit of their own, in bytes of a file.
            post(acts::upload).layer(DefaultBodyLimit::disable()),
        )
        .route("/console/offers/{id}", get(offer::show))
}

fn load_routes() -> Router<Console> {
    Router::new()
        .route("/console/sellers/{seller}/feeds/{namespace}/loads/{task_id}", get(load::show))
        .route("/console/sellers/{seller}/feeds/{namespace}/loads/{task_id}/errors.xlsx", get(errors::xlsx))
        .route("/console/sellers/{seller}/feeds/{namespace}/loads/{task_id}/errors.csv", get(errors::csv))
        .route("/console/sellers/{seller}/feeds/{namespace}/loads/{task_id}/confirm", post(acts::confirm))
        .route("/console/sellers/{seller}/feeds/{namespace}/loads/{task_id}/reject", post(acts::reject))
        .route("/console/sellers/{seller}/feeds/{namespace}/loads/{task_id}/rerun", post(acts::rerun))
        .route("/console/sellers/{seller}/feeds/{namespace}/loads/{task_id}/cancel", post(acts::cancel))
}

fn machine_routes() -> Router<Console> {
    Router::new()
        .route("/console/snippets", get(snippets::show))
        .route("/console/snippets/put", post(snippets::put))
        .route("/console/snippets/letters/retry", post(snippets::retry))
        .route("/console/snippets/letters/drop", post(snippets::discard))
        .route("/console/topics", get(topics::list))
        .route("/console/topics/{topic}", get(topics::show))
        .route("/console/topics/{topic}/letters/retry", post(letters::retry))
        .route("/console/topics/{topic}/letters/drop", post(letters::discard))
        .route("/console/cluster", get(cluster::show))
}

pub(crate) fn seller_address(seller: &str) -> String {
    format!("{}/sellers/{}", crate::PREFIX, encoded(seller))
}

pub(crate) fn feed_address(key: &FeedKey) -> String {
    format!("{}/feeds/{}", seller_address(&key.seller), encoded(&key.namespace))
}

pub(crate) fn load_address(key: &FeedKey, task_id: &str) -> String {
    format!("{}/loads/{task_id}", feed_address(key))
}

pub(crate) fn offer_address(id: &str) -> String {
    format!("{}/offers/{}", crate::PREFIX, encoded(id))
}

/// The feed that a path names, if the visitor may see its seller.
fn feed_key(visit: &Visit, seller: &str, namespace: &str) -> Result<FeedKey, Refusal> {
    visit.require_seller(seller)?;
    FeedKey::new(seller, namespace).map_err(|error| visit.refused(error))
}

/// The same, if the visitor may change it: what a service has collected is not the seller's to change.
fn own_feed_key(visit: &Visit, seller: &str, namespace: &str) -> Result<FeedKey, Refusal> {
    let key = feed_key(visit, seller, namespace)?;
    if key.is_parsed() {
        visit.access.require_service().map_err(|problem| visit.refused(problem))?;
    }
    Ok(key)
}

/// The load that a path names, if the visitor may change it.
fn own_load_key(visit: &Visit, path: &(String, String, String)) -> Result<(FeedKey, i64), Refusal> {
    own_feed_key(visit, &path.0, &path.1)?;
    load_key(visit, path)
}

/// The load that a path names.
fn load_key(visit: &Visit, path: &(String, String, String)) -> Result<(FeedKey, i64), Refusal> {
    let (seller, namespace, task_id) = path;
    let key = feed_key(visit, seller, namespace)?;
    let none = |_| visit.refused(web::Problem::not_found(format!("there is no load {task_id:?}")));
    Ok((key, task_id.parse().map_err(none)?))
}
