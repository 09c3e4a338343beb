//! A seller's offers, by ready-made lists, in pages that stay right while offers come and go.

use axum::extract::{Path, Query, State};
use maud::{Markup, html};
use model::{Offer, OfferId, PhotoState, photo_order, status};
use offers::Preset;
use offers::api::json::MoneyJson;
use offers::cabinet::Place;
use serde::Deserialize;
use web::Problem;

use super::{Answer, offer_address, seller::counters, seller_address};
use crate::Console;
use crate::frame::{Heading, chip, empty, page, see_other};
use crate::visit::{Refusal, Visit};
use crate::words::{number, preset, time};

const PAGE: usize = 24;

#[derive(Deserialize)]
pub(crate) struct Wanted {
    preset: Option<String>,
    cursor: Option<String>,
    /// The seller's own id, or ours.
    q: Option<String>,
}

pub(crate) async fn show(
    State(console): State<Console>,
    visit: Visit,
    Path(seller): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Answer {
    visit.require_seller(&seller)?;
    if let Some(text) = wanted.q.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        return find(&console, &visit, &seller, text).await;
    }
    let name = wanted.preset.as_deref().unwrap_or(Preset::All.name());
    let list = Preset::parse(name)
        .ok_or_else(|| visit.refused(Problem::not_found(format!("there is no list {name:?}"))))?;
    let below = wanted.cursor.as_deref().map(|cursor| {
        Place::parse(cursor).ok_or_else(|| {
            visit.refused(Problem::field("cursor", "bad_cursor", "this is no cursor of this list"))
        })
    });
    let found = console.offers.page(&seller, list, below.transpose()?, PAGE).await;
    let (offers, next) = found.map_err(|error| visit.offers(error))?;
    let counts = console.offers.counts(&seller).await.map_err(|error| visit.offers(error))?;
    let base = format!("{}/offers", seller_address(&seller));
    let content = html! {
        (counters(&console, &visit, &seller).await?)
        ul.filters #presets data-live {
            @for (one, count) in &counts {
                li { a href=(format!("{base}?preset={}", one.name())) aria-current=[(*one == list).then_some("true")] {
                    (preset(&visit, one.name())) " " strong { (number(*count)) }
                } }
            }
        }
        form.search action=(base) role="search" {
            label for="q" { (visit.say("Id in the feed, or ours", "Идентификатор в фиде или наш номер")) }
            input #q name="q" type="search" maxlength="256";
            button { (visit.say("Find", "Найти")) }
        }
        @if offers.is_empty() { (empty(visit.say("There is no offer in this list.", "В этом списке пусто."))) }
        ul.offers #offers data-live { @for offer in &offers { (card(&visit, offer)) } }
        @if let Some(next) = next {
            p.pager { a rel="next" href=(format!("{base}?preset={}&cursor={}", list.name(), next.cursor())) {
                (visit.say("Older offers", "Более ранние"))
            } }
        }
    };
    let heading =
        Heading::new(format!("{}: {}", visit.say("Offers", "Предложения"), preset(&visit, list.name())))
            .below("/console/sellers", visit.say("Sellers", "Продавцы"))
            .below(seller_address(&seller), &seller)
            .live(3_000);
    Ok(page(&visit, &heading, &content))
}

fn card(visit: &Visit, offer: &Offer) -> Markup {
    let id = offers::changes::printed(offer.id);
    let content = offer.content.clone().unwrap_or_default();
    html! {
        li.offer {
            a href=(offer_address(&id)) {
                (thumbnail(visit, offer))
                span.title { bdi { (content.title) } }
                span.price {
                    @match content.price.as_ref().map(MoneyJson::of) {
                        Some(price) => { (price.amount) " " (price.currency) },
                        None => (visit.say("no price", "без цены")),
                    }
                }
            }
            (chip(visit, status::name(offer.status())))
            span.faint { (time(kit::Timestamp(offer.updated_at))) }
        }
    }
}

/// The first photo that is there.
fn thumbnail(visit: &Visit, offer: &Offer) -> Markup {
    let shown = photo_order::shown(offer);
    let ready = shown.into_iter().find(|photo| photo.state() == PhotoState::Ready);
    html! {
        @match ready {
            Some(photo) => img src=(format!("/photos/{}/400", photo.hash)) alt="" loading="lazy" width="200" height="150";,
            None => span.no-photo { (visit.say("no photo", "нет фото")) },
        }
    }
}

/// By our number, or by the seller's own id in any of his feeds.
async fn find(console: &Console, visit: &Visit, seller: &str, text: &str) -> Answer {
    if let Ok(id) = text.parse::<OfferId>() {
        return Ok(see_other(&offer_address(&id.to_string())));
    }
    let none = || {
        let detail =
            visit.say("no offer of this seller has the id ", "у продавца нет предложения с идентификатором ");
        visit.refused(Problem::not_found(format!("{detail}«{text}»")))
    };
    if model::names::check_external_id(text).is_err() {
        return Err(none());
    }
    let views =
        feeds::history::feeds_of(&console.feeds, seller).await.map_err(|error| visit.refused(error))?;
    for view in views {
        let found = offers::external::find(&console.offers, seller, &view.key.namespace, text).await;
        if let Some(offer) = found.map_err(|error| visit.offers(error))? {
            return Ok(see_other(&offer_address(&offers::changes::printed(offer.id))));
        }
    }
    Err::<_, Refusal>(none())
}
