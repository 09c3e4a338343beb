//! Businesses, their shops with the sellers who fill them, and their offers.

use axum::Form;
use axum::extract::{Path, Query, State};
use maud::{Markup, html};
use serde::Deserialize;
use web::Problem;
use wire::united::{Colour, OfferRow, ShopRow};

use super::super::seller_address;
use super::parts::colour;
use super::{business_address, business_of, heading, rooms, ssku_address};
use crate::Console;
use crate::frame::{act, csrf, empty, page, see_other};
use crate::pages::Answer;
use crate::visit::Visit;
use crate::words::{encoded, number};

const ADDRESS: &str = "/console/businesses";
const PAGE: usize = 50;
const COLOURS: [Colour; 5] = [Colour::Blue, Colour::Dbs, Colour::White, Colour::Red, Colour::Green];

#[derive(Default, Deserialize)]
pub(super) struct Wanted {
    after: Option<String>,
}

pub(super) async fn list(
    State(console): State<Console>,
    visit: Visit,
    Query(wanted): Query<Wanted>,
) -> Answer {
    visit.require_service()?;
    let united = &console.silver.united;
    let after = wanted.after.as_deref().and_then(|after| after.parse().ok());
    let mut found = united.businesses(after, PAGE + 1).await.map_err(|error| visit.refused(error))?;
    let more = found.len() > PAGE;
    found.truncate(PAGE);
    let mut businesses = Vec::new();
    for business in found {
        businesses.push((business, united.shops(business).await.map_err(|error| visit.refused(error))?));
    }
    let content = html! {
        (rooms(&visit))
        @if businesses.is_empty() { (empty(visit.say("No seller is mapped to a shop yet.", "Пока ни один продавец не привязан."))) }
        @else { (table(&visit, &businesses)) }
        @if let Some((last, _)) = businesses.last().filter(|_| more) {
            p.pager { a rel="next" href=(format!("{ADDRESS}?after={last}")) { (visit.say("More businesses", "Ещё бизнесы")) } }
        }
        (form(&visit, None))
    };
    Ok(page(&visit, &heading(&visit, visit.say("Businesses", "Бизнесы")), &content))
}

fn table(visit: &Visit, businesses: &[(u32, Vec<(u32, ShopRow)>)]) -> Markup {
    html! {
        div.scroll tabindex="0" { table {
            thead { tr {
                th { (visit.say("Business", "Бизнес")) }
                th.number { (visit.say("Shops", "Магазины")) }
                th { (visit.say("Sellers", "Продавцы")) }
            } }
            tbody { @for (business, shops) in businesses { tr {
                td { a href=(business_address(*business)) { (business) } }
                td.number { (number(shops.iter().filter(|(_, shop)| !shop.gone).count() as i64)) }
                td { @for (_, shop) in shops.iter().filter(|(_, shop)| !shop.gone) {
                    span.group { a href=(seller_address(&shop.seller_id)) { bdi { (shop.seller_id) } } " " (colour(shop.colour())) }
                } }
            } } }
        } }
    }
}

