use axum::extract::Query;
use axum::http::header;
use axum::response::IntoResponse;
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::{Access, Problem, Result};

use crate::app::App;

const MOST_BYTES: usize = 1 << 20;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(constant))
}

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
struct ConstantQuery {
    /// The size of the answer.
    #[param(maximum = 1_048_576)]
    bytes: usize,
}

/// An answer of a given size that needs no data: what the port, its frame and its door cost by themselves.
#[utoipa::path(get, path = "/constant", tag = "admin", params(ConstantQuery), responses(
    (status = 200, content_type = "application/json", body = String),
))]
async fn constant(access: Access, Query(query): Query<ConstantQuery>) -> Result<impl IntoResponse> {
    access.require_admin()?;
    if query.bytes > MOST_BYTES {
        return Err(Problem::field("bytes", "out_of_range", format!("at most {MOST_BYTES}")));
    }
    let body = format!("\"{}\"", "x".repeat(query.bytes.saturating_sub(2)));
    Ok(([(header::CONTENT_TYPE, "application/json")], body))
}
