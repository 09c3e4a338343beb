use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use web::{Access, Page, Problem, Result};
use wire::united::{Colour, ShopRow};

use crate::United;

#[derive(Serialize, ToSchema)]
pub(super) struct ShopItem {
    shop_id: u32,
    seller_id: String,
    #[schema(example = "BLUE")]
    colour: String,
    /// Raised by every change of the mapping.
    epoch: i64,
    /// False: the shop has no seller now.
    mapped: bool,
    /// What the former seller had is still being ended.
    ending: bool,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ShopBody {
    seller_id: String,
    /// BLUE, DBS, WHITE, RED or GREEN.
    #[schema(example = "BLUE")]
    colour: String,
}

fn item(shop_id: u32, row: &ShopRow) -> ShopItem {
    ShopItem {
        shop_id,
        seller_id: row.seller_id.clone(),
        colour: row.colour().as_str_name().to_owned(),
        epoch: row.epoch,
        mapped: !row.gone,
        ending: row.ending_after.is_some(),
    }
}

/// The shops of a business.
#[utoipa::path(get, path = "/v1/businesses/{business_id}/shops", tag = "united",
    responses((status = 200, body = Page<ShopItem>)))]
pub(super) async fn list(
    State(united): State<United>,
    access: Access,
    Path(business_id): Path<u32>,
) -> Result<Json<Page<ShopItem>>> {
    access.require_service()?;
    let shops = united.shops(business_id).await?;
    let items = shops.iter().map(|(shop, row)| item(*shop, row)).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

/// Gives a shop the offers of a seller: those that there are, and every change from now on.
#[utoipa::path(put, path = "/v1/businesses/{business_id}/shops/{shop_id}", tag = "united",
    request_body = ShopBody, responses((status = 200, body = ShopItem)))]
pub(super) async fn put(
    State(united): State<United>,
    access: Access,
    Path((business_id, shop_id)): Path<(u32, u32)>,
    Json(body): Json<ShopBody>,
) -> Result<Json<ShopItem>> {
    access.require_service()?;
    let colour = Colour::from_str_name(&body.colour)
        .filter(|colour| *colour != Colour::UnknownColour)
        .ok_or_else(|| Problem::field("colour", "not_an_option", "it is BLUE, DBS, WHITE, RED or GREEN"))?;
    let row = united.map_shop(business_id, shop_id, &body.seller_id, colour).await?;
    Ok(Json(item(shop_id, &row)))
}

/// Takes the seller's offers away from a shop.
#[utoipa::path(delete, path = "/v1/businesses/{business_id}/shops/{shop_id}", tag = "united",
    responses((status = 204, description = "The shop has no seller"),
        (status = 404, description = "It had none")))]
pub(super) async fn remove(
    State(united): State<United>,
    access: Access,
    Path((business_id, shop_id)): Path<(u32, u32)>,
) -> Result<StatusCode> {
    access.require_service()?;
    if united.unmap_shop(business_id, shop_id).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Problem::not_found(format!("shop {shop_id} of business {business_id} has no seller")))
    }
}
