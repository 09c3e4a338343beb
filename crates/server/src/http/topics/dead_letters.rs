use async_trait::async_trait;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use kit::Timestamp;
use serde::{Deserialize, Serialize};
use topics::dead_letters::{self, DeadLetter, Filter, Id};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::RecordItem;
use crate::access::{Access, Audited, audited};
use crate::app::App;
use web::{Judge, Judged, Page, Problem, Result, Verdict, judge_each, limit};

const USUAL_LETTERS: usize = 100;
const MOST_LETTERS: usize = 1_000;

/// `…/dead-letters` is an older name of the same.
pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(judge))
        .routes(routes!(retry_all))
        .routes(routes!(drop_all))
        .route("/v1/topics/{topic}/dead-letters", get(list))
        .route("/v1/topics/{topic}/dead-letters/{id}", get(show).delete(discard))
        .route("/v1/topics/{topic}/dead-letters/{id}/retry", post(retry))
}

/// A record that could not be applied.
#[derive(Serialize, utoipa::ToSchema)]
pub struct DeadLetterItem {
    pub id: String,
    pub group: String,
    pub partition: u32,
    pub offset: i64,
    pub reason: String,
    #[schema(value_type = String, format = DateTime)]
    pub failed_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub first_failed_at: Timestamp,
    pub attempts: u32,
    pub size: u64,
}

impl From<DeadLetter> for DeadLetterItem {
    fn from(letter: DeadLetter) -> Self {
        let DeadLetter { id, reason, failed_at, first_failed_at, attempts, size } = letter;
        let text = write_id(&id);
        Self {
            id: text,
            group: id.group,
            partition: id.partition,
            offset: id.offset,
            reason,
            failed_at,
            first_failed_at,
            attempts,
            size,
        }
    }
}

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    /// This group only.
    group: Option<String>,
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<usize>,
    cursor: Option<String>,
}

/// Records of a topic that some group could not apply.
#[utoipa::path(get, path = "/v1/topics/{topic}/failures", tag = "topics", params(ListQuery), responses(
    (status = 200, body = Page<DeadLetterItem>),
))]
async fn list(
    State(app): State<App>,
    access: Access,
    Path(topic): Path<String>,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<DeadLetterItem>>> {
    access.require_service()?;
    let limit = limit(query.limit, USUAL_LETTERS, MOST_LETTERS)?;
    app.topics.describe(&topic).await?;
    let after = query.cursor.as_deref().map(|cursor| parse_id("cursor", &topic, cursor)).transpose()?;
    let letters = letters(&app, &topic, query.group, after.as_ref(), limit).await?;
    let next_cursor = letters.last().filter(|_| letters.len() == limit).map(|letter| write_id(&letter.id));
    Ok(Json(Page { items: letters.into_iter().map(DeadLetterItem::from).collect(), next_cursor }))
}

/// The letters of a topic behind one of them, of one group or of all in their order.
async fn letters(
    app: &App,
    topic: &str,
    group: Option<String>,
    after: Option<&Id>,
    limit: usize,
) -> Result<Vec<DeadLetter>> {
    let mut groups = match group {
        Some(group) => vec![group],
        None => app.topics.groups(topic).await?,
    };
    groups.sort();
    let mut letters = Vec::new();
    for group in groups {
        let after = match after {
            Some(after) if group < after.group => continue,
            Some(after) if group == after.group => Some(after),
            _ => None,
        };
        let left = limit - letters.len();
        if left > 0 {
            let filter = Filter { group: Some(group), topic: Some(topic.to_owned()) };
            letters.extend(dead_letters::list(&app.topics, &filter, after, left).await?);
        }
    }
    Ok(letters)
}

/// The record of a dead letter.
#[utoipa::path(get, path = "/v1/topics/{topic}/failures/{id}", tag = "topics", responses(
    (status = 200, body = RecordItem),
))]
async fn show(
    State(app): State<App>,
    access: Access,
    Path((topic, id)): Path<(String, String)>,
) -> Result<Json<RecordItem>> {
    access.require_service()?;
    let id = parse_id("id", &topic, &id)?;
    let record = dead_letters::record(&app.topics, &id).await?.ok_or_else(missing)?;
    Ok(Json(RecordItem::new(&topic, record, None)))
}

/// Has a dead letter tried once more (`retry`, 202: by whoever reads its partition), or throws it away (`drop`, 204).
#[utoipa::path(post, path = "/v1/topics/{topic}/failures/{id}/{verdict}", tag = "topics", responses(
    (status = 202), (status = 204),
))]
async fn judge(
    app: State<App>,
    access: Access,
    Path((topic, id, verdict)): Path<(String, String, String)>,
) -> Result<StatusCode> {
    match Verdict::parse(&verdict)? {
        Verdict::Retry => retry(app, access, Path((topic, id))).await,
        Verdict::Drop => discard(app, access, Path((topic, id))).await,
    }
}

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
struct Which {
    /// This group only.
    group: Option<String>,
    /// Only those whose reason has this in it.
    reason: Option<String>,
}

