//! What goes on, and what needs a person.

use std::collections::BTreeMap;

use axum::extract::{Query, State};
use feeds::FeedKey;
use feeds::api::{FeedItem, LoadItem};
use feeds::history::{Glance, glance};
use maud::{Markup, html};
use serde::Deserialize;
use tokio::time::Instant;
use topics::dead_letters::{self, Filter};

use super::pipeline::{self, Stream};
use super::{Answer, feed_address, feed_key, load_address, seller_address, silver, stages};
use crate::Console;
use crate::frame::{Heading, chip, empty, page, see_other};
use crate::visit::{Refusal, Visit};
use crate::words::{encoded, number, time};

/// Feeds that are looked at for what needs a person, and for the latest loads. More of them are not walked for a page that
/// is asked for every few seconds; it says so, and goes on where it stopped.
const LOOKED_AT: usize = 500;
const RECENT: usize = 12;
const LETTERS: usize = 100;

/// Behind which feed to go on.
#[derive(Deserialize)]
pub(crate) struct Wanted {
    seller: Option<String>,
    feed: Option<String>,
}

pub(crate) async fn show(
    State(console): State<Console>,
    visit: Visit,
    Query(wanted): Query<Wanted>,
) -> Answer {
    if !visit.access.sees_all_sellers() {
        return Ok(see_other("/console/sellers"));
    }
    let streams = streams(&console, &visit).await?;
    let after = match (&wanted.seller, &wanted.feed) {
        (Some(seller), Some(feed)) => Some(feed_key(&visit, seller, feed)?),
        _ => None,
    };
    let (feeds, next) =
        glance(&console.feeds, after.as_ref(), LOOKED_AT).await.map_err(|error| visit.refused(error))?;
    let letters = dead_letters::list(&console.topics, &Filter::default(), None, LETTERS).await;
    let letters = letters.map_err(|error| visit.refused(error))?.len();
    let refused = match &console.snippets {
        Some(snippets) => snippets.letters(None, LETTERS).await.map_err(|error| visit.refused(error))?.len(),
        None => 0,
    };
    let owed = silver::owed(&console, &visit, LETTERS).await?;
    let stages = console.stages.summaries().await;
    let stages = stages.map_err(|error| visit.refused(::stages::api::problem(error)))?;
    let now = console.clock.now();
    let mut points = stages::needs(&visit, &stages, now);
    points.extend(list_needs(&[
        (silver::FAILURES, visit.say("SSKUs that are not imported", "SSKU не импортированы"), owed),
        ("/console/topics", visit.say("Dead letters of topics", "Непринятые записи топиков"), letters),
        ("/console/snippets#letters", visit.say("Letters of snippets", "Непринятые сниппеты"), refused),
    ]));
    let room = stages::room(&visit, &stages, now);
    let content = html! {
        section aria-labelledby="needs" {
            h2 #needs { (visit.say("Needs a person", "Нужен человек")) }
            div #need-list data-live { (needs(&visit, &feeds, &points)) }
            (looked_at(&visit, after.as_ref(), next.as_ref()))
        }
        section aria-labelledby="flow" {
            h2 #flow { (visit.say("The way of the data", "Путь данных")) }
            div.scroll #pipeline data-live tabindex="0" { (pipeline::picture(&visit, &streams, owed, &room)) }
            div #streams data-live { (pipeline::table(&visit, &streams)) }
        }
        section aria-labelledby="recent" {
            h2 #recent { (visit.say("Latest loads", "Последние загрузки")) }
            div #recent-list data-live { (recent(&visit, &feeds)) }
        }
    };
    let heading = Heading::new(visit.say("Overview", "Обзор")).live(2_000);
    Ok(page(&visit, &heading, &content))
}

/// Which feeds the page is about, if not about all of them.
fn looked_at(visit: &Visit, after: Option<&FeedKey>, next: Option<&FeedKey>) -> Markup {
    html! {
        @if after.is_some() || next.is_some() {
            p.faint {
                @match after {
                    None => {
                        (visit.say("Only the first ", "Здесь только первые ")) (number(LOOKED_AT as i64))
                        (visit.say(" feeds are looked at here. ", " фидов. "))
                    },
                    Some(key) => {
                        (visit.say("Only feeds behind ", "Здесь только фиды после ")) bdi { (key.seller) } " / " bdi { (key.namespace) }
                        (visit.say(" are looked at here. ", ". ")) a href="/console" { (visit.say("To the first ones", "К первым")) } " "
                    },
                }
                @if let Some(key) = next {
                    a rel="next" href=(format!("/console?seller={}&feed={}", encoded(&key.seller), encoded(&key.namespace))) {
                        (visit.say("To the next ones", "К следующим"))
                    }
                }
            }
        }
    }
}

