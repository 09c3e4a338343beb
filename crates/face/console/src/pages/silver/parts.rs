//! What an offer's parts say: as united keeps them, and as silver imported them.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use prost::Message as _;
use silver::read::SskuView;
use silver::ssku::{BASIC, Key};
use united::api::json::Schema;
use united::{OfferView, SkuOrigin, origin_of};
use wire::silver::{Part as SilverPart, SskuRow};
use wire::united::{Colour, OfferRow, Part, ShopRow};

use super::super::{offer_address, seller_address};
use super::{business_address, ssku_address, values};
use crate::Console;
use crate::frame::empty;
use crate::visit::{Refusal, Visit};
use crate::words::time;

/// Who fills a shop, and the offer that the part comes from.
pub(super) struct Filler {
    pub(super) seller: String,
    /// The printed id of their offer, if it is still there.
    pub(super) offer: Option<String>,
}

/// The sellers and offers behind the services of an SSKU. A service that moved here is filled in the business it came from.
pub(super) async fn fillers(
    console: &Console,
    visit: &Visit,
    key: &Key,
    row: &OfferRow,
) -> Result<BTreeMap<u32, Filler>, Refusal> {
    let united = &console.silver.united;
    let mut shops: BTreeMap<u32, ShopRow> = BTreeMap::new();
    let sources =
        united.sources_of(key.business, &key.shop_sku).await.map_err(|error| visit.refused(error))?;
    for business in sources.into_iter().chain([key.business]) {
        shops.extend(united.shops(business).await.map_err(|error| visit.refused(error))?);
    }
    let mut fillers = BTreeMap::new();
    for shop in row.services.keys() {
        let Some(seller) = shops.remove(shop).filter(|shop| !shop.gone).map(|shop| shop.seller_id) else {
            continue;
        };
        let offer = match origin_of(&key.shop_sku) {
            SkuOrigin::ByHand(id) => Some(id.to_string()),
            SkuOrigin::Feed { namespace, external_id } => {
                let found = offers::external::find(&console.offers, &seller, namespace, external_id).await;
                found.map_err(|error| visit.offers(error))?.map(|offer| offers::changes::printed(offer.id))
            }
        };
        fillers.insert(*shop, Filler { seller, offer });
    }
    Ok(fillers)
}

/// The colour of a placement.
pub(super) fn colour(colour: Colour) -> Markup {
    html! {
        @if colour != Colour::UnknownColour {
            span class=(format!("chip colour-{}", colour.as_str_name().to_lowercase())) { (colour.as_str_name()) }
        }
    }
}

pub(super) fn part_name(visit: &Visit, shop: u32) -> String {
    match shop {
        BASIC => visit.say("basic part", "базовая часть").to_owned(),
        shop => format!("{} {shop}", visit.say("shop", "магазин")),
    }
}

fn removed(visit: &Visit, is_removed: bool) -> Markup {
    html! {
        @if is_removed { span.chip.expired { (visit.say("removed", "снято")) } }
        @else { span.chip.active { (visit.say("live", "действует")) } }
    }
}

/// The parts of the united offer.
pub(super) fn united(visit: &Visit, key: &Key, view: &OfferView, fillers: &BTreeMap<u32, Filler>) -> Markup {
    let Some(row) = &view.row else {
        return html! { (moved(visit, key, view))
        (empty(visit.say("United has no such offer.", "Такого единого предложения нет."))) };
    };
    let parts: Vec<(u32, &Part)> = row
        .basic
        .iter()
        .map(|basic| (BASIC, basic))
        .chain(row.services.iter().map(|(shop, part)| (*shop, part)))
        .collect();
    html! {
        (moved(visit, key, view))
        div.scroll tabindex="0" { table {
            thead { tr {
                th { (visit.say("Part", "Часть")) }
                th { (visit.say("Colour", "Цвет")) }
                th { (visit.say("State", "Состояние")) }
                th { (visit.say("Price", "Цена")) }
                th { (visit.say("Version", "Версия")) }
                th { (visit.say("Offer", "Предложение")) }
            } }
            tbody { @for (shop, part) in &parts { (united_part(visit, *shop, part, fillers.get(shop))) } }
        } }
        details {
            summary { (visit.say("Everything that united keeps of it", "Всё, что хранит единое предложение")) }
            @for (shop, part) in &parts {
                h3 { (part_name(visit, *shop)) }
                pre tabindex="0" { code { bdi { (json(part)) } } }
            }
        }
    }
}

