//! The check of what the stages keep, for those who run an installation.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use store::Shard;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::{Access, Result};

use super::http::problem;
use crate::{Stages, check_shard};

/// Findings that are told.
const MAX_FINDINGS: usize = 1_000;

pub(super) fn routes() -> OpenApiRouter<Stages> {
    OpenApiRouter::new().routes(routes!(check))
}

/// What to check.
#[derive(Clone, Debug, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StagesFsckRequest {
    /// Only the shard of this seller; all of them if left out.
    pub seller: Option<String>,
}

/// What was found.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct StagesFsckAnswer {
    /// Nothing was wrong.
    pub clean: bool,
    pub shards: usize,
    /// In sentences for people.
    pub findings: Vec<String>,
}

/// Finds queues, timers, parked offers, calls and counts that do not agree with the pairs of offers and stages.
#[utoipa::path(post, path = "/v1/admin/fsck/stages", tag = "admin", request_body = StagesFsckRequest, responses(
    (status = 200, body = StagesFsckAnswer),
    (status = 403, description = "The token does not allow this", body = web::ProblemBody, content_type = "application/problem+json"),
))]
async fn check(
    State(stages): State<Stages>,
    access: Access,
    Json(request): Json<StagesFsckRequest>,
) -> Result<Json<StagesFsckAnswer>> {
    access.require_admin()?;
    let shards: Vec<_> = match &request.seller {
        Some(seller) => vec![Shard::of(seller)],
        None => Shard::all().collect(),
    };
    let mut findings = Vec::new();
    for shard in &shards {
        let wrong = check_shard(&stages.offers.store, *shard).await.map_err(problem)?;
        findings.extend(wrong.into_iter().map(|finding| format!("shard {}: {finding}", shard.number())));
        if findings.len() >= MAX_FINDINGS {
            findings.truncate(MAX_FINDINGS);
            break;
        }
    }
    Ok(Json(StagesFsckAnswer { clean: findings.is_empty(), shards: shards.len(), findings }))
}
