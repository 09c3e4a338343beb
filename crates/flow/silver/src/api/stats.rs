use axum::Json;
use axum::extract::{Query, State};
use cluster::tally::KEPT_HOURS;
use kit::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use web::{Access, Result, within};

use crate::Silver;
use crate::stats::OutcomeStats;

#[derive(Serialize, ToSchema)]
pub(super) struct ImportStats {
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    /// In the order of the steps, the most frequent outcome first.
    steps: Vec<OutcomeItem>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct OutcomeItem {
    #[schema(example = "detect")]
    step: String,
    #[schema(example = "changed")]
    outcome: String,
    offers: u64,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Window {
    /// How far to look back; 24 if left out, 47 at most.
    #[param(minimum = 1, maximum = 47)]
    hours: Option<usize>,
}

/// How many offers each step of the import had, and what became of them, over all processes.
#[utoipa::path(get, path = "/v1/silver/stats", tag = "silver", params(Window),
    responses((status = 200, body = ImportStats)))]
pub(super) async fn stats(
    State(silver): State<Silver>,
    access: Access,
    Query(window): Query<Window>,
) -> Result<Json<ImportStats>> {
    access.require_service()?;
    let hours = within("hours", window.hours, 24, KEPT_HOURS as usize - 1)?;
    let stats = silver.stats(hours as i64).await?;
    let item = |OutcomeStats { step, outcome, offers }: OutcomeStats| OutcomeItem { step, outcome, offers };
    Ok(Json(ImportStats { since: stats.since, steps: stats.steps.into_iter().map(item).collect() }))
}
