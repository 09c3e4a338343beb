use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use utoipa::ToSchema;
use web::{Access, Problem, Result};

use super::json::{GoldItem, gold, parameter, values};
use crate::gold::preview::Preview;
use crate::ssku::Key;
use crate::{Error, Silver, gold as rules, settings};

/// The golden record of an SSKU, with every candidate and why the winner won.
#[utoipa::path(get, path = "/v1/gold/{business_id}/{shop_sku}", tag = "silver",
    responses((status = 200, body = GoldItem), (status = 404, description = "There is none")))]
pub(super) async fn show(
    State(silver): State<Silver>,
    access: Access,
    Path((business, shop_sku)): Path<(u32, String)>,
) -> Result<Json<GoldItem>> {
    access.require_service()?;
    let key = Key { business, shop_sku };
    let view = silver.view(&key).await?;
    let row = view.gold.ok_or_else(|| Problem::not_found(format!("{key} has no golden record")))?;
    Ok(Json(gold(&key, &row)))
}

#[derive(Serialize, ToSchema)]
pub(super) struct PreviewItem {
    sskus: u64,
    changed_sskus: u64,
    /// By parameter.
    changed_values: BTreeMap<String, u64>,
    samples: Vec<SampleItem>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct SampleItem {
    business_id: u32,
    shop_sku: String,
    parameter: String,
    #[schema(value_type = Vec<Object>)]
    before: Vec<serde_json::Value>,
    #[schema(value_type = Vec<Object>)]
    after: Vec<serde_json::Value>,
    /// Why the new one would win.
    reason: String,
}

/// How many values other rules would change, over all SSKUs; nothing is changed.
#[utoipa::path(post, path = "/v1/gold/rules/preview", tag = "silver",
    request_body(content = Object, description = "Rules as in the setting `gold.rules`"),
    responses((status = 200, body = PreviewItem)))]
pub(super) async fn preview(
    State(silver): State<Silver>,
    access: Access,
    Json(body): Json<serde_json::Value>,
) -> Result<Json<PreviewItem>> {
    access.require_service()?;
    settings::check(settings::GOLD_RULES, &body.to_string())?;
    let then: rules::Rules =
        serde_json::from_value(body).map_err(|error| Error::Invalid(error.to_string()))?;
    let now = silver.read_settings().await?;
    let found = rules::preview::preview(&silver.united.store, &now.gold, &then).await?;
    Ok(Json(item(found)))
}

fn item(preview: Preview) -> PreviewItem {
    let changed = preview.changed_values.into_iter();
    let sample = |sample: rules::preview::Sample| SampleItem {
        business_id: sample.key.business,
        shop_sku: sample.key.shop_sku,
        parameter: parameter(sample.parameter),
        before: values(&sample.before),
        after: values(&sample.after),
        reason: sample.reason,
    };
    PreviewItem {
        sskus: preview.sskus,
        changed_sskus: preview.changed_sskus,
        changed_values: changed.map(|(id, count)| (parameter(id), count)).collect(),
        samples: preview.samples.into_iter().map(sample).collect(),
    }
}
