use axum::Json;
use axum::extract::{Path, State};
use kit::Timestamp;
use serde::Serialize;
use store::{Range, Read as _, Shard};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::goods::{SELLERS, decimal};
use super::tables::{COUNTS, GOODS, GoodRow};
use crate::app::App;
use web::Access;
use web::Page;
use web::{Problem, Result};

const MAX_GOODS: usize = 1_000;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(show))
}

#[derive(Serialize, utoipa::ToSchema)]
struct SellerItem {
    seller: String,
    goods: Vec<GoodItem>,
    /// How many changes the consumer of the topic has counted.
    changes: i64,
}

#[derive(Serialize, utoipa::ToSchema)]
struct GoodItem {
    good: String,
    title: String,
    price: Price,
    version: i64,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

#[derive(Serialize, utoipa::ToSchema)]
struct Price {
    amount: String,
    currency: &'static str,
}

/// The sample sellers.
#[utoipa::path(get, path = "/v1/demo/sellers", tag = "demo", responses((status = 200, body = Page<SellerItem>)))]
async fn list(State(app): State<App>, access: Access) -> Result<Json<Page<SellerItem>>> {
    let mut items = Vec::new();
    for seller in SELLERS.iter().filter(|seller| access.sees_seller(seller.id)) {
        items.extend(read(&app, seller.id).await?);
    }
    Ok(Json(Page::whole(items)))
}

/// One sample seller.
#[utoipa::path(get, path = "/v1/demo/sellers/{seller}", tag = "demo", responses((status = 200, body = SellerItem)))]
async fn show(
    State(app): State<App>,
    access: Access,
    Path(seller): Path<String>,
) -> Result<Json<SellerItem>> {
    access.require_seller(&seller)?;
    let found = read(&app, &seller).await?;
    found.map(Json).ok_or_else(|| Problem::not_found(format!("there is no seller {seller:?}")))
}

async fn read(app: &App, seller: &str) -> Result<Option<SellerItem>> {
    let snapshot = app.store.snapshot(Shard::of(seller)).await?;
    let rows = snapshot.scan(&GOODS, Range::prefix((seller,), MAX_GOODS)?).await?;
    if rows.is_empty() {
        return Ok(None);
    }
    let count = snapshot.get(&COUNTS, (seller,)).await?.unwrap_or_default();
    let good = |((_, good), row): ((String, String), GoodRow)| GoodItem {
        good,
        title: row.title,
        price: Price { amount: decimal(row.price), currency: "RUB" },
        version: row.version,
        updated_at: Timestamp(row.updated_at),
    };
    let goods = rows.into_iter().map(good).collect();
    Ok(Some(SellerItem { seller: seller.to_owned(), goods, changes: count.changes }))
}
