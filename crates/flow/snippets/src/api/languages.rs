//! `GET /-/languages?name=…&key=…`: which documents a key has under a name.

use axum::extract::{Query, State};
use axum::routing::get;
use axum::{Json, Router};
use kit::Timestamp;
use serde::{Deserialize, Serialize};
use web::{Access, Page, Result};

use crate::snippets::Snippets;

pub(super) fn routes() -> Router<Snippets> {
    Router::new().route("/-/languages", get(list))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    name: String,
    key: String,
}

#[derive(Serialize)]
struct Item {
    /// The snippet's absolute name: a group has several.
    name: String,
    /// None: a document without a language.
    lang: Option<String>,
    expires_at: Option<Timestamp>,
}

async fn list(
    State(snippets): State<Snippets>,
    access: Access,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Item>>> {
    access.require_service()?;
    let documents = snippets.documents(&query.name, &query.key).await?;
    let items = documents.into_iter().map(|document| Item {
        name: document.name,
        lang: Some(document.language).filter(|language| !language.is_empty()),
        expires_at: document.expires_at,
    });
    Ok(Json(Page { items: items.collect(), next_cursor: None }))
}
