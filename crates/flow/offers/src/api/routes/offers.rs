//! Make, read, change, look up.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use model::OfferId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::{Code, FieldError, Problem, Result};

use super::{Body, Call, IdempotencyKey, Reading, Writing, etag, idempotency_key, if_match, require_seller};
use crate::api::json::{ContentJson, OfferJson, patched};
use crate::changes::printed;
use crate::write::by_api;
use crate::{Error, Offers, read, validate};

const MOST_LOOKED_UP: usize = 500;

pub(super) fn routes() -> OpenApiRouter<Offers> {
    OpenApiRouter::new().routes(routes!(create)).routes(routes!(lookup)).routes(routes!(show, change))
}

/// An offer to publish.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "describes the body, which is read in two steps")]
struct NewOffer {
    seller_id: String,
    #[schema(inline)]
    #[serde(flatten)]
    content: ContentJson,
}

/// Publishes an offer.
///
/// With an `Idempotency-Key` a repeat within 24 hours gives the same offer.
#[utoipa::path(post, path = "/v1/offers", tag = "offers", request_body = NewOffer, params(IdempotencyKey), responses(
    (status = 201, body = OfferJson, headers(("etag" = String), ("location" = String))),
    Writing,
))]
async fn create(
    State(offers): State<Offers>,
    call: Call,
    headers: HeaderMap,
    Body(mut body): Body<Map<String, Value>>,
) -> Result<Response> {
    let asked = serde_json::to_vec(&body).unwrap_or_default();
    let key = idempotency_key(&headers, "create", &asked).map_err(|error| call.problem(error))?;
    let seller = seller_of(&mut body)?;
    require_seller(&call.access, "seller_id", &seller)?;
    let content = ContentJson::parse(body)?;
    let content = content.write().map_err(|issues| call.problem(Error::Invalid(issues)))?;
    let content = validate::settle(&offers.catalog, content);
    validate::require(&offers.catalog, &content).map_err(|error| call.problem(error))?;
    let actor = by_api(call.access.who(), "create");
    let created = match &key {
        Some(key) => offers.create_once(&seller, content, &actor, key).await,
        None => offers.create(&seller, content, &actor).await,
    };
    let offer = created.map_err(|error| call.problem(error))?;
    let location = [(header::LOCATION, format!("/v1/offers/{}", printed(offer.id)))];
    let body = Json(call.show(&offers, &offer));
    Ok((StatusCode::CREATED, etag(offer.version), location, body).into_response())
}

fn seller_of(body: &mut Map<String, Value>) -> Result<String> {
    match body.remove("seller_id") {
        Some(Value::String(seller)) => Ok(seller),
        Some(_) => Err(Problem::field("seller_id", "wrong_type", "seller_id is a text")),
        None => Err(Problem::field("seller_id", "required", "seller_id is missing")),
    }
}

/// An offer, in whatever state it is.
#[utoipa::path(get, path = "/v1/offers/{id}", tag = "offers", responses(
    (status = 200, body = OfferJson, headers(("etag" = String))),
    Reading,
))]
async fn show(State(offers): State<Offers>, call: Call, Path(id): Path<String>) -> Result<Response> {
    let (_, offer) = call.offer(&offers, &id).await?;
    Ok((etag(offer.version), Json(call.show(&offers, &offer))).into_response())
}

/// Changes what the seller wrote, by a JSON merge patch: null takes a field away, a list replaces a list.
///
/// `If-Match` has the ETag of the version that is changed; `*` changes whatever is there.
#[utoipa::path(patch, path = "/v1/offers/{id}", tag = "offers", request_body = ContentJson,
    params(("If-Match" = Option<String>, Header, description = "The ETag, or *")),
    responses(
        (status = 200, body = OfferJson, headers(("etag" = String))),
        (status = 428, description = "If-Match is missing", body = web::ProblemBody, content_type = "application/problem+json"),
        Writing,
    ))]
async fn change(
    State(offers): State<Offers>,
    call: Call,
    Path(id): Path<String>,
    headers: HeaderMap,
    Body(patch): Body<Map<String, Value>>,
) -> Result<Response> {
    let (id, _) = call.offer(&offers, &id).await?;
    let Some(expected) = if_match(&headers)? else {
        let detail = "send the header If-Match with the ETag of the offer you read, or * to force the change";
        return Err(Problem::new(Code::PreconditionRequired, detail));
    };
    let actor = by_api(call.access.who(), "edit");
    let reader = call.reader(&offers);
    let edited = offers.edit(id, expected, &actor, |offer| {
        let before = offer.content.clone().unwrap_or_default();
        let after = patched(&before, &patch, reader)?;
        if after != before {
            validate::require(&offers.catalog, &after)?;
        }
        Ok(after)
    });
    let offer = edited.await.map_err(|error| call.problem(error))?;
    Ok((etag(offer.version), Json(call.show(&offers, &offer))).into_response())
}

/// Which offers to look up.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ids {
    /// As printed, with or without dashes.
    #[schema(max_items = 500)]
    pub(super) ids: Vec<String>,
}

impl Ids {
    /// Every broken id is told at once.
    pub(super) fn parse(&self) -> Result<Vec<OfferId>> {
        if self.ids.len() > MOST_LOOKED_UP {
            let detail = format!("{} ids, at most {MOST_LOOKED_UP} are allowed", self.ids.len());
            return Err(Problem::field("ids", "too_many", detail));
        }
        let (mut ids, mut broken) = (Vec::new(), Vec::new());
        for (place, text) in self.ids.iter().enumerate() {
            match text.parse() {
                Ok(id) => ids.push(id),
                Err(error) => broken.push(FieldError {
                    field: format!("ids.{place}"),
                    code: "bad_offer_id".to_owned(),
                    message: model::BadOfferId::to_string(&error),
                }),
            }
        }
        if broken.is_empty() { Ok(ids) } else { Err(Problem::fields(broken)) }
    }
}

/// What was found of them.
#[derive(Serialize, utoipa::ToSchema)]
struct Found {
    /// In the order of the ids, each once.
    items: Vec<OfferJson>,
    /// Ids of no offer that the caller may see.
    missing: Vec<String>,
}

/// Up to 500 offers at once, of any sellers.
#[utoipa::path(post, path = "/v1/offers/lookup", tag = "offers", request_body = Ids, responses(
    (status = 200, body = Found),
    Reading,
    (status = 413, description = "The body is too large", body = web::ProblemBody, content_type = "application/problem+json"),
    (status = 415, description = "The body is not JSON", body = web::ProblemBody, content_type = "application/problem+json"),
))]
async fn lookup(State(offers): State<Offers>, call: Call, Body(ids): Body<Ids>) -> Result<Json<Found>> {
    let ids = ids.parse()?;
    let found = read::across(&offers, &ids).await.map_err(|error| call.problem(error))?;
    let mut answer = Found { items: Vec::new(), missing: Vec::new() };
    for (id, offer) in found {
        match offer.filter(|offer| call.access.sees_seller(&offer.seller_id)) {
            Some(offer) => answer.items.push(call.show(&offers, &offer)),
            None => answer.missing.push(id.to_string()),
        }
    }
    Ok(Json(answer))
}
