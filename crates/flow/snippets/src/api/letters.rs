//! Letters over HTTP: list, look, try again, throw away.

use async_trait::async_trait;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use web::{Access, Judge, Judged, Page, Problem, Result, Verdict, judge_each, limit};

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
    Ok(Json(judge_each(&Judging { snippets, which, verdict }).await?))
}

struct Judging {
    snippets: Snippets,
    which: Which,
    verdict: Verdict,
}

#[async_trait]
impl Judge for Judging {
    type Failure = Letter;
    type Error = Error;

    async fn list(&self, after: Option<&Letter>) -> Result<Vec<Letter>, Error> {
        self.snippets.letters(after.map(|letter| &letter.id), MOST).await
    }

    async fn judge(&self, letter: &Letter) -> Result<Option<bool>, Error> {
        if letter.not_before.is_some() || !self.which.is_meant(letter) {
            return Ok(None);
        }
        let outcome = match self.verdict {
            Verdict::Drop => self.snippets.drop_letter(&letter.id).await.map(drop),
            Verdict::Retry => self.snippets.retry_letter(&letter.id).await,
        };
        match outcome {
            Ok(()) => Ok(Some(true)),
            Err(Error::NotFound(_)) => Ok(None),
            Err(Error::Invalid { .. } | Error::Superseded(_)) => Ok(Some(false)),
            Err(error) => Err(error),
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
    web::write_id(&(&id.key, &id.topic, id.partition, id.offset, &id.section))
}

pub(crate) fn parse_id(text: &str) -> Result<LetterId> {
    let (key, topic, partition, offset, section) = web::parse_id("id", text)?;
    Ok(LetterId { key, topic, partition, offset, section })
}
