//! The HTTP port: one router, of which `/openapi.json` is generated, inside one frame and behind one door.

mod admin;
mod frame;
mod health;
mod index;
mod listen;
mod paging;
mod request_id;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::header;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

pub use admin::{CreatedToken, Row, TableInfo};
pub use frame::frame;
pub use listen::{bind, serve};
pub use paging::Page;

use crate::access::{Door, guard_http};
use crate::app::App;
use crate::problem::{Code, Problem, ProblemBody};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(title = "Dvor", description = "The offer platform of a marketplace."),
    components(schemas(ProblemBody)),
    tags(
        (name = "running", description = "For those who run it"),
        (name = "topics", description = "Topics, for those without Kafka"),
        (name = "admin", description = "What the command line uses; needs the scope admin"),
    )
)]
struct Contract;

/// All routes, with the description of them.
fn routes() -> (Router<App>, OpenApi) {
    OpenApiRouter::with_openapi(Contract::openapi())
        .merge(health::routes())
        .nest("/v1/admin", admin::routes())
        .split_for_parts()
}

/// The description of all routes, as `/openapi.json` gives it.
pub fn openapi() -> OpenApi {
    routes().1
}

pub fn router(door: Door) -> Router {
    let (routes, api) = routes();
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
