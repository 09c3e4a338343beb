use axum::Json;
use axum::extract::{Query, State};
use cluster::tally::KEPT_HOURS;
use kit::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use web::{Access, Result, within};

use crate::United;
use crate::stats::{FieldStats, Stats};
use crate::subscription::Subscription;

#[derive(Serialize, ToSchema)]
pub(super) struct ShipmentStats {
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    /// Offers shipped to the topic `united.offers`.
    shipments: u64,
    /// By what they cause, the most first. An offer that several fields ship counts for each.
    fields: Vec<FieldItem>,
    /// A field flaps when it causes more shipments in an hour: the setting `united.flapping_shipments_per_hour`. 0: never.
    flapping_above: u64,
}

#[derive(Serialize, ToSchema)]
pub(super) struct FieldItem {
    /// A path such as `content.partner.original.weight`; `new`: the offer was new.
    field: String,
    /// `trigger`, `shipment` (goes along and causes nothing) or `none`.
    mark: &'static str,
    shipments: u64,
    /// The most in this hour and the one before.
    per_hour: u64,
    flaps: bool,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Window {
    /// How far to look back; 24 if left out, 47 at most.
    #[param(minimum = 1, maximum = 47)]
    hours: Option<usize>,
}

fn item(field: FieldStats) -> FieldItem {
    let mark = match field.mark {
        Subscription::Trigger => "trigger",
        Subscription::Shipment => "shipment",
        Subscription::None => "none",
    };
    let FieldStats { field, shipments, per_hour, flaps, .. } = field;
    FieldItem { field, mark, shipments, per_hour, flaps }
}

/// Shipments by the field that caused them, over all processes, and the fields that flap.
#[utoipa::path(get, path = "/v1/united/stats", tag = "united", params(Window),
    responses((status = 200, body = ShipmentStats)))]
pub(super) async fn stats(
    State(united): State<United>,
    access: Access,
    Query(window): Query<Window>,
) -> Result<Json<ShipmentStats>> {
    access.require_service()?;
    let hours = within("hours", window.hours, 24, KEPT_HOURS as usize - 1)?;
    let Stats { since, shipments, fields, flapping_above } = united.stats(hours as i64).await?;
    let fields = fields.into_iter().map(item).collect();
    Ok(Json(ShipmentStats { since, shipments, fields, flapping_above }))
}
