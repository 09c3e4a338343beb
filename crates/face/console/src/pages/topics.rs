//! Topics: how fast they grow, how far behind their readers are, and their last records, decoded.

use axum::extract::{Path, State};
use maud::{Markup, html};
use topics::{Lag, Record};

use super::overview::streams;
use super::{Answer, letters, pipeline};
use crate::frame::{Heading, empty, page};
use crate::visit::Visit;
use crate::words::{bytes, number, time};
use crate::{Console, decode};

const TAIL: usize = 10;
/// More of a record is not shown.
const SHOWN_CHARACTERS: usize = 4_000;

pub(crate) async fn list(State(console): State<Console>, visit: Visit) -> Answer {
    visit.require_service()?;
    let streams = streams(&console, &visit).await?;
    let content = html! {
        div #streams data-live { (pipeline::table(&visit, &streams)) }
        (letters::section(&console, &visit, None).await?)
    };
    Ok(page(&visit, &Heading::new(visit.say("Topics", "Топики")).live(2_000), &content))
}

pub(crate) async fn show(State(console): State<Console>, visit: Visit, Path(topic): Path<String>) -> Answer {
    visit.require_service()?;
    let refused = |error| visit.refused(error);
    console.topics.describe(&topic).await.map_err(refused)?;
    let records = console.topics.tail(&topic, TAIL).await.map_err(refused)?;
    let mut lags = Vec::new();
    for group in console.topics.groups(&topic).await.map_err(refused)? {
        let lag = console.topics.lag(&topic, &group).await.map_err(refused)?;
        lags.push((group, lag));
    }
    let content = html! {
        section aria-labelledby="readers" {
            h2 #readers { (visit.say("Readers", "Читатели")) }
            div #lags data-live { (lag_table(&visit, &lags)) }
        }
        section aria-labelledby="tail" {
            h2 #tail { (visit.say("Last records", "Последние записи")) }
            div #records data-live {
                @if records.is_empty() { (empty(visit.say("The topic is empty.", "Топик пуст."))) }
                @for record in records.iter().rev() { (one(&visit, &topic, record)) }
            }
        }
        (letters::section(&console, &visit, Some(&topic)).await?)
    };
    let heading = Heading::new(&topic).below("/console/topics", visit.say("Topics", "Топики")).live(2_000);
    Ok(page(&visit, &heading, &content))
}

fn lag_table(visit: &Visit, lags: &[(String, Vec<Lag>)]) -> Markup {
    if lags.is_empty() {
        return empty(visit.say("Nobody reads it.", "Его никто не читает."));
    }
    let partitions = lags.iter().map(|(_, lags)| lags.len()).max().unwrap_or(0);
    html! {
        div.scroll tabindex="0" { table.lags {
            thead { tr {
                th { (visit.say("Group", "Группа")) }
                th.number { (visit.say("Behind", "Отстаёт")) }
                @for partition in 0..partitions { th.number { (partition) } }
            } }
            tbody {
                @for (group, lags) in lags {
                    tr {
                        td { (group) }
                        td.number { strong { (number(lags.iter().map(|lag| lag.lag).sum())) } }
                        @for lag in lags {
                            td.number class=[(lag.lag > 0).then_some("late")]
                                title=(format!("{}–{}", lag.ends.low, lag.ends.high)) { (number(lag.lag)) }
                        }
                    }
                }
            }
        } }
    }
}

pub(super) fn one(visit: &Visit, topic: &str, record: &Record) -> Markup {
    let text = decode::payload(topic, &record.payload);
    let cut: String = text.chars().take(SHOWN_CHARACTERS).collect();
    html! {
        article.card.document {
            header {
                h3 { bdi { (String::from_utf8_lossy(&record.key)) } }
                span.faint { (record.partition) "/" (record.offset) ", " (bytes(visit, record.payload.len() as i64)) ", "
                    (time(record.timestamp)) }
            }
            pre tabindex="0" { code { bdi { (cut) } @if cut.len() < text.len() { "…" } } }
            @if !record.headers.is_empty() {
                p.faint { (visit.say("Headers: ", "Заголовки: "))
                    @for (name, value) in &record.headers { code { (name) "=" (String::from_utf8_lossy(value)) } " " } }
            }
        }
    }
}
