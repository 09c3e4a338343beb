//! Export and erasure of everything that a seller owns.

use std::convert::Infallible;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use catalog::Catalog;
use futures::StreamExt as _;
use kit::Timestamp;
use model::Offer;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::{Access, Language, Problem, Result};
use wire::offers::Erasure;
use wire::offers::erasure::Phase;

use super::{OfferJson, Reader};
use crate::Offers;
use crate::export::OFFERS_AT_ONCE;

pub(super) fn routes() -> OpenApiRouter<Offers> {
    OpenApiRouter::new().routes(routes!(erase)).routes(routes!(erasure)).routes(routes!(export))
}

/// How far the erasure of a seller is.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct ErasureJson {
    pub seller_id: String,
    /// `offers`, `archive`, `rows` while it goes on, then `done`.
    pub state: &'static str,
    #[schema(value_type = String, format = DateTime)]
    pub asked_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub done_at: Option<Timestamp>,
    /// Taken out so far.
    pub offers: i64,
    /// Taken out of the archive so far.
    pub archived: i64,
}

impl ErasureJson {
    fn of(seller: &str, row: &Erasure) -> Self {
        let state = match row.phase() {
            Phase::Offers => "offers",
            Phase::Archive => "archive",
            Phase::Rows => "rows",
            Phase::Done => "done",
        };
        Self {
            seller_id: seller.to_owned(),
            state,
            asked_at: Timestamp(row.asked_at),
            done_at: (row.done_at != 0).then_some(Timestamp(row.done_at)),
            offers: row.offers,
            archived: row.archived,
        }
    }
}

/// Erases everything of a seller: offers, history, feeds' rows, numbers, the archive.
///
/// It goes on in the background; asking again gives its state and begins nothing anew.
#[utoipa::path(delete, path = "/v1/sellers/{seller}", tag = "sellers", responses(
    (status = 202, description = "It has begun, or goes on", body = ErasureJson),
    (status = 403, description = "The token does not allow this", body = web::ProblemBody, content_type = "application/problem+json"),
    (status = 422, description = "The text names no seller", body = web::ProblemBody, content_type = "application/problem+json"),
))]
async fn erase(
    State(offers): State<Offers>,
    access: Access,
    headers: HeaderMap,
    Path(seller): Path<String>,
) -> Result<(StatusCode, Json<ErasureJson>)> {
    require(&access, &seller)?;
    let row =
        offers.erase(&seller, access.who()).await.map_err(|error| error.problem(web::language(&headers)))?;
    Ok((StatusCode::ACCEPTED, Json(ErasureJson::of(&seller, &row))))
}

/// The state of a seller's erasure.
#[utoipa::path(get, path = "/v1/sellers/{seller}/erasure", tag = "sellers", responses(
    (status = 200, body = ErasureJson),
    (status = 403, description = "The token does not allow this", body = web::ProblemBody, content_type = "application/problem+json"),
    (status = 404, description = "Nobody asked for it", body = web::ProblemBody, content_type = "application/problem+json"),
    (status = 422, description = "The text names no seller", body = web::ProblemBody, content_type = "application/problem+json"),
))]
async fn erasure(
    State(offers): State<Offers>,
    access: Access,
    headers: HeaderMap,
    Path(seller): Path<String>,
) -> Result<Json<ErasureJson>> {
    require(&access, &seller)?;
    let row = offers.erasure(&seller).await.map_err(|error| error.problem(web::language(&headers)))?;
    let row = row.ok_or_else(|| Problem::not_found(format!("nobody asked to erase the seller {seller}")))?;
    Ok(Json(ErasureJson::of(&seller, &row)))
}

/// All offers of a seller as `GET /v1/offers/{id}` gives them, deleted and archived ones too, one per line.
///
/// Lines with `business_id` are what is kept of them as master data: the shop's part of the united offer, of the silver
/// record and of gold.
///
/// A line `{"error": …}` at the end says that the rest could not be read.
#[utoipa::path(get, path = "/v1/sellers/{seller}/export", tag = "sellers", responses(
    (status = 200, description = "JSON Lines", body = String, content_type = "application/x-ndjson"),
    (status = 403, description = "The token does not allow this", body = web::ProblemBody, content_type = "application/problem+json"),
    (status = 422, description = "The text names no seller", body = web::ProblemBody, content_type = "application/problem+json"),
))]
async fn export(
    State(offers): State<Offers>,
    access: Access,
    headers: HeaderMap,
    Path(seller): Path<String>,
) -> Result<Response> {
    require(&access, &seller)?;
    let (catalog, language) = (offers.catalog.clone(), web::language(&headers));
    let pages = offers.export(&seller).chunks(OFFERS_AT_ONCE);
    let lines = pages.then(move |page| {
        let (offers, seller, catalog) = (offers.clone(), seller.clone(), catalog.clone());
        async move { Ok::<_, Infallible>(lines(&offers, &seller, &catalog, language, page).await) }
    });
    let kind = [(header::CONTENT_TYPE, "application/x-ndjson")];
    Ok((kind, Body::from_stream(lines)).into_response())
}

/// A page of offers, and what others keep of them.
async fn lines(
    offers: &Offers,
    seller: &str,
    catalog: &Catalog,
    language: Language,
    page: Vec<crate::Result<Offer>>,
) -> Bytes {
    let mut lines = Vec::new();
    let mut exported = Vec::new();
    for offer in page {
        match offer {
            Ok(offer) => {
                line(&mut lines, &OfferJson::of(&offer, Reader { catalog, language }));
                exported.push(offer);
            }
            Err(error) => line(&mut lines, &serde_json::json!({ "error": error.to_string() })),
        }
    }
    match offers.kept_by_others(seller, &exported).await {
        Ok(kept) => kept.iter().for_each(|kept| line(&mut lines, kept)),
        Err(error) => line(&mut lines, &serde_json::json!({ "error": error })),
    }
    lines.into()
}

fn line(lines: &mut Vec<u8>, value: &impl Serialize) {
    // Plain fields become JSON without fail.
    lines.extend(serde_json::to_vec(value).unwrap_or_default());
    lines.push(b'\n');
}

fn require(access: &Access, seller: &str) -> Result<()> {
    model::names::check_seller(seller)
        .map_err(|error| Problem::field("seller", "bad_seller", error.to_string()))?;
    access.require_seller(seller)
}
