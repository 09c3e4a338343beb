//! What others say of an offer, and what has happened to it.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use kit::Timestamp;
use model::OfferId;
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::{Page, Problem, Result, limit};
use wire::offers::Opinion;
use wire::offers::opinion::Verdict;

use super::{Body, Call, OfferJson, Reading, Writing};
use crate::api::json::EventJson;
use crate::moderation::{self, Effect};
use crate::{Error, Offers};

const USUAL_EVENTS: usize = 50;
const MOST_EVENTS: usize = 500;

pub(super) fn routes() -> OpenApiRouter<Offers> {
    OpenApiRouter::new().routes(routes!(opine)).routes(routes!(events))
}

/// A moderator's opinion.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct NewOpinion {
    opinion: VerdictJson,
    #[serde(default)]
    #[schema(max_items = 32)]
    reasons: Vec<String>,
    /// What the seller is told.
    #[serde(default)]
    text: String,
    /// When it was formed; now, if left out. An older opinion never overrides a newer one.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    timestamp: Option<Timestamp>,
    /// Who formed it; the token's name, if left out.
    #[serde(default)]
    moderator: Option<String>,
}

#[derive(Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum VerdictJson {
    Ban,
    Unban,
}

/// What became of an opinion.
#[derive(Serialize, utoipa::ToSchema)]
struct OpinionAnswer {
    /// `applied`; `older`: a newer one was there first; `early`: it waits for the offer.
    effect: &'static str,
    /// As it is now.
    offer: Option<OfferJson>,
}

/// Bans an offer or lifts its ban. Needs the scope service.
#[utoipa::path(post, path = "/v1/offers/{id}/opinions", tag = "offers", request_body = NewOpinion, responses(
    (status = 200, body = OpinionAnswer),
    (status = 202, body = OpinionAnswer, description = "The offer is not known yet; the opinion waits for it"),
    Writing,
))]
async fn opine(
    State(offers): State<Offers>,
    call: Call,
    Path(id): Path<String>,
    Body(new): Body<NewOpinion>,
) -> Result<(StatusCode, Json<OpinionAnswer>)> {
    call.access.require_service()?;
    let id: OfferId = id.parse().map_err(|error| call.problem(Error::BadId(error)))?;
    let verdict = match new.opinion {
        VerdictJson::Ban => Verdict::Ban,
        VerdictJson::Unban => Verdict::Unban,
    };
    let opinion = Opinion {
        offer_id: id.to_string(),
        verdict: verdict.into(),
        reasons: new.reasons,
        text: new.text,
        timestamp: new.timestamp.unwrap_or_else(|| offers.clock.now()).0,
        moderator: new.moderator.unwrap_or_else(|| call.access.who().to_owned()),
    };
    moderation::check(&opinion).map_err(|detail| Problem::field("opinion", "invalid", detail))?;
    let effect = offers.opine(id, &opinion).await.map_err(|error| call.problem(error))?;
    let (status, effect, offer) = match effect {
        Effect::Applied(offer) => (StatusCode::OK, "applied", Some(call.show(&offers, &offer))),
        Effect::Older => (StatusCode::OK, "older", None),
        Effect::Early => (StatusCode::ACCEPTED, "early", None),
    };
    Ok((status, Json(OpinionAnswer { effect, offer })))
}

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct EventsQuery {
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
    /// `next_cursor` of the part before.
    cursor: Option<String>,
}

/// What has happened to an offer, newest first; kept for 90 days unless set otherwise.
#[utoipa::path(get, path = "/v1/offers/{id}/events", tag = "offers", params(EventsQuery), responses(
    (status = 200, body = Page<EventJson>),
    Reading,
))]
async fn events(
    State(offers): State<Offers>,
    call: Call,
    Path(id): Path<String>,
    Query(query): Query<EventsQuery>,
) -> Result<Json<Page<EventJson>>> {
    let (id, _) = call.offer(&offers, &id).await?;
    let limit = limit(query.limit, USUAL_EVENTS, MOST_EVENTS)?;
    let below = query.cursor.as_deref().map(|cursor| {
        let bad = || Problem::field("cursor", "bad_cursor", "this is not a cursor that this list gave");
        cursor.parse().ok().filter(|version: &i64| *version > 0).ok_or_else(bad)
    });
    let events = offers.events(id, below.transpose()?, limit).await.map_err(|error| call.problem(error))?;
    let last = events.last().map_or(1, |event| event.version);
    let next_cursor = (events.len() == limit && last > 1).then(|| last.to_string());
    Ok(Json(Page { items: events.into_iter().map(EventJson::of).collect(), next_cursor }))
}
