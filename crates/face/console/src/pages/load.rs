//! A load: how far it is, what became of its offers, what is wrong with them, and what a person can say to it.

use axum::extract::{Path, Query, State};
use feeds::FeedKey;
use feeds::api::LoadItem;
use feeds::excerpt::{self, Excerpt};
use feeds::history;
use maud::{Markup, html};

use super::errors::{self, Wanted};
use super::{Answer, feed_address, load_address, load_key, seller_address};
use crate::frame::{Heading, act, chip, page};
use crate::visit::{Refusal, Visit};
use crate::words::{bytes, number, source, span, time};
use crate::{Console, charts};

pub(crate) async fn show(
    State(console): State<Console>,
    visit: Visit,
    Path(path): Path<(String, String, String)>,
    Query(wanted): Query<Wanted>,
) -> Answer {
    let (key, task_id) = load_key(&visit, &path)?;
    let load = history::load(&console.feeds, &key, task_id).await.map_err(|error| visit.refused(error))?;
    let item = LoadItem::of(&load, visit.language);
    let ended = feeds::tasks::is_final(load.task.status());
    let line =
        wanted.line.or_else(|| item.error.as_ref().and_then(|error| error.line)).filter(|line| *line > 0);
    let shown = match line {
        Some(line) => Some((line, seen(&console, &visit, &key, task_id, line).await?)),
        None => None,
    };
    let content = html! {
        div #state data-live { (summary(&visit, &item)) }
        div #verbs data-live { (verbs(&visit, &key, &item, ended)) }
        div #progress data-live { (progress(&visit, &item, ended)) }
        section aria-labelledby="statistics" {
            h2 #statistics { (visit.say("What became of the offers", "Что стало с предложениями")) }
            div #bar data-live { (charts::bar(&visit, &item.statistics)) }
            @if !item.samples.is_empty() { (samples(&visit, &item)) }
        }
        @if let Some((line, excerpt)) = &shown { (excerpt_of(&visit, *line, excerpt)) }
        (errors::section(&console, &visit, &key, &item, &wanted).await?)
    };
    let title = format!("{} {}", visit.say("Load", "Загрузка"), item.task_id);
    let mut heading = Heading::new(title)
        .below("/console/sellers", visit.say("Sellers", "Продавцы"))
        .below(seller_address(&key.seller), &key.seller)
        .below(feed_address(&key), &key.namespace);
    if !ended {
        heading = heading.live(700);
    }
    Ok(page(&visit, &heading, &content))
}

fn summary(visit: &Visit, item: &LoadItem) -> Markup {
    html! {
        p {
            (chip(visit, &item.status)) " "
            @if item.dry_run { strong { (visit.say("dry run: nothing was changed", "пробная: ничего не изменено")) } }
        }
        @if let Some(error) = &item.error {
            div.notice.bad {
                p { bdi { (error.message) }
                    @if let Some(line) = error.line {
                        " (" (visit.say("line", "строка")) " " (number(line))
                        @if let Some(column) = error.column { ", " (visit.say("column", "столбец")) " " (number(column)) }
                        ")"
                    }
                }
            }
        }
        dl.facts {
            div { dt { (visit.say("Began", "Начата")) } dd { (time(item.created_at)) } }
            @if let Some(at) = item.finished_at {
                div { dt { (visit.say("Ended", "Закончена")) }
                    dd { (time(at)) " (" (span(visit, at.since(item.created_at))) ")" } }
            }
            div { dt { (visit.say("File", "Файл")) }
                dd { (source(visit, &item.source)) " " bdi.address { (item.source_name) }
                    @if item.progress.bytes_total > 0 { " " (bytes(visit, item.progress.bytes_total)) } } }
        }
    }
}

