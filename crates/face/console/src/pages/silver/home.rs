//! The first page of master data: an SSKU looked up, and the steps of the import.

use axum::extract::{Query, State};
use maud::{Markup, html};
use serde::Deserialize;

use super::{business_of, funnel, owed, rooms, ssku_address};
use crate::Console;
use crate::frame::{Heading, page, see_other};
use crate::pages::Answer;
use crate::visit::{Refusal, Visit};
use crate::words::{number, time};

/// Hours that the funnel is about, besides the one that has begun.
const HOURS: [i64; 3] = [1, 6, 24];
/// More of a queue is not counted for a page that is asked for every few seconds.
const COUNTED: usize = 1_000;

#[derive(Deserialize)]
pub(super) struct Wanted {
    hours: Option<i64>,
}

pub(super) async fn show(
    State(console): State<Console>,
    visit: Visit,
    Query(wanted): Query<Wanted>,
) -> Answer {
    visit.require_service()?;
    let hours = wanted.hours.filter(|hours| HOURS.contains(hours)).unwrap_or(24);
    let stats = console.silver.stats(hours).await.map_err(|error| visit.refused(error))?;
    let content = html! {
        (rooms(&visit))
        (look_up(&visit))
        div #queues data-live { (queues(&console, &visit).await?) }
        section aria-labelledby="funnel" {
            h2 #funnel { (visit.say("Steps of the import", "Шаги импорта")) }
            ul.filters {
                @for choice in HOURS {
                    li { a href=(format!("/console/silver?hours={choice}")) aria-current=[(choice == hours).then_some("true")] {
                        (choice) " " (visit.say("h", "ч")) } }
                }
            }
            div #steps data-live {
                p.faint { (visit.say("Offers since ", "Предложения с ")) (time(stats.since))
                    (visit.say(", by all processes.", ", по всем процессам.")) }
                (funnel::funnel(&visit, &stats.steps))
            }
        }
    };
    Ok(page(&visit, &Heading::new(visit.say("Silver", "Серебро")).live(3_000), &content))
}

fn look_up(visit: &Visit) -> Markup {
    html! {
        form.search action="/console/silver/find" role="search" aria-label=(visit.say("Look an SSKU up", "Найти SSKU")) {
            span.field { label for="business" { (visit.say("Business", "Бизнес")) }
                input #business name="business" required inputmode="numeric" pattern="[0-9]{1,10}" maxlength="10"; }
            span.field { label for="sku" { "SSKU" } input #sku name="sku" required maxlength="512"; }
            button.main { (visit.say("Look up", "Найти")) }
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Sought {
    #[serde(default)]
    business: String,
    #[serde(default)]
    sku: String,
}

pub(super) async fn find(visit: Visit, Query(sought): Query<Sought>) -> Answer {
    visit.require_service()?;
    let business = business_of(&visit, &sought.business)?;
    Ok(see_other(&ssku_address(business, sought.sku.trim())))
}

/// What waits for somebody or something.
async fn queues(console: &Console, visit: &Visit) -> Result<Markup, Refusal> {
    let waiting = console.silver.waiting(COUNTED).await.map_err(|error| visit.refused(error))?;
    let failures = owed(console, visit, COUNTED).await?;
    let count = |found: usize| {
        if found >= COUNTED { format!("{}+", number(COUNTED as i64)) } else { number(found as i64) }
    };
    let figures = [
        (visit.say("Failures", "Ошибки"), failures, Some("/console/silver/failures")),
        (visit.say("Wait for gold", "Ждут золота"), waiting.gold, None),
        (visit.say("Wait for ERP", "Ждут ERP"), waiting.erp, None),
    ];
    Ok(html! {
        ul.figures {
            @for (name, found, address) in figures {
                li {
                    @match address {
                        Some(address) => a.figure href=(address) { span.name { (name) } span.value { (count(found)) } },
                        None => div.figure { span.name { (name) } span.value { (count(found)) } },
                    }
                }
            }
        }
    })
}
