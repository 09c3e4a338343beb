use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use snippets::Snippets;

use super::{frame, health};
use crate::access::{Door, guard_http};

/// The snippets' port: their routes and the probes, in the same frame and behind the same door as everything else.
pub fn snippets_router(door: Door, snippets: Snippets) -> Router {
    let app = door.app.clone();
    let (probes, _) = health::routes().split_for_parts();
    snippets::api::http::routes(snippets)
        .merge(probes.with_state(app.clone()))
        .layer(DefaultBodyLimit::max(app.config.limits.body_bytes))
        .layer(from_fn_with_state(door, guard_http))
        .layer(from_fn_with_state(app, frame))
}
