use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use model::OfferId;
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::{Access, Code, Judged, Page, Problem, Result, Verdict, limit};

use super::body::{FailureItem, OfferStageItem, StageItem, StageList, TraverseRequest, cursor};
use crate::{Error, FailureState, Stages};

const USUAL_FAILURES: usize = 100;
const MAX_FAILURES: usize = 1_000;

pub fn routes() -> OpenApiRouter<Stages> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(traverse))
        .routes(routes!(failures))
        .routes(routes!(judge_all))
        .routes(routes!(judge))
        .routes(routes!(of_offer))
        .merge(super::registration::routes())
        .merge(super::fsck::routes())
}

/// What a caller is told.
pub fn problem(error: Error) -> Problem {
    match error {
        Error::NoStage(_) => Problem::not_found(error.to_string()),
        Error::Field(field, text) => Problem::field(field, "invalid", text),
        Error::Invalid(text) => Problem::new(Code::Invalid, text),
        Error::Conflict(text) => Problem::new(Code::Conflict, text),
        Error::NoLease => Problem::new(Code::Unavailable, error.to_string()),
        Error::Engine(error) => error.into(),
        Error::Offers(error) => error.problem(web::Language::English),
    }
}

/// Every stage, with what waits for it.
#[utoipa::path(get, path = "/v1/stages", tag = "stages", responses((status = 200, body = StageList)))]
async fn list(State(stages): State<Stages>, access: Access) -> Result<Json<StageList>> {
    access.require_service()?;
    let (views, now) = (stages.views(None).await.map_err(problem)?, stages.offers.clock.now());
    let items = views.iter().map(|view| StageItem::of(view, now)).collect();
    let untold = stages.untold().await.map_err(problem)?;
    let untold = untold.into_iter().map(|(lane, counted)| (lane.to_owned(), counted.rows)).collect();
    Ok(Json(StageList { items, untold }))
}

/// One stage.
#[utoipa::path(get, path = "/v1/stages/{stage}", tag = "stages", responses(
    (status = 200, body = StageItem), (status = 404, description = "There is no such stage"),
))]
async fn show(
    State(stages): State<Stages>,
    access: Access,
    Path(id): Path<String>,
) -> Result<Json<StageItem>> {
    access.require_stage(&id)?;
    one(&stages, &id).await
}

pub(super) async fn one(stages: &Stages, id: &str) -> Result<Json<StageItem>> {
    let view = stages.views(Some(id)).await.map_err(problem)?.pop();
    let view = view.ok_or_else(|| problem(Error::NoStage(id.to_owned())))?;
    Ok(Json(StageItem::of(&view, stages.offers.clock.now())))
}

/// Nothing of the stage runs from now on; what changes meanwhile is made up for when it is resumed.
#[utoipa::path(post, path = "/v1/stages/{stage}/pause", tag = "stages", responses((status = 200, body = StageItem)))]
async fn pause(
    State(stages): State<Stages>,
    access: Access,
    Path(id): Path<String>,
) -> Result<Json<StageItem>> {
    access.require_admin()?;
    stages.pause(&id).await.map_err(problem)?;
    one(&stages, &id).await
}

/// Goes on with what waits, and walks over what changed meanwhile.
#[utoipa::path(post, path = "/v1/stages/{stage}/resume", tag = "stages", responses((status = 200, body = StageItem)))]
async fn resume(
    State(stages): State<Stages>,
    access: Access,
    Path(id): Path<String>,
) -> Result<Json<StageItem>> {
    access.require_admin()?;
    stages.resume(&id).await.map_err(problem)?;
    one(&stages, &id).await
}

