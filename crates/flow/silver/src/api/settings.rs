use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, header};
use serde::Deserialize;
use utoipa::IntoParams;
use web::{Access, Code, Page, Problem, Result, limit};

use crate::settings::Setting;
use crate::{Silver, settings};

/// A setting: `silver.forbidden_businesses`, `silver.dbs_mode`, `silver.dbs_business_ranges`, `gold.rules` or
/// `united.flapping_shipments_per_hour`.
#[utoipa::path(get, path = "/v1/settings/{key}", tag = "silver",
    responses((status = 200, body = Setting), (status = 404, description = "There is no such setting")))]
pub(super) async fn show(
    State(silver): State<Silver>,
    access: Access,
    Path(key): Path<String>,
) -> Result<Json<Setting>> {
    access.require_service()?;
    Ok(Json(settings::get(&silver.united.store, &key).await?))
}

/// Changes a setting; it holds everywhere within seconds. With `If-Match` only if it has that version.
#[utoipa::path(put, path = "/v1/settings/{key}", tag = "silver",
    request_body(content = Object, description = "The value"),
    responses((status = 200, body = Setting), (status = 412, description = "It was changed meanwhile"),
        (status = 422, description = "The value cannot hold; `errors` says where")))]
pub(super) async fn put(
    State(silver): State<Silver>,
    access: Access,
    Path(key): Path<String>,
    headers: HeaderMap,
    Json(value): Json<serde_json::Value>,
) -> Result<Json<Setting>> {
    access.require_admin()?;
    let store = &silver.united.store;
    settings::get(store, &key).await?;
    let (value, expected, now) = (value.to_string(), expected(&headers)?, silver.united.clock.now());
    let set = settings::set(store, &key, &value, expected, access.who(), now).await?;
    silver.read_settings().await?;
    Ok(Json(set))
}

fn expected(headers: &HeaderMap) -> Result<Option<i64>> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim().trim_matches('"');
    if text == "*" {
        return Ok(None);
    }
    let version =
        text.parse().map_err(|_| Problem::new(Code::BadRequest, "If-Match has a version such as \"3\""))?;
    Ok(Some(version))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Paging {
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
    cursor: Option<String>,
}

/// What a setting was, the newest first.
#[utoipa::path(get, path = "/v1/settings/{key}/history", tag = "silver", params(Paging),
    responses((status = 200, body = Page<Setting>), (status = 404, description = "There is no such setting")))]
pub(super) async fn history(
    State(silver): State<Silver>,
    access: Access,
    Path(key): Path<String>,
    Query(paging): Query<Paging>,
) -> Result<Json<Page<Setting>>> {
    access.require_service()?;
    let limit = limit(paging.limit, 50, 500)?;
    let below = paging.cursor.map(|cursor| {
        cursor.parse().map_err(|_| Problem::field("cursor", "bad_cursor", "this is no cursor of this list"))
    });
    let items = settings::history(&silver.united.store, &key, below.transpose()?, limit).await?;
    let next_cursor = items.last().filter(|_| items.len() == limit).map(|item| item.version.to_string());
    Ok(Json(Page { items, next_cursor }))
}
