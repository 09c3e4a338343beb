use axum::Json;
use axum::extract::{Path, State};
use prost::Message as _;
use serde::Serialize;
use united::api::json::Schema;
use utoipa::ToSchema;
use web::{Access, Problem, Result};
use wire::united::OfferKey;

use super::json::{GoldItem, PartItem, SilverFailureItem, failure, gold, part};
use crate::read::{Explanation, SskuView};
use crate::ssku::Key;
use crate::steps::Trace;
use crate::{Error, Silver};

#[derive(Serialize, ToSchema)]
pub(super) struct SskuItem {
    business_id: u32,
    shop_sku: String,
    records: Vec<RecordItem>,
    /// The shops in which it exists.
    shops: Vec<u32>,
    /// Why something of it was left out.
    cut: Vec<String>,
    failure: Option<SilverFailureItem>,
    waits_for_gold: bool,
    waits_for_erp: bool,
}

#[derive(Serialize, ToSchema)]
pub(super) struct RecordItem {
    source_type: String,
    source_id: String,
    version: i64,
    parts: Vec<PartItem>,
}

/// What is kept of an SSKU as its shops said it.
#[utoipa::path(get, path = "/v1/silver/{business_id}/{shop_sku}", tag = "silver",
    responses((status = 200, body = SskuItem), (status = 404, description = "Nothing is known of it")))]
pub(super) async fn silver(
    State(silver): State<Silver>,
    access: Access,
    Path((business, shop_sku)): Path<(u32, String)>,
) -> Result<Json<SskuItem>> {
    access.require_service()?;
    let key = Key { business, shop_sku };
    let view = silver.view(&key).await?;
    if view == SskuView::default() {
        return Err(Problem::not_found(format!("nothing is known of {key}")));
    }
    Ok(Json(ssku(&key, view)))
}

fn ssku(key: &Key, view: SskuView) -> SskuItem {
    let record = |((source_type, source_id), row): ((String, String), wire::silver::SskuRow)| RecordItem {
        source_type,
        source_id,
        version: row.version,
        parts: row
            .basic
            .iter()
            .map(|basic| part(None, basic))
            .chain(row.services.iter().map(|(shop, service)| part(Some(*shop), service)))
            .collect(),
    };
    SskuItem {
        business_id: key.business,
        shop_sku: key.shop_sku.clone(),
        records: view.records.into_iter().map(record).collect(),
        shops: view.shops,
        cut: view.cut.map(|cut| cut.reason).unwrap_or_default(),
        failure: view.debt.as_ref().map(|debt| failure(key, debt)),
        waits_for_gold: view.waits_for_gold,
        waits_for_erp: view.waits_for_erp,
    }
}

#[derive(Serialize, ToSchema)]
pub(super) struct ExplanationItem {
    business_id: u32,
    shop_sku: String,
    /// Why the offer cannot be imported at all.
    refused: Option<String>,
    /// What each step does to it, in their order.
    steps: Vec<StepItem>,
    /// Why something of it would be left out.
    cut: Vec<&'static str>,
    /// The offer with all of its parts: a `dvor.united.v1.UnitedOffer`.
    #[schema(value_type = Object)]
    united: serde_json::Value,
    /// What is kept of it: records, markers, what was left out, what failed.
    silver: SskuItem,
    /// The golden record, with every candidate and why the winner won.
    gold: Option<GoldItem>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct StepItem {
    step: &'static str,
    outcome: &'static str,
    why: &'static str,
}

/// What importing the offer would do now, step by step; nothing is written.
#[utoipa::path(get, path = "/v1/silver/{business_id}/{shop_sku}/explain", tag = "silver",
    responses((status = 200, body = ExplanationItem), (status = 404, description = "Nothing is known of it")))]
pub(super) async fn explain(
    State(silver): State<Silver>,
    access: Access,
    Path((business, shop_sku)): Path<(u32, String)>,
) -> Result<Json<ExplanationItem>> {
    access.require_service()?;
    let key = Key { business, shop_sku };
    let view = silver.view(&key).await?;
    let is_unknown = view == SskuView::default();
    let united = OfferKey { business_id: key.business, shop_sku: key.shop_sku.clone() };
    let united = silver.united.get(&[united]).await?.pop().flatten().unwrap_or_default();
    let united = Schema::shipped().to_json("UnitedOffer", &united.encode_to_vec()).map_err(Error::Invalid)?;
    let mut item = ExplanationItem {
        business_id: key.business,
        shop_sku: key.shop_sku.clone(),
        refused: None,
        steps: Vec::new(),
        cut: Vec::new(),
        united,
        gold: view.gold.as_ref().map(|row| gold(&key, row)),
        silver: ssku(&key, view),
    };
    match silver.explain(&key).await? {
        Explanation::Unknown if is_unknown => {
            return Err(Problem::not_found(format!("nothing is known of {key}")));
        }
        Explanation::Unknown => item.refused = Some("united has no such offer".to_owned()),
        Explanation::Refused(reason) => item.refused = Some(reason),
        Explanation::Planned(plan) => {
            let step =
                |trace: &Trace| StepItem { step: trace.step, outcome: trace.outcome, why: trace.why() };
            item.steps = plan.trace.iter().map(step).collect();
            item.cut = plan.cuts.iter().map(|cut| cut.name()).collect();
        }
    }
    Ok(Json(item))
}
