//! Letters over HTTP: list, look, try again, throw away.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use web::{Access, Judged, Page, Problem, Result, Verdict, limit};

use crate::Error;
use crate::letters::{Letter, LetterId};
use crate::snippets::Snippets;

const USUAL: usize = 100;
const MOST: usize = 1_000;

/// `/-/dead-letters` is an older name of the same.
pub(super) fn routes() -> Router<Snippets> {
    Router::new()
        .route("/-/failures", get(list))
        .route("/-/failures/{verdict}", post(judge_all))
        .route("/-/failures/{id}/{verdict}", post(judge))
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

/// Tries a letter now, or throws it away.
async fn judge(
    snippets: State<Snippets>,
    access: Access,
    Path((id, verdict)): Path<(String, String)>,
) -> Result<StatusCode> {
    match Verdict::parse(&verdict)? {
        Verdict::Retry => retry(snippets, access, Path(id)).await,
        Verdict::Drop => discard(snippets, access, Path(id)).await,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    topic: Option<String>,
    section: Option<String>,
    /// Only those whose reason has this in it.
    reason: Option<String>,
}

impl Which {
    fn is_meant(&self, letter: &Letter) -> bool {
        self.topic.as_ref().is_none_or(|topic| letter.id.topic == *topic)
            && self.section.as_ref().is_none_or(|section| letter.id.section == *section)
            && self.reason.as_ref().is_none_or(|reason| letter.reason.contains(reason.as_str()))
    }
}

/// The same for all dead letters, or for some. Those that wait for another try have it anyway.
async fn judge_all(
    State(snippets): State<Snippets>,
    access: Access,
    Path(verdict): Path<String>,
    Query(which): Query<Which>,
) -> Result<Json<Judged>> {
    access.require_service()?;
    let verdict = Verdict::parse(&verdict)?;
    let (mut judged, mut after) = (Judged::default(), None);
    loop {
        let letters = snippets.letters(after.as_ref(), MOST).await?;
        let Some(last) = letters.last() else { return Ok(Json(judged)) };
        after = Some(last.id.clone());
        let dead = letters.iter().filter(|letter| letter.not_before.is_none() && which.is_meant(letter));
        for letter in dead {
            let outcome = match verdict {
                Verdict::Drop => snippets.drop_letter(&letter.id).await.map(drop),
                Verdict::Retry => snippets.retry_letter(&letter.id).await,
            };
            match outcome {
                Ok(()) => judged.done += 1,
                Err(Error::NotFound(_)) => {}
                Err(Error::Invalid { .. } | Error::Superseded(_)) => judged.failed += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }
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
