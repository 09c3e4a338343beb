use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use prost::Message as _;
use web::{Access, Code, Problem, Result};
use wire::united::{OfferKey, UnitedOffer};

use super::json::Schema;
use crate::{Error, United};

/// A business's offer: every field, all services with their versions, and the golden record.
#[utoipa::path(get, path = "/v1/united/{business_id}/{shop_sku}", tag = "united",
    responses((status = 200, description = "A `dvor.united.v1.UnitedOffer` as JSON", body = Object),
        (status = 404, description = "There is no such offer")))]
pub(super) async fn show(
    State(united): State<United>,
    access: Access,
    Path((business_id, shop_sku)): Path<(u32, String)>,
) -> Result<Json<serde_json::Value>> {
    access.require_service()?;
    read(&united, business_id, shop_sku).await
}

/// Writes parts of an offer: those services, and the basic part, that the body has.
#[utoipa::path(put, path = "/v1/united/{business_id}/{shop_sku}", tag = "united",
    request_body(content = Object, description = "A `dvor.united.v1.UnitedOffer`, as JSON or as `application/x-protobuf`"),
    responses((status = 200, description = "The offer after it", body = Object),
        (status = 409, description = "The offer moved to another business, which the problem names")))]
pub(super) async fn put(
    State(united): State<United>,
    access: Access,
    Path((business_id, shop_sku)): Path<(u32, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<serde_json::Value>> {
    access.require_service()?;
    let offer = parse(&headers, &body)?;
    united.put(business_id, &shop_sku, offer).await?;
    read(&united, business_id, shop_sku).await
}

fn parse(headers: &HeaderMap, body: &[u8]) -> Result<UnitedOffer> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let bad = |error: String| Problem::new(Code::BadRequest, error);
    if kind.starts_with("application/x-protobuf") {
        return UnitedOffer::decode(body).map_err(|error| bad(error.to_string()));
    }
    let bytes = Schema::shipped().from_json("UnitedOffer", body).map_err(bad)?;
    UnitedOffer::decode(bytes.as_slice()).map_err(|error| bad(error.to_string()))
}

async fn read(united: &United, business_id: u32, shop_sku: String) -> Result<Json<serde_json::Value>> {
    let key = OfferKey { business_id, shop_sku };
    let offer = united.get(std::slice::from_ref(&key)).await?.into_iter().next().flatten();
    let missing = || Error::NotFound(format!("business {business_id} has no offer {}", key.shop_sku));
    let bytes = offer.ok_or_else(missing)?.encode_to_vec();
    let json = Schema::shipped().to_json("UnitedOffer", &bytes);
    Ok(Json(json.map_err(|error| Problem::new(Code::Internal, error))?))
}
