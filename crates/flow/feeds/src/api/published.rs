use axum::http::header;
use axum::response::IntoResponse;

use crate::{EXAMPLE, SCHEMA};

const XML: [(header::HeaderName, &str); 1] = [(header::CONTENT_TYPE, "application/xml")];

/// The schema of the own feed format.
#[utoipa::path(get, path = "/v1/feed.xsd", tag = "feeds",
    responses((status = 200, body = String, content_type = "application/xml")))]
pub(super) async fn schema() -> impl IntoResponse {
    (XML, SCHEMA)
}

/// A feed in the own format, as an example.
#[utoipa::path(get, path = "/v1/feed-example.xml", tag = "feeds",
    responses((status = 200, body = String, content_type = "application/xml")))]
pub(super) async fn example() -> impl IntoResponse {
    (XML, EXAMPLE)
}
