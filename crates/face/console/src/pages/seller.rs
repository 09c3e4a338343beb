//! A seller: feeds with their state and history, counts, and a new feed.

use axum::Form;
use axum::extract::{Path, State};
use axum::response::Response;
use feeds::FeedKey;
use feeds::api::{FeedItem, LoadItem};
use feeds::history;
use maud::{Markup, html};
use serde::Deserialize;

use super::{Answer, feed_address, load_address, own_feed_key, seller_address};
use crate::frame::{Heading, chip, csrf, empty, figure, page, see_other};
use crate::visit::{Refusal, Visit};
use crate::words::{self, number, time};
use crate::{Console, charts};

/// Loads of each feed that the chart shows.
const SHOWN_LOADS: usize = 20;

pub(crate) async fn show(State(console): State<Console>, visit: Visit, Path(seller): Path<String>) -> Answer {
    visit.require_seller(&seller)?;
    let counts = console.offers.counts(&seller).await.map_err(|error| visit.offers(error))?;
    let views = history::feeds_of(&console.feeds, &seller).await.map_err(|error| visit.refused(error))?;
    let mut found = Vec::new();
    for view in views {
        let loads = loads_of(&console, &visit, &view.key, SHOWN_LOADS).await?;
        found.push((view.key.clone(), FeedItem::of(&view, visit.language), loads));
    }
    let cabinet = |preset: &str| format!("{}/offers?preset={preset}", seller_address(&seller));
    let content = html! {
        section aria-labelledby="offers" {
            h2 #offers { (visit.say("Offers", "Предложения")) }
            ul.figures #counts data-live {
                @for (preset, count) in &counts {
                    li { a.figure href=(cabinet(preset.name())) {
                        span.name { (words::preset(&visit, preset.name())) } " " span.value { (number(*count)) }
                    } }
                }
            }
        }
        section aria-labelledby="feeds" {
            h2 #feeds { (visit.say("Feeds", "Фиды")) }
            div #feed-list data-live {
                @if found.is_empty() { (empty(visit.say("There is no feed yet.", "Фидов пока нет."))) }
                @for (key, item, loads) in &found { (card(&visit, key, item, loads)) }
            }
        }
        (uploading(&visit, &seller, found.iter().map(|(key, item, _)| (key, item))))
        (new_feed(&visit, &seller))
    };
    let heading =
        Heading::new(&seller).below("/console/sellers", visit.say("Sellers", "Продавцы")).live(3_000);
    Ok(page(&visit, &heading, &content))
}

/// The newest loads of a feed.
pub(super) async fn loads_of(
    console: &Console,
    visit: &Visit,
    key: &FeedKey,
    limit: usize,
) -> Result<Vec<LoadItem>, Refusal> {
    let loads = history::loads(&console.feeds, key, None, limit).await;
    let loads = loads.map_err(|error| visit.refused(error))?;
    Ok(loads.iter().map(|load| LoadItem::of(load, visit.language)).collect())
}

fn card(visit: &Visit, key: &FeedKey, item: &FeedItem, loads: &[LoadItem]) -> Markup {
    html! {
        article.card {
            header {
                h3 { a href=(feed_address(key)) { (key.namespace) } }
                (state(visit, item, loads.first()))
            }
            (facts(visit, key, item, loads.first()))
            @if !loads.is_empty() { (charts::history(visit, loads, |id| load_address(key, id))) }
        }
    }
}

/// A feed is in the state of its last load, unless it is paused.
pub(super) fn state(visit: &Visit, item: &FeedItem, last: Option<&LoadItem>) -> Markup {
    if item.paused {
        return chip(visit, "paused");
    }
    html! { @if let Some(load) = last { (chip(visit, &load.status)) } }
}

pub(super) fn facts(visit: &Visit, key: &FeedKey, item: &FeedItem, last: Option<&LoadItem>) -> Markup {
    html! {
        dl.facts {
            div {
                dt { (visit.say("Source", "Источник")) }
                dd {
                    @match &item.url {
                        Some(url) => bdi.address { (url) },
                        None => (visit.say("files are uploaded", "файлы загружают вручную")),
                    }
                }
            }
            @if let Some(next) = item.next_fetch_at {
                div { dt { (visit.say("Next fetch", "Следующее скачивание")) } dd { (time(next)) } }
            }
            @if let Some(load) = last {
                div {
                    dt { (visit.say("Last load", "Последняя загрузка")) }
                    dd { a href=(load_address(key, &load.task_id)) { "№" (load.task_id) } " " (time(load.updated_at)) }
                }
                @if let Some(error) = &load.error {
                    div { dt { (visit.say("Says", "Сообщение")) } dd { bdi { (error.message) } } }
                }
            }
            @if item.failures > 0 {
                div {
                    dt { (visit.say("Failed downloads in a row", "Неудачных скачиваний подряд")) }
                    dd { (number(i64::from(item.failures))) }
                }
            }
        }
    }
}

