//! The box at the top: an offer's id, an SSKU as `business:sku`, or a seller.

use axum::extract::Query;
use maud::html;
use model::OfferId;
use serde::Deserialize;
use web::Problem;

use super::{Answer, offer_address, seller_address};
use crate::frame::{Heading, page, see_other};
use crate::visit::{Refusal, Visit};

#[derive(Deserialize)]
pub(crate) struct Wanted {
    #[serde(default)]
    q: String,
}

pub(crate) async fn find(visit: Visit, Query(wanted): Query<Wanted>) -> Answer {
    let text = wanted.q.trim();
    if let Ok(id) = text.parse::<OfferId>() {
        return Ok(see_other(&offer_address(&id.to_string())));
    }
    if let Some(address) = super::silver::typed(text).filter(|_| visit.access.sees_all_sellers()) {
        return Ok(see_other(&address));
    }
    if model::names::check_seller(text).is_ok() && visit.access.sees_seller(text) {
        return Ok(see_other(&seller_address(text)));
    }
    let content = html! {
        div.notice { p {
            (visit.say("This is neither an offer's id, an SSKU nor a seller: ", "Это не номер предложения, не SSKU и не продавец: "))
            bdi { (text) }
        } }
    };
    Ok(page(&visit, &Heading::new(visit.say("Nothing found", "Ничего не найдено")), &content))
}

pub(crate) async fn nothing(visit: Visit) -> Refusal {
    visit.refused(Problem::not_found(visit.say("there is no such page", "такой страницы нет")))
}
