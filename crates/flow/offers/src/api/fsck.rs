//! The check of lists, lengths and counters, for those who run an installation.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::{Access, Result};

use crate::Offers;
use crate::fsck::{self, Mode, Scope};

pub fn routes() -> OpenApiRouter<Offers> {
    OpenApiRouter::new().routes(routes!(check))
}

/// What to check.
#[derive(Clone, Debug, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FsckRequest {
    /// One seller; all of them if left out.
    pub seller: Option<String>,
    /// Only says what is wrong.
    pub dry_run: bool,
}

/// What was found.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FsckAnswer {
    /// Nothing was wrong.
    pub clean: bool,
    pub sellers: u64,
    pub offers: u64,
    pub wrong_rows: u64,
    pub wrong_numbers: u64,
    pub repaired: bool,
    /// In sentences for people, a line for each finding.
    pub text: String,
}

/// Finds lists, lengths and counters that do not agree with the offers, and repairs them while writes go on.
#[utoipa::path(post, path = "/v1/admin/fsck", tag = "admin", request_body = FsckRequest, responses(
    (status = 200, body = FsckAnswer),
    (status = 403, description = "The token does not allow this", body = web::ProblemBody, content_type = "application/problem+json"),
))]
async fn check(
    State(offers): State<Offers>,
    access: Access,
    headers: HeaderMap,
    Json(request): Json<FsckRequest>,
) -> Result<Json<FsckAnswer>> {
    access.require_admin()?;
    let scope = request.seller.map_or(Scope::Everything, Scope::Seller);
    let mode = if request.dry_run { Mode::Look } else { Mode::Repair };
    let report = fsck::fsck(&offers, &scope, mode).await;
    let report = report.map_err(|error| error.problem(web::language(&headers)))?;
    Ok(Json(FsckAnswer {
        clean: report.is_clean(),
        sellers: report.sellers,
        offers: report.offers,
        wrong_rows: report.wrong_rows,
        wrong_numbers: report.wrong_numbers,
        repaired: report.repaired,
        text: report.to_string(),
    }))
}
