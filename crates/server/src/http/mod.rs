//! The HTTP port: one router, of which `/openapi.json` is generated, inside one frame and behind one door.

mod admin;
mod bodies;
mod console;
mod crowd;
mod frame;
mod health;
mod listen;
mod openapi;
mod request_id;
mod snippets;
mod tally;
mod topics;

use std::sync::Arc;

use ::snippets::Snippets;
use axum::extract::DefaultBodyLimit;
use axum::http::header;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use axum::{Extension, Router};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

pub use admin::{BackupItem, BackupState, Backups, CreatedToken, MemberItem, NewBackup, Row, TableInfo};
pub use admin::{DropSnippet, Dropped};
pub use bodies::Bodies;
pub use frame::frame;
pub use listen::{Abandoned, bind, routed, serve};
pub use snippets::SnippetsPort;
pub use tally::Tally;

pub use topics::{
    Encoding, GroupItem, NewRecord, Publish, Published, RecordItem, Rewind, RewindTo, TopicItem,
};

use crate::access::Door;
use crate::app::App;
use crate::roles::Role;
use web::{Code, Problem, ProblemBody};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(title = "Dvor", description = "The offer platform of a marketplace."),
    components(schemas(ProblemBody)),
    tags(
        (name = "running", description = "For those who run it"),
        (name = "offers", description = "What sellers have listed"),
        (name = "drafts", description = "Offers that are not published yet"),
        (name = "sellers", description = "A seller's lists, counts and counters"),
        (name = "topics", description = "Topics, for those without Kafka"),
        (name = "feeds", description = "Feeds of sellers, their loads, and what is wrong with them"),
        (name = "stages", description = "What works on offers after they changed"),
        (name = "photos", description = "Photos of offers"),
        (name = "united", description = "Businesses' offers with a part per shop, their shops, and migrations"),
        (name = "silver", description = "Silver and gold of SSKUs, what failed, and the settings"),
        (name = "admin", description = "What the command line uses; needs the scope admin"),
    )
)]
struct Contract;

/// The routes of a process, with the description of them.
fn routes(app: &App) -> (Router<App>, OpenApi) {
    let config = &app.config;
    let always = OpenApiRouter::with_openapi(Contract::openapi())
        .merge(health::routes())
        .nest("/v1/admin", admin::routes());
    let routes = if config.roles.has(Role::Api) {
        always
            .merge(topics::routes())
            .merge(photo_routes(app))
            .merge(feeds::api::routes().with_state(app.feeds.clone()))
            .merge(offers::api::routes().with_state(app.offers.clone()))
            .merge(stages::api::routes().with_state(app.stages.clone()))
            .merge(united::api::routes().with_state(app.united.clone()))
            .merge(silver::api::routes().with_state(app.silver.clone()))
    } else {
        always
    };
    routes.split_for_parts()
}

/// Flow crates have a state of their own.
fn photo_routes(app: &App) -> OpenApiRouter<App> {
    photos::api::routes(app.config.photos.max_bytes).with_state(app.photos.clone())
}

/// Everything of the HTTP port. The console shows the snippets of this process, if it has their role.
pub fn router(door: Door, snippets: Option<Snippets>) -> Router {
    let (routes, mut api) = routes(&door.app);
    openapi::complete(&mut api);
    let description: Arc<str> = api.to_pretty_json().unwrap_or_default().into();
    let serve_description = move || {
        let text = description.to_string();
        async move { ([(header::CONTENT_TYPE, "application/json")], text) }
    };
    let app = door.app.clone();
    let pages =
        if app.config.roles.has(Role::Api) { console::routes(&app, snippets.clone()) } else { Router::new() };
    routes
        .route("/openapi.json", get(serve_description))
        .fallback(async || {
            Problem::not_found("there is nothing at this address; /openapi.json says what is where")
        })
        .method_not_allowed_fallback(async || {
            Problem::new(Code::MethodNotAllowed, "the header Allow says which methods this address takes")
        })
        .with_state(app.clone())
        .merge(pages)
        .layer(Extension(snippets))
        .layer(DefaultBodyLimit::max(app.config.limits.body_bytes))
        .layer(from_fn_with_state(door, frame))
}