fn verbs(visit: &Visit, key: &FeedKey, item: &LoadItem, ended: bool) -> Markup {
    let to = |verb: &str| format!("{}/{verb}", load_address(key, &item.task_id));
    html! {
        @if let Some(held) = item.held.as_ref().filter(|_| item.status == "needs_confirmation") {
            div.notice.ask role="alert" {
                p {
                    (visit.say("This load would take away ", "Эта загрузка удалит ")) strong { (number(held.would_go)) }
                    (visit.say(" of ", " из ")) strong { (number(held.live_before)) }
                    (visit.say(" offers that were there before it. Is that right?", " предложений, которые были до неё. Всё верно?"))
                }
                div.verbs {
                    (act(visit, &to("confirm"), "main", visit.say("Yes, take them away", "Да, удалить их")))
                    (act(visit, &to("reject"), "", visit.say("No, keep them", "Нет, оставить")))
                }
            }
        }
        div.verbs {
            @if matches!(item.status.as_str(), "queued" | "in_progress") {
                (act(visit, &to("cancel"), "", visit.say("Cancel", "Отменить")))
            }
            @if ended && item.progress.bytes_total > 0 {
                (act(visit, &to("rerun"), "", visit.say("Load this file again", "Загрузить этот файл ещё раз")))
            }
        }
    }
}

fn progress(visit: &Visit, item: &LoadItem, ended: bool) -> Markup {
    let done = &item.progress;
    if ended || item.status == "needs_confirmation" {
        return html! {};
    }
    html! {
        label.progress {
            (visit.say("Read ", "Прочитано ")) (bytes(visit, done.bytes_read)) " / " (bytes(visit, done.bytes_total))
            progress max=(done.bytes_total.max(1)) value=(done.bytes_read) {}
        }
        label.progress {
            (visit.say("Answered batches ", "Отвечено пачек ")) (number(done.batches_acknowledged)) " / " (number(done.batches_sent))
            ", " (visit.say("offers ", "предложений ")) (number(done.offers))
            progress max=(done.batches_sent.max(1)) value=(done.batches_acknowledged) {}
        }
    }
}

fn samples(visit: &Visit, item: &LoadItem) -> Markup {
    html! {
        details {
            summary { (visit.say("Examples of what would change", "Примеры того, что изменится")) }
            div.scroll tabindex="0" { table {
                tbody {
                    @for sample in &item.samples {
                        @for difference in &sample.differences {
                            tr {
                                td { bdi { (sample.external_id) } }
                                td { bdi { (sample.title) } }
                                td { code { (difference.path) } }
                                td { bdi { (difference.from) } }
                                td { "→ " bdi { (difference.to) } }
                            }
                        }
                    }
                }
            } }
        }
    }
}

/// What stands in the file there. Of a collected feed only services may see it, as its errors.
pub(super) async fn seen(
    console: &Console,
    visit: &Visit,
    key: &FeedKey,
    task_id: i64,
    line: i64,
) -> Result<Excerpt, Refusal> {
    if key.is_parsed() {
        visit.require_service()?;
    }
    let found = excerpt::around(&console.feeds, key, task_id, line.max(1) as u64).await;
    found.map_err(|error| visit.refused(error))
}

pub(super) fn excerpt_of(visit: &Visit, wanted: i64, excerpt: &Excerpt) -> Markup {
    let other =
        |english: &'static str, russian: &'static str| html! { p.empty { (visit.say(english, russian)) } };
    html! {
        section #line aria-labelledby="line-title" {
            h2 #line-title { (visit.say("Line ", "Строка ")) (number(wanted)) (visit.say(" of the file", " файла")) }
            @match excerpt {
                Excerpt::Lines(lines) => {
                    div.scroll tabindex="0" { table.source { tbody {
                        @for line in lines {
                            tr class=[(line.number == wanted as u64).then_some("wanted")] {
                                th.number scope="row" { (line.number) }
                                td { code { bdi { (line.text) } @if line.is_cut { "…" } } }
                            }
                        }
                    } } }
                },
                Excerpt::Gone => (other("The file is no longer kept.", "Файл больше не хранится.")),
                Excerpt::Beyond => (other("The file ends before this line.", "Файл кончается раньше этой строки.")),
                Excerpt::TooFar => (other("The line is too far into the file to be shown here.",
                    "Строка слишком далеко от начала файла, чтобы показать её здесь.")),
                Excerpt::Broken(reason) => p.empty { (reason) },
            }
        }
    }
}
