//! Master data: united offers, silver and gold, for those who keep them.

mod businesses;
mod failures;
mod funnel;
mod gold;
mod home;
mod migrations;
mod offer;
mod parts;
mod rules;
mod settings;
mod shipments;
mod ssku;
mod values;
mod words;

use axum::Router;
use axum::routing::{get, post};
use maud::{Markup, html};
use silver::ssku::Key;
use web::Problem;

pub(super) use self::failures::owed;
pub(super) use self::offer::section as offer_section;
use crate::Console;
use crate::frame::Heading;
use crate::visit::{Refusal, Visit};
use crate::words::encoded;

const HOME: &str = "/console/silver";
pub(super) const FAILURES: &str = "/console/silver/failures";

pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route("/console/silver", get(home::show))
        .route("/console/silver/find", get(home::find))
        .route("/console/silver/sskus/{business}/{shop_sku}", get(ssku::show))
        .route("/console/silver/failures", get(failures::show))
        .route("/console/silver/failures/{verb}", post(failures::answer))
        .route("/console/silver/failures/all/{verb}", post(failures::answer_all))
        .route("/console/silver/migrations", get(migrations::show).post(migrations::ask))
        .route("/console/silver/shipments", get(shipments::show))
        .route("/console/silver/rules", get(rules::show))
        .route("/console/silver/rules/preview", post(rules::preview))
        .route("/console/silver/rules/apply", post(rules::apply))
        .route("/console/silver/settings", get(settings::list))
        .route("/console/silver/settings/{key}", get(settings::show).post(settings::change))
        .route("/console/businesses", get(businesses::list))
        .route("/console/businesses/map", post(businesses::map))
        .route("/console/businesses/{business}", get(businesses::show))
        .route("/console/businesses/{business}/shops/{shop}/unmap", post(businesses::unmap))
}

pub(super) fn ssku_address(business: u32, shop_sku: &str) -> String {
    format!("{HOME}/sskus/{business}/{}", encoded(shop_sku))
}

fn business_address(business: u32) -> String {
    format!("/console/businesses/{business}")
}

fn setting_address(key: &str) -> String {
    format!("{HOME}/settings/{}", encoded(key))
}

/// A heading below the first page.
fn heading(visit: &Visit, title: impl Into<String>) -> Heading {
    Heading::new(title).below(HOME, visit.say("Silver", "Серебро"))
}

/// The rooms of master data, on top of each of its pages.
fn rooms(visit: &Visit) -> Markup {
    let rooms = [
        (HOME, visit.say("Import", "Импорт")),
        ("/console/businesses", visit.say("Businesses", "Бизнесы")),
        (FAILURES, visit.say("Failures", "Ошибки")),
        ("/console/silver/migrations", visit.say("Migrations", "Переезды")),
        ("/console/silver/shipments", visit.say("Shipments by field", "Отгрузки по полям")),
        ("/console/silver/rules", visit.say("Gold rules", "Правила золота")),
        ("/console/silver/settings", visit.say("Settings", "Настройки")),
    ];
    let path = visit.address.split('?').next().unwrap_or_default();
    let is_here = |room: &str| if room == HOME { path == room } else { path.starts_with(room) };
    html! {
        nav aria-label=(visit.say("Master data", "Мастер-данные")) {
            ul.filters {
                @for (room, name) in rooms {
                    li { a href=(room) aria-current=[is_here(room).then_some("page")] { (name) } }
                }
            }
        }
    }
}

/// The number in a path or a form.
fn business_of(visit: &Visit, text: &str) -> Result<u32, Refusal> {
    let number = text.trim().parse().ok().filter(|number| *number != 0);
    number.ok_or_else(|| visit.refused(Problem::not_found(format!("there is no business {text:?}"))))
}

/// What a failure's form names: `business:sku`.
fn key_of(text: &str) -> Option<Key> {
    let (business, shop_sku) = text.split_once(':')?;
    let business = business.parse().ok().filter(|number| *number != 0)?;
    (!shop_sku.is_empty()).then(|| Key { business, shop_sku: shop_sku.to_owned() })
}

/// An SSKU that somebody typed into the box at the top.
pub(super) fn typed(text: &str) -> Option<String> {
    key_of(text).map(|key| ssku_address(key.business, &key.shop_sku))
}