/// The place to drop a file on; without the script it says how else a file can be sent.
fn uploading<'a>(
    visit: &Visit,
    seller: &str,
    found: impl Iterator<Item = (&'a FeedKey, &'a FeedItem)>,
) -> Markup {
    let mut into: Vec<&str> =
        found.filter(|(_, item)| item.url.is_none()).map(|(key, _)| key.namespace.as_str()).collect();
    if into.is_empty() {
        into.push(model::names::DEFAULT_NAMESPACE);
    }
    html! {
        section aria-labelledby="upload" {
            h2 #upload { (visit.say("Upload a file", "Загрузить файл")) }
            (drop_zone(visit, seller, &into))
        }
    }
}

pub(super) fn drop_zone(visit: &Visit, seller: &str, into: &[&str]) -> Markup {
    html! {
        div.drop data-upload=(seller_address(seller))
            data-done=(visit.say("The file has arrived.", "Файл принят."))
            data-failed=(visit.say("The file was not taken: ", "Файл не принят: ")) {
            div.fields {
                @if let [only] = into {
                    input type="hidden" name="namespace" value=(only);
                } @else {
                    label { (visit.say("Into the feed ", "В фид "))
                        select name="namespace" { @for name in into { option value=(name) { (name) } } }
                    }
                }
                label.file { (visit.say("Choose a file, or drop it here ", "Выберите файл или перетащите его сюда "))
                    input type="file" name="file";
                }
                label { input type="checkbox" name="dry_run"; " "
                    (visit.say("only tell what would change", "только показать, что изменится")) }
            }
            progress max="1" value="0" hidden aria-label=(visit.say("Upload", "Отправка")) {}
            p.said role="status" {}
            noscript { p.faint {
                (visit.say("Without JavaScript, send it with ", "Без JavaScript файл можно отправить командой "))
                code { "dvor feed upload FILE --seller " (seller) }
            } }
        }
    }
}

fn new_feed(visit: &Visit, seller: &str) -> Markup {
    html! {
        details.card {
            summary { (visit.say("New feed from an address", "Новый фид по адресу")) }
            form method="post" action=(format!("{}/feeds", seller_address(seller))) {
                (csrf(visit))
                label for="namespace" { (visit.say("Name", "Имя")) }
                input #namespace name="namespace" required pattern="[a-z0-9_\\-]{1,64}" value="default"
                    aria-describedby="namespace-help";
                p.faint #namespace-help { "a-z, 0-9, _ -" }
                label for="url" { (visit.say("Address of the file", "Адрес файла")) }
                input #url name="url" type="url" required placeholder="https://";
                button.main { (visit.say("Fetch it from now on", "Скачивать регулярно")) }
            }
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct NewFeed {
    namespace: String,
    url: String,
}

pub(crate) async fn make_feed(
    State(console): State<Console>,
    visit: Visit,
    Path(seller): Path<String>,
    Form(new): Form<NewFeed>,
) -> Result<Response, Refusal> {
    let key = own_feed_key(&visit, &seller, &new.namespace)?;
    if let Ok(view) = history::feed(&console.feeds, &key).await
        && view.feed.settings.is_some_and(|settings| !settings.url.is_empty())
    {
        let detail = visit.say(
            "there is a feed of this name; change it on its page",
            "фид с таким именем уже есть; измените его на его странице",
        );
        return Err(visit.refused(web::Problem::new(web::Code::Conflict, detail)));
    }
    let mut settings = feeds::feed::default_settings(&console.feeds);
    settings.url = new.url.trim().to_owned();
    feeds::feed::put(&console.feeds, &key, settings).await.map_err(|error| visit.refused(error))?;
    Ok(see_other(&feed_address(&key)))
}

/// The seller's counters, for the cabinet.
pub(super) async fn counters(console: &Console, visit: &Visit, seller: &str) -> Result<Markup, Refusal> {
    let found = console.offers.counters(seller).await.map_err(|error| visit.offers(error))?;
    Ok(html! {
        dl.figures #counters data-live {
            (figure(visit.say("Sold here", "Продано здесь"), found.sold))
            @for (currency, minor) in &found.money_earned {
                div.figure {
                    dt { (visit.say("Earned", "Заработано")) }
                    dd { (model::money::amount(&model::Money { minor: *minor, currency: currency.clone() })) " " (currency) }
                }
            }
        }
    })
}