/// Has all dead letters of a topic tried once more, or those of a group or with a reason.
#[utoipa::path(post, path = "/v1/topics/{topic}/failures/retry", tag = "topics", params(Which), responses(
    (status = 200, body = Judged),
))]
async fn retry_all(
    State(app): State<App>,
    access: Access,
    Path(topic): Path<String>,
    Query(which): Query<Which>,
) -> Result<Json<Judged>> {
    judge_all(&app, &access, &topic, &which, Verdict::Retry).await
}

/// Throws all dead letters of a topic away, or those of a group or with a reason.
#[utoipa::path(post, path = "/v1/topics/{topic}/failures/drop", tag = "topics", params(Which), responses(
    (status = 200, body = Judged),
))]
async fn drop_all(
    State(app): State<App>,
    access: Access,
    Path(topic): Path<String>,
    Query(which): Query<Which>,
) -> Result<Json<Judged>> {
    judge_all(&app, &access, &topic, &which, Verdict::Drop).await
}

async fn judge_all(
    app: &App,
    access: &Access,
    topic: &str,
    which: &Which,
    verdict: Verdict,
) -> Result<Json<Judged>> {
    access.require_admin()?;
    app.topics.describe(topic).await?;
    let what = format!("dead_letter.{}", verdict.name());
    let whom = format!("{topic} {}", which.group.as_deref().unwrap_or("all groups"));
    audited(&app.store, &app.clock, access, &Audited { what: &what, whom: &whom }).await?;
    Ok(Json(judge_each(&Judging { app, topic, which, verdict }).await?))
}

struct Judging<'a> {
    app: &'a App,
    topic: &'a str,
    which: &'a Which,
    verdict: Verdict,
}

#[async_trait]
impl Judge for Judging<'_> {
    type Failure = DeadLetter;
    type Error = Problem;

    async fn list(&self, after: Option<&DeadLetter>) -> Result<Vec<DeadLetter>> {
        let (group, after) = (self.which.group.clone(), after.map(|letter| &letter.id));
        letters(self.app, self.topic, group, after, MOST_LETTERS).await
    }

    async fn judge(&self, letter: &DeadLetter) -> Result<Option<bool>> {
        if self.which.reason.as_ref().is_some_and(|reason| !letter.reason.contains(reason.as_str())) {
            return Ok(None);
        }
        // One that is gone by now was dealt with by somebody else.
        let was_there = match self.verdict {
            Verdict::Retry => dead_letters::retry(&self.app.topics, &letter.id).await?,
            Verdict::Drop => dead_letters::drop(&self.app.topics, &letter.id).await?,
        };
        Ok(was_there.then_some(true))
    }
}

async fn retry(
    State(app): State<App>,
    access: Access,
    Path((topic, id)): Path<(String, String)>,
) -> Result<StatusCode> {
    let id = act(&app, &access, &topic, &id, "dead_letter.retry").await?;
    if dead_letters::retry(&app.topics, &id).await? { Ok(StatusCode::ACCEPTED) } else { Err(missing()) }
}

async fn discard(
    State(app): State<App>,
    access: Access,
    Path((topic, id)): Path<(String, String)>,
) -> Result<StatusCode> {
    let id = act(&app, &access, &topic, &id, "dead_letter.drop").await?;
    if dead_letters::drop(&app.topics, &id).await? { Ok(StatusCode::NO_CONTENT) } else { Err(missing()) }
}

/// Notes an admin's act on a letter.
async fn act(app: &App, access: &Access, topic: &str, id: &str, what: &str) -> Result<Id> {
    access.require_admin()?;
    let id = parse_id("id", topic, id)?;
    let whom = format!("{topic} {} {}/{}", id.group, id.partition, id.offset);
    audited(&app.store, &app.clock, access, &Audited { what, whom: &whom }).await?;
    Ok(id)
}

fn missing() -> Problem {
    Problem::not_found("there is no such dead letter")
}

fn write_id(id: &Id) -> String {
    web::write_id(&(&id.group, &id.incarnation, id.partition, id.offset))
}

fn parse_id(field: &str, topic: &str, text: &str) -> Result<Id> {
    let (group, incarnation, partition, offset) = web::parse_id(field, text)?;
    Ok(Id { group, topic: topic.to_owned(), incarnation, partition, offset })
}
