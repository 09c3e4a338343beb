//! A feed: its state, its settings, its loads.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use feeds::api::{FeedItem, LoadItem, Missing};
use feeds::{FeedKey, history};
use maud::{Markup, html};
use serde::Deserialize;
use wire::feeds::OnMissing;

use super::seller::{drop_zone, facts, state};
use super::{Answer, feed_address, feed_key, load_address, own_feed_key, seller_address};
use crate::frame::{Heading, act, chip, csrf, empty, page, see_other};
use crate::visit::{Refusal, Visit};
use crate::words::{bytes, number, source, time};
use crate::{Console, charts};

const PAGE: usize = 20;

#[derive(Deserialize)]
pub(crate) struct Wanted {
    before: Option<i64>,
}

pub(crate) async fn show(
    State(console): State<Console>,
    visit: Visit,
    Path((seller, namespace)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
) -> Answer {
    let key = feed_key(&visit, &seller, &namespace)?;
    let view = history::feed(&console.feeds, &key).await.map_err(|error| visit.refused(error))?;
    let item = FeedItem::of(&view, visit.language);
    let loads = history::loads(&console.feeds, &key, wanted.before, PAGE + 1).await;
    let loads = loads.map_err(|error| visit.refused(error))?;
    let more = loads.len() > PAGE;
    let loads: Vec<_> = loads.iter().take(PAGE).map(|load| LoadItem::of(load, visit.language)).collect();
    let newest = if wanted.before.is_none() { loads.first() } else { None };
    let content = html! {
        div #state data-live {
            p { (state(&visit, &item, newest)) }
            (facts(&visit, &key, &item, newest))
        }
        (verbs(&visit, &key, &item))
        @if item.url.is_none() {
            section aria-labelledby="upload" {
                h2 #upload { (visit.say("Upload a file", "Загрузить файл")) }
                (drop_zone(&visit, &key.seller, &[&key.namespace]))
            }
        }
        section aria-labelledby="loads" {
            h2 #loads { (visit.say("Loads", "Загрузки")) }
            div #load-list data-live {
                @if !loads.is_empty() { (charts::history(&visit, &loads, |id| load_address(&key, id))) }
                (table(&visit, &key, &loads))
            }
            @if let Some(last) = loads.last().filter(|_| more) {
                p.pager { a rel="next" href=(format!("{}?before={}", feed_address(&key), last.task_id)) {
                    (visit.say("Older loads", "Более ранние загрузки"))
                } }
            }
        }
        (settings(&visit, &key, &item))
    };
    let heading = Heading::new(&key.namespace)
        .below("/console/sellers", visit.say("Sellers", "Продавцы"))
        .below(seller_address(&key.seller), &key.seller)
        .live(3_000);
    Ok(page(&visit, &heading, &content))
}

fn verbs(visit: &Visit, key: &FeedKey, item: &FeedItem) -> Markup {
    let to = |verb: &str| format!("{}/{verb}", feed_address(key));
    html! {
        div.verbs {
            @if item.url.is_some() && !item.paused {
                (act(visit, &to("fetch"), "main", visit.say("Fetch now", "Скачать сейчас")))
            }
            @if item.paused {
                (act(visit, &to("resume"), "main", visit.say("Resume", "Возобновить")))
            } @else {
                (act(visit, &to("pause"), "", visit.say("Pause", "Приостановить")))
            }
        }
    }
}

fn table(visit: &Visit, key: &FeedKey, loads: &[LoadItem]) -> Markup {
    if loads.is_empty() {
        return empty(visit.say("Nothing was loaded yet.", "Загрузок пока не было."));
    }
    html! {
        div.scroll tabindex="0" { table {
            thead { tr {
                th { "№" }
                th { (visit.say("State", "Состояние")) }
                th { (visit.say("When", "Когда")) }
                th { (visit.say("File", "Файл")) }
                th.number { (visit.say("Created", "Создано")) }
                th.number { (visit.say("Updated", "Обновлено")) }
                th.number { (visit.say("Unchanged", "Без изменений")) }
                th.number { (visit.say("Rejected", "Отклонено")) }
                th.number { (visit.say("Deleted", "Удалено")) }
            } }
            tbody {
                @for load in loads {
                    tr {
                        td { a href=(load_address(key, &load.task_id)) { (load.task_id) } }
                        td {
                            (chip(visit, &load.status))
                            @if load.repeats > 1 { " ×" (number(load.repeats)) }
                            @if load.dry_run { " " span.faint { (visit.say("dry run", "пробная")) } }
                        }
                        td { (time(load.created_at)) }
                        td.file { (source(visit, &load.source)) " " bdi.faint { (load.source_name) }
                            @if load.progress.bytes_total > 0 { " " span.faint { (bytes(visit, load.progress.bytes_total)) } } }
                        td.number { (number(load.statistics.created)) }
                        td.number { (number(load.statistics.updated)) }
                        td.number { (number(load.statistics.unchanged)) }
                        td.number { (number(load.statistics.rejected)) }
                        td.number { (number(load.statistics.deleted)) }
                    }
                }
            }
        } }
    }
}

fn settings(visit: &Visit, key: &FeedKey, item: &FeedItem) -> Markup {
    let manual = item.on_missing == Missing::MakeManual;
    html! {
        details.card {
            summary { (visit.say("Settings", "Настройки")) }
            form method="post" action=(format!("{}/settings", feed_address(key))) {
                (csrf(visit))
                label for="url" { (visit.say("Address; empty keeps it as it is", "Адрес; пустое поле оставит прежний")) }
                input #url name="url" type="url" placeholder=(item.url.as_deref().unwrap_or("https://"));
                label for="period" { (visit.say("Fetched every … minutes", "Скачивать раз в … минут")) }
                input #period name="period_minutes" type="number" min="1" required value=(item.period_minutes);
                label for="missing" { (visit.say("Offers that the file no longer has", "Предложения, которых больше нет в файле")) }
                select #missing name="on_missing" {
                    option value="delete" selected[!manual] { (visit.say("are deleted", "удаляются")) }
                    option value="make_manual" selected[manual] { (visit.say("stay, as if made by hand", "остаются как созданные вручную")) }
                }
                label for="guard" { (visit.say("Ask me when more than … % would go (0: never)",
                    "Спрашивать, если исчезнет больше … % (0: никогда)")) }
                input #guard name="guard_percent" type="number" min="0" max="100" required value=(item.guard_percent);
                button.main { (visit.say("Save", "Сохранить")) }
            }
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct Change {
    #[serde(default)]
    url: String,
    period_minutes: i64,
    on_missing: Missing,
    guard_percent: u32,
}

pub(crate) async fn change(
    State(console): State<Console>,
    visit: Visit,
    Path((seller, namespace)): Path<(String, String)>,
    Form(change): Form<Change>,
) -> Result<Response, Refusal> {
    let key = own_feed_key(&visit, &seller, &namespace)?;
    let view = history::feed(&console.feeds, &key).await.map_err(|error| visit.refused(error))?;
    // What the form does not show stays as it is, the url's password and the webhook's secret among it.
    let mut settings = view.feed.settings.unwrap_or_default();
    if !change.url.trim().is_empty() {
        change.url.trim().clone_into(&mut settings.url);
    }
    settings.period_minutes = change.period_minutes;
    settings.on_missing = OnMissing::from(change.on_missing).into();
    settings.guard_percent = change.guard_percent;
    feeds::feed::put(&console.feeds, &key, settings).await.map_err(|error| visit.refused(error))?;
    Ok(see_other(&feed_address(&key)))
}
