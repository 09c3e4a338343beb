use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use kit::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use web::{Access, Page, Result, limit};
use wire::united::{MigrationRequest, MigrationRow};

use crate::United;

#[derive(Serialize, ToSchema)]
pub(super) struct MigrationItem {
    request_id: String,
    source_business_id: u32,
    target_business_id: u32,
    shop_sku: String,
    /// asked, shipped or done.
    state: &'static str,
    #[schema(value_type = String, format = DateTime)]
    asked_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    done_at: Option<Timestamp>,
    /// Why nothing was moved, if nothing was.
    note: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MigrationBody {
    /// A repeat under the same id changes nothing.
    request_id: String,
    source_business_id: u32,
    target_business_id: u32,
    shop_sku: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Paging {
    /// The target.
    business_id: u32,
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<usize>,
    cursor: Option<String>,
}

fn item(target: u32, request_id: String, row: MigrationRow) -> MigrationItem {
    let state = crate::migrations::state_name(row.state());
    MigrationItem {
        request_id,
        source_business_id: row.source_business_id,
        target_business_id: target,
        shop_sku: row.shop_sku,
        state,
        asked_at: Timestamp(row.asked_at),
        done_at: (row.done_at != 0).then_some(Timestamp(row.done_at)),
        note: row.note,
    }
}

/// Migrations to a business, by the id of the request.
#[utoipa::path(get, path = "/v1/migrations", tag = "united", params(Paging),
    responses((status = 200, body = Page<MigrationItem>)))]
pub(super) async fn list(
    State(united): State<United>,
    access: Access,
    Query(paging): Query<Paging>,
) -> Result<Json<Page<MigrationItem>>> {
    access.require_service()?;
    let (target, limit) = (paging.business_id, limit(paging.limit, 100, 1_000)?);
    let after = paging.cursor.as_deref().map(|cursor| (target, cursor));
    let found = united.migrations(Some(target), after, limit).await?;
    let next_cursor = found.last().filter(|_| found.len() == limit).map(|last| last.request_id.clone());
    let items = found.into_iter().map(|found| item(target, found.request_id, found.row)).collect();
    Ok(Json(Page { items, next_cursor }))
}

/// Moves an offer to another business.
#[utoipa::path(post, path = "/v1/migrations", tag = "united", request_body = MigrationBody,
    responses((status = 202, body = MigrationItem)))]
pub(super) async fn ask(
    State(united): State<United>,
    access: Access,
    Json(body): Json<MigrationBody>,
) -> Result<(StatusCode, Json<MigrationItem>)> {
    access.require_service()?;
    let MigrationBody { request_id, source_business_id, target_business_id, shop_sku } = body;
    let request =
        MigrationRequest { request_id: request_id.clone(), source_business_id, target_business_id, shop_sku };
    let row = united.migrate(request).await?;
    Ok((StatusCode::ACCEPTED, Json(item(target_business_id, request_id, row))))
}
