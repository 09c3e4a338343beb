//! From a seller's offer to what master data made of it.

use maud::{Markup, html};
use silver::ssku::Key;
use united::fill::shop_sku;
use united::shops::parse_follower;

use super::parts::colour;
use super::{business_address, ssku_address};
use crate::Console;
use crate::visit::{Refusal, Visit};

/// An offer that moved on and on is not followed for ever.
const MAX_MOVES: usize = 8;

/// The SSKUs that an offer is part of; nothing for those who may not see them.
pub(in crate::pages) async fn section(
    console: &Console,
    visit: &Visit,
    offer: &model::Offer,
) -> Result<Markup, Refusal> {
    if visit.access.require_service().is_err() {
        return Ok(html! {});
    }
    let followers =
        console.offers.followers_of(&offer.seller_id).await.map_err(|error| visit.offers(error))?;
    let sku = shop_sku(offer);
    let mut rows = Vec::new();
    for (business, shop) in followers.iter().filter_map(|follower| parse_follower(follower)) {
        rows.push(record(console, visit, business, shop, &sku).await?);
    }
    if rows.is_empty() {
        return Ok(html! {});
    }
    Ok(html! {
        section aria-labelledby="master-data" {
            h2 #master-data { (visit.say("Master data", "Мастер-данные")) }
            div #master-records data-live { div.scroll tabindex="0" { table {
                thead { tr {
                    th { "SSKU" }
                    th { (visit.say("Business", "Бизнес")) }
                    th { (visit.say("Shop", "Магазин")) }
                    th { (visit.say("United", "Единое")) }
                    th { (visit.say("Silver", "Серебро")) }
                    th { (visit.say("Gold", "Золото")) }
                } }
                tbody { @for row in &rows { (row) } }
            } } }
        }
    })
}

/// What became of the offer in one shop, wherever its SSKU lives now.
async fn record(
    console: &Console,
    visit: &Visit,
    mapped: u32,
    shop: u32,
    sku: &str,
) -> Result<Markup, Refusal> {
    let silver = &console.silver;
    let mut key = Key { business: mapped, shop_sku: sku.to_owned() };
    let mut united =
        silver.united.offer_view(key.business, sku).await.map_err(|error| visit.refused(error))?;
    for _ in 0..MAX_MOVES {
        let Some(target) = united.moved_to else { break };
        key.business = target;
        united = silver.united.offer_view(target, sku).await.map_err(|error| visit.refused(error))?;
    }
    let view = silver.view(&key).await.map_err(|error| visit.refused(error))?;
    let part = united.row.as_ref().and_then(|row| row.services.get(&shop));
    let address = ssku_address(key.business, sku);
    let link = |place: &str, name: &str| html! { a href=(format!("{address}#{place}")) { (name) } };
    Ok(html! {
        tr {
            td { a href=(address) { bdi { (sku) } } }
            td { a href=(business_address(key.business)) { (key.business) }
                @if key.business != mapped { " " span.faint { (visit.say("moved from ", "переехало из ")) (mapped) } } }
            td { (shop) " " @if let Some(part) = part {
                (colour(part.data.as_ref().and_then(|data| data.meta.as_ref()).map(wire::united::OfferMeta::rgb).unwrap_or_default())) } }
            td { @match part {
                Some(part) if part.removed => (link("united", visit.say("removed", "снято"))),
                Some(_) => (link("united", visit.say("live", "действует"))),
                None => "—",
            } }
            td {
                @if view.debt.is_some() { (link("markers", visit.say("failed", "ошибка"))) " " }
                @if view.records.is_empty() { "—" } @else { (link("silver", visit.say("kept", "хранится"))) }
            }
            td { @if view.gold.is_some() { (link("gold", visit.say("made", "есть"))) } @else { "—" } }
        }
    })
}