/// Every topic with its rate and the readers that lag behind it.
pub(super) async fn streams(console: &Console, visit: &Visit) -> Result<BTreeMap<String, Stream>, Refusal> {
    let refused = |error| visit.refused(error);
    let infos = console.topics.list().await.map_err(refused)?;
    let ends = infos.iter().map(|info| (info.topic.clone(), info.ends.iter().map(|ends| ends.high).sum()));
    let mut rates = console.rates().sample(&ends.collect(), Instant::now());
    let mut streams = BTreeMap::new();
    for info in infos {
        let mut groups = Vec::new();
        for group in console.topics.groups(&info.topic).await.map_err(refused)? {
            let lag = console.topics.lag(&info.topic, &group).await.map_err(refused)?;
            groups.push((group, lag.iter().map(|lag| lag.lag).sum()));
        }
        let stream = Stream {
            records: info.ends.iter().map(|ends| ends.high - ends.low).sum(),
            total: info.ends.iter().map(|ends| ends.high).sum(),
            rate: rates.remove(&info.topic).unwrap_or_default(),
            groups,
        };
        streams.insert(info.topic, stream);
    }
    Ok(streams)
}

/// Loads that wait for a decision or fail, and what else was found.
fn needs(visit: &Visit, feeds: &[Glance], points: &[Markup]) -> Markup {
    let held = feeds.iter().filter_map(|found| {
        let load = LoadItem::of(found.load.as_ref()?, visit.language);
        (load.status == "needs_confirmation").then_some((&found.view.key, load))
    });
    let held: Vec<_> = held.collect();
    let failing = feeds.iter().filter_map(|found| {
        let load = LoadItem::of(found.load.as_ref()?, visit.language);
        matches!(load.status.as_str(), "failed" | "partial").then_some((&found.view.key, load))
    });
    let failing: Vec<_> = failing.collect();
    let dead: Vec<_> = feeds.iter().filter(|found| found.view.feed.death_told).collect();
    if held.is_empty() && failing.is_empty() && points.is_empty() {
        return empty(visit.say("Nothing. All is well.", "Ничего. Всё в порядке."));
    }
    html! {
        ul.needs {
            @for (key, load) in &held {
                li.ask { a href=(load_address(key, &load.task_id)) { bdi { (key.seller) } " / " (key.namespace) } " "
                    (chip(visit, &load.status)) " "
                    @if let Some(held) = &load.held {
                        (visit.say("would take away ", "удалит ")) (number(held.would_go))
                        (visit.say(" of ", " из ")) (number(held.live_before))
                    }
                }
            }
            @for (key, load) in &failing {
                li.bad { a href=(load_address(key, &load.task_id)) { bdi { (key.seller) } " / " (key.namespace) } " "
                    (chip(visit, &load.status)) " "
                    @if let Some(error) = &load.error { bdi { (error.message) } }
                    @if dead.iter().any(|found| found.view.key == **key) {
                        " " strong { (visit.say("for days", "уже несколько дней")) }
                    }
                }
            }
            @for point in points { (point) }
        }
    }
}

/// Lists of failures that are not empty, as points of the list: address, name, how many.
fn list_needs(lists: &[(&str, &str, usize)]) -> Vec<Markup> {
    let count = |found: usize| if found == LETTERS { format!("{LETTERS}+") } else { number(found as i64) };
    let found = lists.iter().filter(|(.., found)| *found > 0);
    found
        .map(|(address, name, found)| html! { li.bad { a href=(address) { (name) } " " strong { (count(*found)) } } })
        .collect()
}

fn recent(visit: &Visit, feeds: &[Glance]) -> Markup {
    let mut loads: Vec<_> = feeds
        .iter()
        .filter_map(|found| {
            let load = LoadItem::of(found.load.as_ref()?, visit.language);
            Some((&found.view.key, FeedItem::of(&found.view, visit.language), load))
        })
        .collect();
    loads.sort_by_key(|(_, _, load)| std::cmp::Reverse(load.updated_at));
    if loads.is_empty() {
        return empty(visit.say("Nothing was loaded yet.", "Загрузок пока не было."));
    }
    html! {
        div.scroll tabindex="0" { table {
            thead { tr {
                th { (visit.say("Seller", "Продавец")) }
                th { (visit.say("Feed", "Фид")) }
                th { (visit.say("Load", "Загрузка")) }
                th { (visit.say("State", "Состояние")) }
                th { (visit.say("When", "Когда")) }
                th.number { (visit.say("Created", "Создано")) }
                th.number { (visit.say("Updated", "Обновлено")) }
                th.number { (visit.say("Rejected", "Отклонено")) }
                th { (visit.say("Next fetch", "Следующее скачивание")) }
            } }
            tbody {
                @for (key, feed, load) in loads.iter().take(RECENT) {
                    tr {
                        td { a href=(seller_address(&key.seller)) { bdi { (key.seller) } } }
                        td { a href=(feed_address(key)) { (key.namespace) } }
                        td { a href=(load_address(key, &load.task_id)) { "№" (load.task_id) } }
                        td { (chip(visit, &load.status)) }
                        td { (time(load.updated_at)) }
                        td.number { (number(load.statistics.created)) }
                        td.number { (number(load.statistics.updated)) }
                        td.number { (number(load.statistics.rejected)) }
                        td { @if let Some(at) = feed.next_fetch_at { (time(at)) } }
                    }
                }
            }
        } }
    }
}
