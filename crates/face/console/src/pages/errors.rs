//! What is wrong with a load's offers: counts by type, a list with filters, and tables to take away.

use axum::extract::{Path, State};
use feeds::FeedKey;
use feeds::api::{ErrorItem, LoadItem, csv_table, xlsx_table};
use feeds::errors::{self, Filter, TYPES};
use feeds::report::type_name;
use maud::{Markup, html};
use serde::Deserialize;

use super::{Answer, load_address, load_key, offer_address};
use crate::Console;
use crate::frame::empty;
use crate::visit::{Refusal, Visit};
use crate::words::{encoded, error_type, number};

const PAGE: usize = 50;

/// Which errors, and which line of the file, a load's page shows.
#[derive(Clone, Default, Deserialize)]
pub(crate) struct Wanted {
    level: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    /// What the id begins with.
    id: Option<String>,
    /// Words of the title.
    title: Option<String>,
    cursor: Option<String>,
    pub(super) line: Option<i64>,
}

impl Wanted {
    fn text(value: Option<&String>) -> Option<&str> {
        value.map(|text| text.trim()).filter(|text| !text.is_empty())
    }

    fn filter(&self) -> feeds::Result<Filter> {
        let filter = Filter::parse(Self::text(self.level.as_ref()), Self::text(self.kind.as_ref()))?;
        let words = |value: &Option<String>| Self::text(value.as_ref()).unwrap_or_default().to_owned();
        Ok(Filter { id_begins: words(&self.id), title_has: words(&self.title), ..filter })
    }

    fn is_search(&self) -> bool {
        [&self.id, &self.title].into_iter().any(|value| Self::text(value.as_ref()).is_some())
    }

    /// The same page with another part of the question.
    fn address(&self, base: &str, cursor: Option<&str>, line: Option<i64>) -> String {
        let mut parts = Vec::new();
        let asked = [("level", &self.level), ("type", &self.kind), ("id", &self.id), ("title", &self.title)];
        for (name, value) in asked {
            if let Some(text) = Self::text(value.as_ref()) {
                parts.push(format!("{name}={}", encoded(text)));
            }
        }
        parts.extend(cursor.map(|cursor| format!("cursor={}", encoded(cursor))));
        parts.extend(line.map(|line| format!("line={line}")));
        if parts.is_empty() { base.to_owned() } else { format!("{base}?{}", parts.join("&")) }
    }
}

pub(super) async fn section(
    console: &Console,
    visit: &Visit,
    key: &FeedKey,
    item: &LoadItem,
    wanted: &Wanted,
) -> Result<Markup, Refusal> {
    if hidden(visit, key) {
        return Ok(empty(visit.say(
            "The service that collected this feed sees its errors.",
            "Ошибки этого фида видит сервис, который его собрал.",
        )));
    }
    let base = load_address(key, &item.task_id);
    let refused = |error| visit.refused(error);
    let task_id = item.task_id.parse().unwrap_or_default();
    let filter = wanted.filter().map_err(refused)?;
    let after = wanted.cursor.as_deref().map(errors::read_cursor).transpose().map_err(refused)?;
    let found = errors::page(&console.feeds, key, task_id, &filter, after.as_ref(), PAGE).await;
    let found = found.map_err(refused)?;
    let next = found.next.as_ref().map(errors::write_cursor);
    let items: Vec<_> = found.found.into_iter().map(|found| ErrorItem::of(found, visit.language)).collect();
    let total = item.statistics.errors + item.statistics.warnings;
    Ok(html! {
        section aria-labelledby="errors" {
            h2 #errors { (visit.say("Errors and warnings", "Ошибки и предупреждения")) }
            div #groups data-live { (groups(visit, item, wanted, &base)) }
            @if total > 0 {
                (search(visit, wanted, &base))
                div.verbs {
                    a.button href=(format!("{base}/errors.xlsx")) download { "XLSX" }
                    a.button href=(format!("{base}/errors.csv")) download { "CSV" }
                }
            }
            @if !items.is_empty() {
                (table(visit, &items, |line| wanted.address(&base, wanted.cursor.as_deref(), Some(line)) + "#line"))
            } @else if next.is_none() {
                (empty(visit.say("Nothing to show here.", "Здесь ничего нет.")))
            }
            @if let Some(next) = &next {
                (further(visit, wanted, &(wanted.address(&base, Some(next), None) + "#errors"), items.is_empty()))
            }
        }
    })
}

/// The way to the next page. A search looks through a part of a long list at a time; while it has found nothing, the
/// script goes on by itself.
fn further(visit: &Visit, wanted: &Wanted, address: &str, nothing_yet: bool) -> Markup {
    let name = if wanted.is_search() {
        visit.say("Search on", "Искать дальше")
    } else {
        visit.say("More errors", "Следующие ошибки")
    };
    html! {
        @if nothing_yet {
            (empty(visit.say("Nothing so far; the list goes on.", "Пока ничего не найдено; список ещё не кончился.")))
        }
        p.pager { a rel="next" href=(address) data-search-on=[nothing_yet.then_some("")] { (name) } }
    }
}

