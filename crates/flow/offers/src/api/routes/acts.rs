//! From status to status, one offer at a time.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::Result;

use super::{Body, Call, OfferJson, Writing, etag, if_match};
use crate::Offers;
use crate::write::{Expected, Verb, by_api};

pub(super) fn routes() -> OpenApiRouter<Offers> {
    OpenApiRouter::new()
        .routes(routes!(withdraw))
        .routes(routes!(activate))
        .routes(routes!(prolong))
        .routes(routes!(sell))
        .routes(routes!(delete))
}

/// Takes the offer out of sale; it can be activated again.
#[utoipa::path(post, path = "/v1/offers/{id}/withdraw", tag = "offers", responses(
    (status = 200, body = OfferJson, headers(("etag" = String))), Writing,
))]
async fn withdraw(
    offers: State<Offers>,
    call: Call,
    id: Path<String>,
    headers: HeaderMap,
) -> Result<Response> {
    act(&offers, &call, &id, &headers, Verb::Withdraw).await
}

/// Puts a withdrawn, expired or sold offer back on sale.
#[utoipa::path(post, path = "/v1/offers/{id}/activate", tag = "offers", responses(
    (status = 200, body = OfferJson, headers(("etag" = String))), Writing,
))]
async fn activate(
    offers: State<Offers>,
    call: Call,
    id: Path<String>,
    headers: HeaderMap,
) -> Result<Response> {
    act(&offers, &call, &id, &headers, Verb::Activate).await
}

/// Lets an active or expired offer live its whole time again.
#[utoipa::path(post, path = "/v1/offers/{id}/prolong", tag = "offers", responses(
    (status = 200, body = OfferJson, headers(("etag" = String))), Writing,
))]
async fn prolong(
    offers: State<Offers>,
    call: Call,
    id: Path<String>,
    headers: HeaderMap,
) -> Result<Response> {
    act(&offers, &call, &id, &headers, Verb::Prolong).await
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct Sold {
    r#where: Where,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum Where {
    Here,
    Elsewhere,
}

/// Notes that the goods are sold.
#[utoipa::path(post, path = "/v1/offers/{id}/sell", tag = "offers", request_body = Sold, responses(
    (status = 200, body = OfferJson, headers(("etag" = String))), Writing,
))]
async fn sell(
    offers: State<Offers>,
    call: Call,
    id: Path<String>,
    headers: HeaderMap,
    Body(sold): Body<Sold>,
) -> Result<Response> {
    let verb = match sold.r#where {
        Where::Here => Verb::SellHere,
        Where::Elsewhere => Verb::SellElsewhere,
    };
    act(&offers, &call, &id, &headers, verb).await
}

/// Deletes the offer for good.
#[utoipa::path(post, path = "/v1/offers/{id}/delete", tag = "offers", responses(
    (status = 200, body = OfferJson, headers(("etag" = String))), Writing,
))]
async fn delete(offers: State<Offers>, call: Call, id: Path<String>, headers: HeaderMap) -> Result<Response> {
    act(&offers, &call, &id, &headers, Verb::Delete).await
}

/// A verb done twice changes nothing the second time; `If-Match` is heeded when it is there.
async fn act(offers: &Offers, call: &Call, id: &str, headers: &HeaderMap, verb: Verb) -> Result<Response> {
    let (id, _) = call.offer(offers, id).await?;
    let expected = if_match(headers)?.unwrap_or(Expected::Any);
    let actor = by_api(call.access.who(), verb.reason());
    let offer = offers.act(id, verb, expected, &actor).await.map_err(|error| call.problem(error))?;
    Ok((etag(offer.version), Json(call.show(offers, &offer))).into_response())
}