pub(super) async fn show(
    State(console): State<Console>,
    visit: Visit,
    Path(business): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Answer {
    visit.require_service()?;
    let business = business_of(&visit, &business)?;
    let united = &console.silver.united;
    let shops = united.shops(business).await.map_err(|error| visit.refused(error))?;
    let offers = united.offers_of(business, wanted.after.as_deref(), PAGE + 1).await;
    let mut offers = offers.map_err(|error| visit.refused(error))?;
    let more = offers.len() > PAGE;
    offers.truncate(PAGE);
    let content = html! {
        (rooms(&visit))
        section aria-labelledby="shops" {
            h2 #shops { (visit.say("Shops", "Магазины")) }
            div #shop-list data-live { (shop_table(&visit, business, &shops)) }
        }
        (form(&visit, Some(business)))
        section aria-labelledby="offers" {
            h2 #offers { (visit.say("United offers", "Единые предложения")) }
            div #offer-list data-live { (offer_table(&visit, business, &offers)) }
            @if let Some((last, _)) = offers.last().filter(|_| more) {
                p.pager { a rel="next" href=(format!("{}?after={}#offers", business_address(business), encoded(last))) {
                    (visit.say("More offers", "Ещё предложения")) } }
            }
        }
    };
    let title = format!("{} {business}", visit.say("Business", "Бизнес"));
    let heading = heading(&visit, title).below(ADDRESS, visit.say("Businesses", "Бизнесы")).live(3_000);
    Ok(page(&visit, &heading, &content))
}

fn shop_table(visit: &Visit, business: u32, shops: &[(u32, ShopRow)]) -> Markup {
    if shops.is_empty() {
        return empty(visit.say("It has no shops.", "Магазинов нет."));
    }
    html! {
        div.scroll tabindex="0" { table {
            thead { tr {
                th { (visit.say("Shop", "Магазин")) }
                th { (visit.say("Seller", "Продавец")) }
                th { (visit.say("Colour", "Цвет")) }
                th { (visit.say("State", "Состояние")) }
                th.number { (visit.say("Epoch", "Эпоха")) }
                th { span.hidden { (visit.say("Unmap", "Отвязать")) } }
            } }
            tbody { @for (shop, row) in shops { tr {
                td { (shop) }
                td { @if row.seller_id.is_empty() { "—" } @else { a href=(seller_address(&row.seller_id)) { bdi { (row.seller_id) } } } }
                td { (colour(row.colour())) }
                td {
                    @if row.gone { span.chip.expired { (visit.say("unmapped", "отвязан")) } }
                    @else { span.chip.active { (visit.say("mapped", "привязан")) } }
                    @if row.ending_after.is_some() { " " span.chip.in_progress {
                        (visit.say("what it had is being ended", "прежнее снимается")) } }
                }
                td.number { (row.epoch) }
                td { @if !row.gone { (unmap_form(visit, business, *shop)) } }
            } } }
        } }
    }
}

/// Its offers leave the business, so it takes two steps.
fn unmap_form(visit: &Visit, business: u32, shop: u32) -> Markup {
    html! {
        details.inline {
            summary { (visit.say("Unmap…", "Отвязать…")) }
            (act(visit, &format!("{}/shops/{shop}/unmap", business_address(business)), "",
                visit.say("Yes, take its offers away", "Да, убрать его предложения")))
        }
    }
}

fn offer_table(visit: &Visit, business: u32, offers: &[(String, OfferRow)]) -> Markup {
    if offers.is_empty() {
        return empty(visit.say("It has no offers.", "Предложений нет."));
    }
    html! {
        div.scroll tabindex="0" { table {
            thead { tr {
                th { "SSKU" }
                th { (visit.say("Name", "Название")) }
                th { (visit.say("Shops", "Магазины")) }
                th { (visit.say("Gold", "Золото")) }
            } }
            tbody { @for (shop_sku, row) in offers { tr {
                td { a href=(ssku_address(business, shop_sku)) { bdi { (shop_sku) } } }
                td.value { bdi { (name_of(row)) } }
                td { @for (shop, part) in &row.services {
                    span.group { @if part.removed { s { (shop) } } @else { (shop) } } " "
                } }
                td { @if row.master_data.is_some() { span.chip.succeeded { (visit.say("made", "есть")) } } @else { "—" } }
            } } }
        } }
    }
}

fn name_of(row: &OfferRow) -> &str {
    let data = row.basic.as_ref().and_then(|basic| basic.data.as_ref());
    let partner = data.and_then(|data| data.content.as_ref()?.partner.as_ref());
    partner.and_then(|partner| partner.original.as_ref()?.name.as_ref()).map_or("", |name| name.value())
}

fn form(visit: &Visit, business: Option<u32>) -> Markup {
    html! {
        details.card open[business.is_none()] {
            summary { (visit.say("Give a shop the offers of a seller", "Привязать продавца к магазину")) }
            form method="post" action=(format!("{ADDRESS}/map")) {
                (csrf(visit))
                @match business {
                    Some(business) => input type="hidden" name="business" value=(business);,
                    None => {
                        label for="business" { (visit.say("Business", "Бизнес")) }
                        input #business name="business" required inputmode="numeric" pattern="[0-9]{1,10}" maxlength="10";
                    },
                }
                label for="shop" { (visit.say("Shop", "Магазин")) }
                input #shop name="shop" required inputmode="numeric" pattern="[0-9]{1,10}" maxlength="10";
                label for="seller" { (visit.say("Seller", "Продавец")) }
                input #seller name="seller" required maxlength="64";
                label for="colour" { (visit.say("Colour of the placement", "Цвет размещения")) }
                select #colour name="colour" {
                    @for colour in COLOURS { option value=(colour.as_str_name()) { (colour.as_str_name()) } }
                }
                button.main { (visit.say("Map", "Привязать")) }
            }
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Mapping {
    business: String,
    shop: String,
    seller: String,
    colour: String,
}

pub(super) async fn map(
    State(console): State<Console>,
    visit: Visit,
    Form(mapping): Form<Mapping>,
) -> Answer {
    visit.require_service()?;
    let business = business_of(&visit, &mapping.business)?;
    let shop = mapping.shop.trim().parse().unwrap_or(0);
    let colour = Colour::from_str_name(&mapping.colour).unwrap_or(Colour::UnknownColour);
    let mapped = console.silver.united.map_shop(business, shop, mapping.seller.trim(), colour).await;
    mapped.map_err(|error| visit.refused(error))?;
    Ok(see_other(&business_address(business)))
}

pub(super) async fn unmap(
    State(console): State<Console>,
    visit: Visit,
    Path((business, shop)): Path<(String, String)>,
) -> Answer {
    visit.require_service()?;
    let business = business_of(&visit, &business)?;
    let none = || visit.refused(Problem::not_found(format!("there is no shop {shop:?}")));
    let shop = shop.parse().map_err(|_| none())?;
    console.silver.united.unmap_shop(business, shop).await.map_err(|error| visit.refused(error))?;
    Ok(see_other(&business_address(business)))
}
