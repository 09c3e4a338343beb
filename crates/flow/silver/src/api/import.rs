use std::collections::BTreeMap;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use prost::Message as _;
use serde::Serialize;
use store::Tx;
use united::api::json::Schema;
use united::shard_of;
use utoipa::ToSchema;
use web::{Access, Code, Problem, Result};
use wire::united::UnitedOffersBatch;

use crate::Silver;
use crate::convert::{Delivered, read_batch};

#[derive(Serialize, ToSchema)]
pub(super) struct ImportedItem {
    /// Offers by step and outcome.
    steps: BTreeMap<String, BTreeMap<String, u64>>,
}

/// Imports a batch of united offers as the topic's are imported: an offer that cannot be is owed, the others are saved.
#[utoipa::path(post, path = "/v1/silver/import", tag = "silver",
    request_body(content = Object, description = "A `dvor.united.v1.UnitedOffersBatch`, as JSON or as `application/x-protobuf`"),
    responses((status = 200, body = ImportedItem)))]
pub(super) async fn import(
    State(silver): State<Silver>,
    access: Access,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<ImportedItem>> {
    access.require_service()?;
    let batch = parse(&headers, &body)?;
    let mut by_business: BTreeMap<u32, Vec<Delivered>> = BTreeMap::new();
    for offer in batch.offer {
        let one = UnitedOffersBatch { offer: vec![offer] }.encode_to_vec();
        let delivered = read_batch(&one).map_err(|error| Problem::new(Code::Invalid, error))?;
        for delivered in delivered.into_iter().map(Delivered::by_hand) {
            by_business.entry(delivered.key.business).or_default().push(delivered);
        }
    }
    let settings = silver.read_settings().await?;
    let mut steps: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for (business, delivered) in by_business {
        let now = silver.united.clock.now();
        let body = async |tx: &mut Tx| crate::import::import(tx, &settings.import, &delivered, now).await;
        let imported = silver.united.store.transact(shard_of(business), body).await?;
        silver.count(&imported);
        for (trace, offers) in imported.0 {
            let outcomes = steps.entry(trace.step.to_owned()).or_default();
            *outcomes.entry(trace.outcome.to_owned()).or_default() += offers;
        }
    }
    Ok(Json(ImportedItem { steps }))
}

fn parse(headers: &HeaderMap, body: &[u8]) -> Result<UnitedOffersBatch> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let bad = |error: String| Problem::new(Code::BadRequest, error);
    if kind.starts_with("application/x-protobuf") {
        return UnitedOffersBatch::decode(body).map_err(|error| bad(error.to_string()));
    }
    let bytes = Schema::shipped().from_json("UnitedOffersBatch", body).map_err(bad)?;
    UnitedOffersBatch::decode(bytes.as_slice()).map_err(|error| bad(error.to_string()))
}