/// How many there are of each level and type; each is a filter.
fn groups(visit: &Visit, item: &LoadItem, wanted: &Wanted, base: &str) -> Markup {
    let found = &item.statistics;
    let link = |wanted: &Wanted| wanted.address(base, None, None) + "#errors";
    let level = |name: &str| link(&Wanted { level: Some(name.to_owned()), ..Wanted::default() });
    let kind = |name: &str| link(&Wanted { kind: Some(name.to_owned()), ..Wanted::default() });
    let is = |value: &Option<String>, name: &str| (value.as_deref() == Some(name)).then_some("true");
    let everything = wanted.level.is_none() && wanted.kind.is_none() && !wanted.is_search();
    html! {
        ul.filters {
            li { a href=(format!("{base}#errors")) aria-current=[everything.then_some("true")] {
                (visit.say("all", "все")) " " strong { (number(found.errors + found.warnings)) } } }
            li { a href=(level("error")) aria-current=[is(&wanted.level, "error")] {
                (visit.say("errors", "ошибки")) " " strong class=[(found.errors > 0).then_some("bad")] { (number(found.errors)) } } }
            li { a href=(level("warning")) aria-current=[is(&wanted.level, "warning")] {
                (visit.say("warnings", "предупреждения")) " " strong { (number(found.warnings)) } } }
            @for name in TYPES.map(type_name) {
                @if let Some(count) = found.by_type.get(name).filter(|count| **count > 0) {
                    li { a href=(kind(name)) aria-current=[is(&wanted.kind, name)] {
                        (error_type(visit, name)) " " strong { (number(*count)) } } }
                }
            }
        }
    }
}

/// Within what the filters leave.
fn search(visit: &Visit, wanted: &Wanted, base: &str) -> Markup {
    let field = |name: &str, label: &str, value: &Option<String>| {
        html! {
            span.field {
                label for=(name) { (label) }
                input id=(name) name=(name) type="search" maxlength="256" value=[value.as_deref()];
            }
        }
    };
    html! {
        form.search action=(format!("{base}#errors")) role="search" {
            @for (name, value) in [("level", &wanted.level), ("type", &wanted.kind)] {
                @if let Some(value) = value { input type="hidden" name=(name) value=(value); }
            }
            (field("id", visit.say("Id begins with", "Идентификатор начинается с"), &wanted.id))
            (field("title", visit.say("Title contains", "Название содержит"), &wanted.title))
            button { (visit.say("Find", "Найти")) }
        }
    }
}

fn table(visit: &Visit, items: &[ErrorItem], line: impl Fn(i64) -> String) -> Markup {
    html! {
        div.scroll tabindex="0" { table.errors {
            thead { tr {
                th.number { (visit.say("Line", "Строка")) }
                th { (visit.say("Offer", "Предложение")) }
                th { (visit.say("What is wrong", "Что не так")) }
                th { (visit.say("Field", "Поле")) }
                th { (visit.say("Value", "Значение")) }
            } }
            tbody {
                @for item in items {
                    tr class=(item.level) {
                        td.number { @if item.line > 0 { a href=(line(item.line)) { (item.line) } } }
                        td {
                            @match &item.offer_id {
                                Some(id) => a href=(offer_address(id)) { bdi { (item.external_id) } },
                                None => bdi { (item.external_id) },
                            }
                            br; bdi.faint { (item.title) }
                        }
                        td {
                            span class=(format!("chip {}", item.level)) { (error_type(visit, &item.kind)) } " "
                            bdi { (item.message) }
                            @if let Some(suggestion) = &item.suggestion {
                                br; span.faint { (visit.say("Did you mean ", "Возможно, ")) bdi { (suggestion) } "?" }
                            }
                        }
                        td { code { (item.field) } }
                        td.value { bdi { (item.value) } }
                    }
                }
            }
        } }
    }
}

/// Errors of a collected feed are for the service that sent it.
fn hidden(visit: &Visit, key: &FeedKey) -> bool {
    key.is_parsed() && visit.access.require_service().is_err()
}

pub(crate) async fn xlsx(
    State(console): State<Console>,
    visit: Visit,
    Path(path): Path<(String, String, String)>,
) -> Answer {
    let (key, task_id) = downloadable(&console, &visit, &path).await?;
    let made = xlsx_table(&console.feeds, &key, task_id, visit.language).await;
    made.map_err(|problem| visit.refused(problem))
}

pub(crate) async fn csv(
    State(console): State<Console>,
    visit: Visit,
    Path(path): Path<(String, String, String)>,
) -> Answer {
    let (key, task_id) = downloadable(&console, &visit, &path).await?;
    let made = csv_table(&console.feeds, &key, task_id, visit.language).await;
    made.map_err(|problem| visit.refused(problem))
}

async fn downloadable(
    console: &Console,
    visit: &Visit,
    path: &(String, String, String),
) -> Result<(FeedKey, i64), Refusal> {
    let (key, task_id) = load_key(visit, path)?;
    if hidden(visit, &key) {
        visit.require_service()?;
    }
    feeds::history::load(&console.feeds, &key, task_id).await.map_err(|error| visit.refused(error))?;
    Ok((key, task_id))
}
