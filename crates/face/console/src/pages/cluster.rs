//! The processes that share the work.

use axum::extract::State;
use maud::html;

use super::Answer;
use crate::Console;
use crate::frame::{Heading, empty, page};
use crate::visit::Visit;
use crate::words::{number, time};

pub(crate) async fn show(State(console): State<Console>, visit: Visit) -> Answer {
    visit.require_admin()?;
    let members = console.cluster.members().await.map_err(|error| visit.refused(error))?;
    // A role's tokens are as many as its living members hold together.
    let all = |role: &str| {
        let alive = members.iter().filter(|member| member.alive);
        alive.filter_map(|member| member.tokens.get(role)).sum::<u32>().max(1)
    };
    let content = html! {
        div #members data-live {
            @if members.is_empty() { (empty(visit.say("There is no process.", "Процессов нет."))) }
            @for member in &members {
                article.card {
                    header {
                        h2 { code { (member.id) } }
                        @if member.alive { span.chip.succeeded { (visit.say("alive", "работает")) } }
                        @else if member.leaving { span.chip.paused { (visit.say("has left", "ушёл")) } }
                        @else { span.chip.failed { (visit.say("silent", "молчит")) } }
                    }
                    dl.facts {
                        div { dt { (visit.say("Version", "Версия")) } dd { (member.version) } }
                        div { dt { (visit.say("Since", "Работает с")) } dd { (time(member.since)) } }
                    }
                    div.scroll tabindex="0" { table.tokens {
                        thead { tr {
                            th { (visit.say("Role", "Роль")) }
                            th.number { (visit.say("Work tokens", "Рабочих токенов")) }
                            th { span.hidden { (visit.say("Share", "Доля")) } }
                        } }
                        tbody {
                            @for (role, count) in &member.tokens {
                                tr {
                                    td { (role) }
                                    td.number { (number(i64::from(*count))) }
                                    td { meter min="0" max=(all(role)) value=(count)
                                        aria-label=(format!("{role}: {count}")) {} }
                                }
                            }
                        }
                    } }
                }
            }
        }
    };
    Ok(page(&visit, &Heading::new(visit.say("Cluster", "Кластер")).live(3_000), &content))
}
