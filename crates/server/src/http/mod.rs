//! The HTTP port: one router, of which `/openapi.json` is generated, inside one frame and behind one door.

mod admin;
mod frame;
mod health;
mod index;
mod listen;
mod openapi;
mod request_id;
mod snippets;
mod topics;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::header;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

pub use admin::{BackupItem, BackupState, Backups, CreatedToken, MemberItem, NewBackup, Row, TableInfo};
pub use admin::{DropSnippet, Dropped};
pub use frame::frame;
pub use listen::{bind, serve};
pub use snippets::snippets_router;

pub use topics::{
    Encoding, GroupItem, NewRecord, Publish, Published, RecordItem, Rewind, RewindTo, TopicItem,
};

use crate::access::{Door, guard_http};
use crate::app::App;
use crate::demo;
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
        (name = "photos", description = "Photos of offers"),
        (name = "demo", description = "The sample sellers of `dvor demo`"),
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
    } else {
        always
    };
    let routes = if config.demo { routes.merge(demo::routes()) } else { routes };
    routes.split_for_parts()
}

/// Flow crates have a state of their own.
fn photo_routes(app: &App) -> OpenApiRouter<App> {
    photos::api::http::routes(app.config.photos.max_bytes).with_state(app.photos.clone())
}

pub fn router(door: Door) -> Router {
    let (routes, mut api) = routes(&door.app);
    openapi::complete(&mut api);
    let description: Arc<str> = api.to_pretty_json().unwrap_or_default().into();
    let serve_description = move || {
        let text = description.to_string();
        async move { ([(header::CONTENT_TYPE, "application/json")], text) }
    };
    let app = door.app.clone();
    routes
        .route("/", get(index::page))
        .route("/openapi.json", get(serve_description))
        .fallback(async || Problem::not_found("there is nothing at this address; / says what is where"))
        .method_not_allowed_fallback(async || {
            Problem::new(Code::MethodNotAllowed, "the header Allow says which methods this address takes")
        })
        .with_state(app.clone())
        .layer(DefaultBodyLimit::max(app.config.limits.body_bytes))
        .layer(from_fn_with_state(door, guard_http))
        .layer(from_fn_with_state(app, frame))
}
