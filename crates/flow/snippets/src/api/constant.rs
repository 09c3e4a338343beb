//! `GET /-/constant`: what the port costs without any snippet, for measurements.

use axum::Router;
use axum::extract::Query;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use serde::Deserialize;
use web::{Access, Problem, Result};

use crate::snippets::Snippets;

const MAX_BYTES: usize = 1 << 20;

pub(super) fn routes() -> Router<Snippets> {
    Router::new().route("/-/constant", get(constant))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConstantQuery {
    bytes: usize,
}

/// An answer of a given size that needs no data.
async fn constant(access: Access, Query(query): Query<ConstantQuery>) -> Result<impl IntoResponse> {
    access.require_service()?;
    if query.bytes > MAX_BYTES {
        return Err(Problem::field("bytes", "out_of_range", format!("at most {MAX_BYTES}")));
    }
    let body = format!("\"{}\"", "x".repeat(query.bytes.saturating_sub(2)));
    Ok(([(header::CONTENT_TYPE, "application/json")], body))
}
