//! Records of topics that could not be applied.

use axum::Form;
use axum::extract::{Path, State};
use maud::{Markup, html};
use serde::Deserialize;
use topics::dead_letters::{self, Filter, Id};
use web::Problem;

use super::Answer;
use crate::Console;
use crate::failures::{self, Failed, Verbs};
use crate::frame::see_other;
use crate::visit::{Refusal, Visit};
use crate::words::encoded;

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
    let failed: Vec<_> = found.into_iter().map(|letter| shown(letter, admin)).collect();
    Ok(html! {
        section aria-labelledby="letters" {
            h2 #letters { (visit.say("Dead letters", "Непринятые записи")) }
            div #letter-list data-live {
                (failures::table(visit, visit.say("Record", "Запись"),
                    visit.say("None: every record was applied.", "Нет: все записи приняты."), &failed))
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

fn shown(letter: dead_letters::DeadLetter, can_act: bool) -> Failed {
    let Id { group, topic, incarnation, partition, offset } = letter.id;
    let name = format!("{topic} {partition}/{offset}");
    let verbs = Verbs {
        address: format!("/console/topics/{}/letters", encoded(&topic)),
        fields: vec![
            ("group", group.clone()),
            ("incarnation", incarnation),
            ("partition", partition.to_string()),
            ("offset", offset.to_string()),
        ],
    };
    Failed {
        what: html! { code { (name) } br; span.faint { (group) } },
        name,
        why: letter.reason,
        at: letter.failed_at,
        again_at: None,
        tries: letter.attempts,
        verbs: can_act.then_some(verbs),
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
