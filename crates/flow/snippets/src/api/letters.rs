//! Letters over HTTP: list, look, try again, throw away.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use web::{Access, Page, Problem, Result, limit};

use crate::letters::{Letter, LetterId};
use crate::snippets::Snippets;

const USUAL: usize = 100;
const MOST: usize = 1_000;

pub(super) fn routes() -> Router<Snippets> {
    Router::new()
        .route("/-/dead-letters", get(list))
        .route("/-/dead-letters/{id}", axum::routing::delete(discard))
        .route("/-/dead-letters/{id}/retry", post(retry))
}

#[derive(Serialize)]
struct Item {
    id: String,
    #[serde(flatten)]
    letter: Letter,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    limit: Option<usize>,
    cursor: Option<String>,
}

async fn list(
    State(snippets): State<Snippets>,
    access: Access,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Item>>> {
    access.require_service()?;
    let limit = limit(query.limit, USUAL, MOST)?;
    let after = query.cursor.as_deref().map(parse_id).transpose()?;
    let letters = snippets.letters(after.as_ref(), limit).await?;
    let next_cursor = letters.last().filter(|_| letters.len() == limit).map(|letter| write_id(&letter.id));
    let items = letters.into_iter().map(|letter| Item { id: write_id(&letter.id), letter }).collect();
    Ok(Json(Page { items, next_cursor }))
}

async fn retry(
    State(snippets): State<Snippets>,
    access: Access,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    access.require_service()?;
    snippets.retry_letter(&parse_id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn discard(
    State(snippets): State<Snippets>,
    access: Access,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    access.require_service()?;
    if snippets.drop_letter(&parse_id(&id)?).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Problem::not_found("there is no such letter"))
    }
}

pub(crate) fn write_id(id: &LetterId) -> String {
    let parts = serde_json::json!([id.key, id.topic, id.partition, id.offset, id.section]);
    BASE64_URL_SAFE_NO_PAD.encode(parts.to_string())
}

pub(crate) fn parse_id(text: &str) -> Result<LetterId> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok();
    let parts = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    match parts {
        Some((key, topic, partition, offset, section)) => {
            Ok(LetterId { key, topic, partition, offset, section })
        }
        None => Err(Problem::field("id", "bad_id", "this is not an id that the list of letters gave")),
    }
}
