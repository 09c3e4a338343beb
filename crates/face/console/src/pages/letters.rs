//! Records of topics that could not be applied.

use axum::Form;
use axum::extract::{Path, State};
use maud::{Markup, html};
use serde::Deserialize;
use topics::dead_letters::{self, Filter, Id};
use web::Problem;

use super::Answer;
use crate::Console;
use crate::frame::{csrf, empty, see_other};
use crate::visit::{Refusal, Visit};
use crate::words::{encoded, number, time};

const SHOWN: usize = 50;

/// The letters of one topic, or of all.
pub(super) async fn section(
    console: &Console,
    visit: &Visit,
    topic: Option<&str>,
) -> Result<Markup, Refusal> {
    let mut found = Vec::new();
    match topic {
        None => found = list(console, visit, &Filter::default()).await?,
        Some(topic) => {
            let groups = console.topics.groups(topic).await.map_err(|error| visit.refused(error))?;
            for group in groups {
                let filter = Filter { group: Some(group), topic: Some(topic.to_owned()) };
                found.extend(list(console, visit, &filter).await?);
            }
        }
    }
    let admin = visit.access.require_admin().is_ok();
    Ok(html! {
        section aria-labelledby="letters" {
            h2 #letters { (visit.say("Dead letters", "Непринятые записи")) }
            div #letter-list data-live {
                @if found.is_empty() {
                    (empty(visit.say("None: every record was applied.", "Нет: все записи приняты.")))
                } @else { div.scroll tabindex="0" { table {
                    thead { tr {
                        th { (visit.say("Record", "Запись")) }
                        th { (visit.say("Why", "Почему")) }
                        th { (visit.say("When", "Когда")) }
                        th.number { (visit.say("Tries", "Попыток")) }
                        th {}
                    } }
                    tbody {
                        @for letter in &found {
                            tr {
                                td { code { (letter.id.topic) " " (letter.id.partition) "/" (letter.id.offset) } br;
                                    span.faint { (letter.id.group) } }
                                td.value { bdi { (letter.reason) } }
                                td { (time(letter.failed_at)) }
                                td.number { (number(i64::from(letter.attempts))) }
                                td { @if admin { (verbs(visit, &letter.id)) } }
                            }
                        }
                    }
                } } }
            }
        }
    })
}

async fn list(
    console: &Console,
    visit: &Visit,
    filter: &Filter,
) -> Result<Vec<dead_letters::DeadLetter>, Refusal> {
    dead_letters::list(&console.topics, filter, None, SHOWN).await.map_err(|error| visit.refused(error))
}

fn verbs(visit: &Visit, id: &Id) -> Markup {
    html! {
        @for (verb, name) in [("retry", visit.say("Retry", "Повторить")), ("drop", visit.say("Drop", "Выбросить"))] {
            form.inline method="post" action=(format!("/console/topics/{}/letters/{verb}", encoded(&id.topic))) {
                (csrf(visit))
                input type="hidden" name="group" value=(id.group);
                input type="hidden" name="incarnation" value=(id.incarnation);
                input type="hidden" name="partition" value=(id.partition);
                input type="hidden" name="offset" value=(id.offset);
                button { (name) }
            }
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct Which {
    group: String,
    incarnation: String,
    partition: u32,
    offset: i64,
}

pub(crate) async fn retry(
    State(console): State<Console>,
    visit: Visit,
    Path(topic): Path<String>,
    Form(which): Form<Which>,
) -> Answer {
    let id = noted(&console, &visit, topic, which, "dead_letter.retry").await?;
    let found = dead_letters::retry(&console.topics, &id).await.map_err(|error| visit.refused(error))?;
    back(&visit, &id, found)
}

pub(crate) async fn discard(
    State(console): State<Console>,
    visit: Visit,
    Path(topic): Path<String>,
    Form(which): Form<Which>,
) -> Answer {
    let id = noted(&console, &visit, topic, which, "dead_letter.drop").await?;
    let found = dead_letters::drop(&console.topics, &id).await.map_err(|error| visit.refused(error))?;
    back(&visit, &id, found)
}

/// Notes an admin's act, as the API does.
async fn noted(
    console: &Console,
    visit: &Visit,
    topic: String,
    which: Which,
    what: &str,
) -> Result<Id, Refusal> {
    visit.require_admin()?;
    let Which { group, incarnation, partition, offset } = which;
    let whom = format!("{topic} {group} {partition}/{offset}");
    console.doors.audit(&visit.access, what, &whom).await.map_err(|problem| visit.refused(problem))?;
    Ok(Id { group, topic, incarnation, partition, offset })
}

fn back(visit: &Visit, id: &Id, found: bool) -> Answer {
    if found {
        Ok(see_other(&format!("/console/topics/{}#letters", encoded(&id.topic))))
    } else {
        Err(visit.refused(Problem::not_found("there is no such dead letter")))
    }
}
