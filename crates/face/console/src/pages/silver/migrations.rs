//! Offers that move to another business: how far each request is, and a form for a new one.

use axum::Form;
use axum::extract::{Query, State};
use kit::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use united::Migration;
use united::migrations::state_name;
use web::Problem;
use wire::united::MigrationRequest;

use super::{business_address, heading, rooms, ssku_address, words};
use crate::Console;
use crate::frame::{csrf, empty, page, see_other};
use crate::pages::Answer;
use crate::visit::Visit;
use crate::words::{encoded, time};

const ADDRESS: &str = "/console/silver/migrations";
const PAGE: usize = 50;

#[derive(Default, Deserialize)]
pub(super) struct Wanted {
    /// The target.
    #[serde(default)]
    business: String,
    after: Option<String>,
}

impl Wanted {
    fn target(&self) -> Option<u32> {
        let business = Some(self.business.trim()).filter(|text| !text.is_empty());
        business.map(|text| text.parse().unwrap_or(0))
    }
}

#[derive(Default, Deserialize)]
pub(super) struct Asked {
    request_id: String,
    source: String,
    target: String,
    shop_sku: String,
}

pub(super) async fn show(
    State(console): State<Console>,
    visit: Visit,
    Query(wanted): Query<Wanted>,
) -> Answer {
    // A request that is sent twice by the same form is one.
    let asked = Asked { request_id: kit::random_id(), ..Asked::default() };
    render(&console, &visit, &wanted, &asked, None).await
}

/// Moves an offer to another business; what cannot be is said above the form, which keeps what was written.
pub(super) async fn ask(State(console): State<Console>, visit: Visit, Form(asked): Form<Asked>) -> Answer {
    visit.require_service()?;
    // No business has the number 0, so what is no number is refused as such.
    let number = |text: &str| text.trim().parse().unwrap_or(0);
    let request = MigrationRequest {
        request_id: asked.request_id.trim().to_owned(),
        source_business_id: number(&asked.source),
        target_business_id: number(&asked.target),
        shop_sku: asked.shop_sku.trim().to_owned(),
    };
    let target = request.target_business_id;
    match console.silver.united.migrate(request).await.map_err(Problem::from) {
        Ok(_) => Ok(see_other(&format!("{ADDRESS}?business={target}"))),
        Err(problem) => render(&console, &visit, &Wanted::default(), &asked, Some(problem)).await,
    }
}

async fn render(
    console: &Console,
    visit: &Visit,
    wanted: &Wanted,
    asked: &Asked,
    refused: Option<Problem>,
) -> Answer {
    visit.require_service()?;
    let after = wanted.after.as_deref().and_then(super::key_of);
    let after = after.as_ref().map(|key| (key.business, key.shop_sku.as_str()));
    let found = console.silver.united.migrations(wanted.target(), after, PAGE + 1).await;
    let mut found = found.map_err(|error| visit.refused(error))?;
    let more = found.len() > PAGE;
    found.truncate(PAGE);
    let content = html! {
        (rooms(visit))
        form.search action=(ADDRESS) role="search" {
            span.field { label for="business" { (visit.say("To business", "В бизнес")) }
                input #business name="business" inputmode="numeric" pattern="[0-9]{0,10}" maxlength="10" value=(wanted.business); }
            button { (visit.say("Show", "Показать")) }
        }
        div #migration-list data-live {
            (table(visit, &found))
            @if let Some(last) = found.last().filter(|_| more) {
                @let cursor = encoded(&format!("{}:{}", last.target, last.request_id));
                p.pager { a rel="next" href=(format!("{ADDRESS}?business={}&after={cursor}", encoded(&wanted.business))) {
                    (visit.say("More migrations", "Ещё переезды")) } }
            }
        }
        (form(visit, asked, refused.as_ref()))
    };
    let mut response =
        page(visit, &heading(visit, visit.say("Migrations", "Переезды")).live(3_000), &content);
    if let Some(problem) = &refused {
        *response.status_mut() = problem.code.status();
    }
    Ok(response)
}

fn table(visit: &Visit, found: &[Migration]) -> Markup {
    if found.is_empty() {
        return empty(visit.say("No offer was asked to move.", "Переездов не было."));
    }
    html! {
        div.scroll tabindex="0" { table {
            thead { tr {
                th { (visit.say("Offer", "Предложение")) }
                th { (visit.say("From", "Откуда")) }
                th { (visit.say("To", "Куда")) }
                th { (visit.say("State", "Состояние")) }
                th { (visit.say("Asked", "Запрошен")) }
                th { (visit.say("Done", "Завершён")) }
                th { (visit.say("Request", "Запрос")) }
            } }
            tbody { @for one in found { (line(visit, one)) } }
        } }
    }
}

fn line(visit: &Visit, one: &Migration) -> Markup {
    let state = state_name(one.row.state());
    let class = if state == "done" { "succeeded" } else { "in_progress" };
    html! {
        tr {
            td { a href=(ssku_address(one.target, &one.row.shop_sku)) { bdi { (one.row.shop_sku) } } }
            td { a href=(business_address(one.row.source_business_id)) { (one.row.source_business_id) } }
            td { a href=(business_address(one.target)) { (one.target) } }
            td { span class=(format!("chip {class}")) { (words::migration_state(visit, state)) }
                @if !one.row.note.is_empty() { br; span.faint { bdi { (one.row.note) } } } }
            td { (time(Timestamp(one.row.asked_at))) }
            td { @if one.row.done_at != 0 { (time(Timestamp(one.row.done_at))) } @else { "—" } }
            td.value { code { bdi { (one.request_id) } } }
        }
    }
}

fn form(visit: &Visit, asked: &Asked, refused: Option<&Problem>) -> Markup {
    let number = |id: &str, name: &str, value: &str| {
        html! {
            label for=(id) { (name) }
            input id=(id) name=(id) required inputmode="numeric" pattern="[0-9]{1,10}" maxlength="10" value=(value);
        }
    };
    html! {
        form.card.narrow method="post" action=(ADDRESS) aria-labelledby="ask" {
            (csrf(visit))
            h2 #ask { (visit.say("Move an offer", "Перевезти предложение")) }
            @if let Some(problem) = refused { div.notice.bad role="alert" { p { bdi { (problem.detail) } } } }
            (number("source", visit.say("From business", "Из бизнеса"), &asked.source))
            (number("target", visit.say("To business", "В бизнес"), &asked.target))
            label for="shop_sku" { "SSKU" }
            input #shop_sku name="shop_sku" required maxlength="512" value=(asked.shop_sku);
            label for="request_id" { (visit.say("Id of the request: a repeat under it changes nothing",
                "Идентификатор запроса: повтор ничего не меняет")) }
            input #request_id name="request_id" required maxlength="128" value=(asked.request_id);
            button.main { (visit.say("Move", "Перевезти")) }
        }
    }
}