fn united_part(visit: &Visit, shop: u32, part: &Part, filler: Option<&Filler>) -> Markup {
    let data = part.data.as_ref();
    let rgb =
        data.and_then(|data| data.meta.as_ref()).map_or(Colour::UnknownColour, wire::united::OfferMeta::rgb);
    let price = data.and_then(|data| data.price.as_ref()).map(|price| {
        let money = model::Money { minor: price.minor(), currency: price.currency().to_owned() };
        format!("{} {}", model::money::amount(&money), money.currency)
    });
    html! {
        tr {
            td { strong { (part_name(visit, shop)) }
                @if part.own { " " span.faint { (visit.say("written as such", "записана отдельно")) } } }
            td { (colour(rgb)) }
            td { (removed(visit, part.removed)) }
            td { @if let Some(price) = &price { bdi { (price) } } @else { "—" } }
            td { code { (part.version) } }
            td {
                @if let Some(filler) = filler {
                    @match &filler.offer {
                        Some(id) => a href=(offer_address(id)) { (visit.say("offer", "предложение")) },
                        None => span.faint { (visit.say("offer is gone", "предложения нет")) },
                    }
                    " " (visit.say("of", "продавца")) " " a href=(seller_address(&filler.seller)) { bdi { (filler.seller) } }
                } @else { "—" }
            }
        }
    }
}

fn moved(visit: &Visit, key: &Key, view: &OfferView) -> Markup {
    html! {
        @if let Some(target) = view.moved_to {
            div.notice.ask { p {
                (visit.say("This offer has moved to ", "Это предложение переехало в "))
                a href=(ssku_address(target, &key.shop_sku)) { (visit.say("business", "бизнес")) " " (target) }
                (visit.say("; what comes here is forwarded.", "; то, что приходит сюда, пересылается."))
            } }
        }
    }
}

/// A part as the contract says it.
fn json(part: &Part) -> String {
    let bytes = part.data.clone().unwrap_or_default().encode_to_vec();
    let json = Schema::shipped().to_json("Offer", &bytes);
    json.ok().and_then(|json| serde_json::to_string_pretty(&json).ok()).unwrap_or_default()
}

/// The silver records: parameters downwards, parts across.
pub(super) fn silver(visit: &Visit, view: &SskuView) -> Markup {
    html! {
        @if view.records.is_empty() {
            (empty(visit.say("Silver keeps nothing of it.", "Серебро его не хранит.")))
        }
        @for ((source_type, source_id), row) in &view.records {
            p { span.chip { (source_type) } " " span.faint { (source_id) ", " (visit.say("version", "версия")) " " (row.version) }
                @if row.removed_at != 0 { " " span.chip.expired { (visit.say("removed", "снято")) } " "
                    (time(kit::Timestamp(row.removed_at))) } }
            (matrix(visit, row))
        }
    }
}

fn matrix(visit: &Visit, row: &SskuRow) -> Markup {
    let parts: Vec<(u32, &SilverPart)> = row
        .basic
        .iter()
        .map(|basic| (BASIC, basic))
        .chain(row.services.iter().map(|(shop, part)| (*shop, part)))
        .collect();
    let ids: BTreeSet<u32> =
        parts.iter().flat_map(|(_, part)| part.value.iter().map(|value| value.parameter_id)).collect();
    html! {
        div.scroll tabindex="0" { table.matrix {
            thead { tr {
                th { (visit.say("Parameter", "Параметр")) }
                @for (shop, part) in &parts {
                    th scope="col" { (part_name(visit, *shop)) " " (colour(part.colour())) " "
                        @if part.removed { (removed(visit, true)) } }
                }
            } }
            tbody {
                @for id in &ids {
                    tr {
                        th scope="row" { (values::name_of(visit, *id, &id.to_string())) }
                        @for (_, part) in &parts {
                            @let value = part.value.iter().find(|value| value.parameter_id == *id);
                            td.value { @match value {
                                Some(value) => bdi.cut { (values::shown(visit, *id, &value.value)) },
                                None => "—",
                            } }
                        }
                    }
                }
            }
        } }
    }
}

/// Where the SSKU is at home.
pub(super) fn home(visit: &Visit, key: &Key) -> Markup {
    html! { p { (visit.say("Of ", "Из ")) a href=(business_address(key.business)) {
    (visit.say("business", "бизнеса")) " " (key.business) } } }
}
