use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use utoipa::IntoParams;
use web::{Access, Judged, Page, Problem, Result, Verdict, limit};

use super::json::{SilverFailureItem, failure};
use crate::Silver;
use crate::failures::Filter;
use crate::ssku::Key;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct FailuresQuery {
    /// Of one business; of all if left out.
    business_id: Option<u32>,
    /// Those whose reason contains this.
    reason: Option<String>,
    /// true: those that wait for a person; false: those that are tried again.
    parked: Option<bool>,
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<usize>,
    cursor: Option<String>,
}

/// What SSKUs failed with, and what must be read again.
#[utoipa::path(get, path = "/v1/silver/failures", tag = "silver", params(FailuresQuery),
    responses((status = 200, body = Page<SilverFailureItem>)))]
pub(super) async fn list(
    State(silver): State<Silver>,
    access: Access,
    Query(query): Query<FailuresQuery>,
) -> Result<Json<Page<SilverFailureItem>>> {
    access.require_service()?;
    let limit = limit(query.limit, 100, 1_000)?;
    let bad = || Problem::field("cursor", "bad_cursor", "this is no cursor of this list");
    let after = query.cursor.as_deref().map(|cursor| key(cursor).ok_or_else(bad)).transpose()?;
    let filter = Filter { business: query.business_id, reason: query.reason, parked: query.parked };
    let debts = silver.failures(&filter, after.as_ref(), limit).await?;
    let next_cursor = debts.last().filter(|_| debts.len() == limit).map(|(key, _)| key.to_string());
    let items = debts.iter().map(|(key, debt)| failure(key, debt)).collect();
    Ok(Json(Page { items, next_cursor }))
}

/// Which failures are meant; without a field all of them.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct MeantFailures {
    business_id: Option<u32>,
    /// Those whose reason contains this.
    reason: Option<String>,
    /// true: those that wait for a person; false: those that are tried again.
    parked: Option<bool>,
}

/// Reads all failures of a filter again at once (`retry`), or forgets them (`drop`).
#[utoipa::path(post, path = "/v1/silver/failures/{verdict}", tag = "silver", params(MeantFailures),
    responses((status = 200, body = Judged)))]
pub(super) async fn judge_all(
    State(silver): State<Silver>,
    access: Access,
    Path(verdict): Path<String>,
    Query(meant): Query<MeantFailures>,
) -> Result<Json<Judged>> {
    access.require_service()?;
    let MeantFailures { business_id, reason, parked } = meant;
    let filter = Filter { business: business_id, reason, parked };
    let done = silver.judge_all(&filter, Verdict::parse(&verdict)?).await?;
    Ok(Json(Judged { done, failed: 0 }))
}

/// The same for one failure, `business:sku`.
#[utoipa::path(post, path = "/v1/silver/failures/{id}/{verdict}", tag = "silver",
    responses((status = 202, description = "It is read again", body = SilverFailureItem),
        (status = 204, description = "It is forgotten"), (status = 404, description = "Nothing is owed")))]
pub(super) async fn judge(
    State(silver): State<Silver>,
    access: Access,
    Path((id, verdict)): Path<(String, String)>,
) -> Result<Response> {
    access.require_service()?;
    let verdict = Verdict::parse(&verdict)?;
    let key = key(&id).ok_or_else(|| Problem::not_found(format!("there is no failure {id:?}")))?;
    let owed = silver.judge(&key, verdict).await?;
    let owed = owed.ok_or_else(|| Problem::not_found(format!("{key} owes nothing")))?;
    Ok(match verdict {
        Verdict::Retry => (StatusCode::ACCEPTED, Json(failure(&key, &owed))).into_response(),
        Verdict::Drop => StatusCode::NO_CONTENT.into_response(),
    })
}

fn key(id: &str) -> Option<Key> {
    let (business, shop_sku) = id.split_once(':')?;
    Some(Key { business: business.parse().ok()?, shop_sku: shop_sku.to_owned() })
}
