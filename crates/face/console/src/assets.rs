//! The files that pages load, out of the binary. Their address holds their hash, so a browser may keep them for ever.

use axum::Router;
use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use crate::Console;

const FILES: [(&str, &str, &str); 3] = [
    ("console.css", "text/css; charset=utf-8", include_str!("../static/console.css")),
    ("console.js", "text/javascript; charset=utf-8", include_str!("../static/console.js")),
    ("icon.svg", "image/svg+xml", include_str!("../static/icon.svg")),
];

pub(crate) fn routes() -> Router<Console> {
    Router::new().route("/console/static/{hash}/{file}", get(serve))
}

/// The address of a file as it is now.
pub(crate) fn address(file: &str) -> String {
    let content = FILES.iter().find(|(name, ..)| *name == file).map_or("", |(.., content)| content);
    let hash = blake3::hash(content.as_bytes()).to_hex();
    format!("{}/static/{}/{file}", crate::PREFIX, &hash[..12])
}

async fn serve(Path((hash, file)): Path<(String, String)>) -> Response {
    let found = FILES.iter().find(|(name, ..)| *name == file);
    let Some((_, kind, content)) = found else { return StatusCode::NOT_FOUND.into_response() };
    // An older page asks for an older file, which is gone; what it gets must not stay under that name.
    let is_current = blake3::hash(content.as_bytes()).to_hex().starts_with(hash.as_str()) && hash.len() == 12;
    let caching = if is_current { "public, max-age=31536000, immutable" } else { "no-cache" };
    ([(header::CONTENT_TYPE, *kind), (header::CACHE_CONTROL, caching)], *content).into_response()
}