/// Walks over all offers, asking the stage about each; or lets a walk that is under way rest or go on.
#[utoipa::path(
    post, path = "/v1/stages/{stage}/traverse", tag = "stages", request_body = TraverseRequest,
    responses((status = 200, body = StageItem))
)]
async fn traverse(
    State(stages): State<Stages>,
    access: Access,
    Path(id): Path<String>,
    Json(request): Json<TraverseRequest>,
) -> Result<Json<StageItem>> {
    access.require_admin()?;
    match request.pause {
        None => stages.traverse(&id, request.offers_per_second).await,
        Some(true) => stages.pause_walk(&id).await,
        Some(false) => stages.resume_walk(&id).await,
    }
    .map_err(problem)?;
    one(&stages, &id).await
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
struct FailuresQuery {
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<usize>,
    cursor: Option<String>,
    /// `parked`: not tried any more; `failing`: tried again by themselves. `parked` if it is left out.
    state: Option<String>,
}

/// Offers that the stage failed on, in the order of their ids.
#[utoipa::path(
    get, path = "/v1/stages/{stage}/failures", tag = "stages", params(FailuresQuery),
    responses((status = 200, body = Page<FailureItem>))
)]
async fn failures(
    State(stages): State<Stages>,
    access: Access,
    Path(id): Path<String>,
    Query(query): Query<FailuresQuery>,
) -> Result<Json<Page<FailureItem>>> {
    access.require_stage(&id)?;
    let limit = limit(query.limit, USUAL_FAILURES, MAX_FAILURES)?;
    let after = query.cursor.as_deref().map(|text| offer_id("cursor", text)).transpose()?;
    let state = failure_state(query.state.as_deref())?;
    let found = stages.failures_in(&id, state, after, limit).await.map_err(problem)?;
    let next_cursor = cursor(&found, limit);
    Ok(Json(Page { items: found.into_iter().map(FailureItem::from).collect(), next_cursor }))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
struct WhichFailures {
    /// `parked` or `failing`; `parked` if it is left out.
    state: Option<String>,
}

/// Tries all that the stage has given up again (`retry`), or forgets that it failed (`drop`).
#[utoipa::path(
    post, path = "/v1/stages/{stage}/failures/{verdict}", tag = "stages", params(WhichFailures),
    responses((status = 200, body = Judged))
)]
async fn judge_all(
    State(stages): State<Stages>,
    access: Access,
    Path((id, verdict)): Path<(String, String)>,
    Query(which): Query<WhichFailures>,
) -> Result<Json<Judged>> {
    access.require_admin()?;
    let state = failure_state(which.state.as_deref())?;
    let done = stages.judge_all_in(&id, state, Verdict::parse(&verdict)?).await.map_err(problem)?;
    Ok(Json(Judged { done, failed: 0 }))
}

/// The same for one offer.
#[utoipa::path(
    post, path = "/v1/stages/{stage}/failures/{offer}/{verdict}", tag = "stages",
    responses((status = 202, description = "It is tried again"), (status = 204, description = "It is given up"))
)]
async fn judge(
    State(stages): State<Stages>,
    access: Access,
    Path((id, offer, verdict)): Path<(String, String, String)>,
) -> Result<StatusCode> {
    access.require_admin()?;
    let offer = offer_id("offer", &offer)?;
    let verdict = Verdict::parse(&verdict)?;
    if !stages.judge(&id, offer, verdict).await.map_err(problem)? {
        return Err(Problem::not_found(format!("the stage {id:?} did not fail on the offer {offer}")));
    }
    Ok(match verdict {
        Verdict::Retry => StatusCode::ACCEPTED,
        Verdict::Drop => StatusCode::NO_CONTENT,
    })
}

/// What each stage has to do with an offer, and why the offer waits for it.
#[utoipa::path(
    get, path = "/v1/offers/{id}/stages", tag = "stages",
    responses((status = 200, body = Page<OfferStageItem>), (status = 404, description = "There is no such offer"))
)]
async fn of_offer(
    State(stages): State<Stages>,
    access: Access,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Json<Page<OfferStageItem>>> {
    let language = web::language(&headers);
    let id = offer_id("offer", &id)?;
    let missing = || offers::Error::NoOffer(id).problem(language);
    let offer = stages.offers.get(id).await.map_err(|error| error.problem(language))?;
    if !access.sees_seller(&offer.seller_id) {
        return Err(missing());
    }
    let found = stages.stages_of(&offer, id).await.map_err(problem)?;
    Ok(Json(Page::whole(found.into_iter().map(OfferStageItem::from).collect())))
}

fn failure_state(name: Option<&str>) -> Result<FailureState> {
    let Some(name) = name else { return Ok(FailureState::default()) };
    FailureState::parse(name)
        .ok_or_else(|| Problem::field("state", "bad_state", "failures are parked or failing"))
}

fn offer_id(field: &str, text: &str) -> Result<OfferId> {
    text.parse().map_err(|error: model::BadOfferId| Problem::field(field, "bad_offer_id", error.to_string()))
}
