//! Settings: what holds, why a value cannot, and what held before.

use axum::Form;
use axum::extract::{Path, Query, State};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use silver::settings::{
    self, DBS_BUSINESS_RANGES, DBS_MODE, FLAPPING, FORBIDDEN_BUSINESSES, GOLD_RULES, KEYS, Setting,
};
use web::Problem;

use super::{heading, rooms, setting_address};
use crate::Console;
use crate::frame::{csrf, empty, page, see_other};
use crate::pages::Answer;
use crate::visit::{Refusal, Visit};
use crate::words::time;

const ADDRESS: &str = "/console/silver/settings";
const SHOWN: usize = 20;

/// Where a value cannot hold, and why.
pub(super) type Problems = Vec<(String, String)>;

/// What somebody writes, and what is wrong with it.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) value: String,
    pub(super) problems: Problems,
}

/// A value as people edit it.
pub(super) fn written(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// The value, if it could hold.
pub(super) fn checked(key: &str, text: &str) -> Result<Value, Problems> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| vec![(String::new(), error.to_string())])?;
    match settings::check(key, &value.to_string()) {
        Ok(()) => Ok(value),
        Err(silver::Error::Setting { problems, .. }) => Err(problems),
        Err(error) => Err(vec![(String::new(), error.to_string())]),
    }
}

/// Changes a setting as the API does, if it still has the version that the visitor has seen.
pub(super) async fn set(
    console: &Console,
    visit: &Visit,
    key: &str,
    text: &str,
    version: i64,
) -> Result<Result<Setting, Problems>, Refusal> {
    visit.require_admin()?;
    let value = match checked(key, text) {
        Ok(value) => value.to_string(),
        Err(problems) => return Ok(Err(problems)),
    };
    let silver = &console.silver;
    let (store, now) = (&silver.united.store, silver.united.clock.now());
    match settings::set(store, key, &value, Some(version), visit.access.who(), now).await {
        Ok(set) => {
            silver.read_settings().await.map_err(|error| visit.refused(error))?;
            Ok(Ok(set))
        }
        Err(silver::Error::Stale(_)) => {
            let meanwhile = visit.say(
                "somebody changed the setting meanwhile; look at the version in force and send yours again",
                "настройку тем временем изменили: посмотрите на действующую версию и отправьте свою снова",
            );
            Ok(Err(vec![(String::new(), meanwhile.to_owned())]))
        }
        Err(error) => Err(visit.refused(error)),
    }
}

/// What is wrong with a value, each with its place.
pub(super) fn problems(visit: &Visit, problems: &Problems) -> Markup {
    html! {
        @if !problems.is_empty() {
            div.notice.bad role="alert" {
                p { (visit.say("This cannot hold:", "Так нельзя:")) }
                ul { @for (place, why) in problems {
                    li { @if !place.is_empty() { code { bdi { (place) } } " " } bdi { (why) } }
                } }
            }
        }
    }
}

fn about(visit: &Visit, key: &str) -> &'static str {
    let (english, russian) = match key {
        FORBIDDEN_BUSINESSES => (
            "Businesses whose offers are not imported: a list of numbers, empty in normal life",
            "Бизнесы, чьи предложения не импортируются: список номеров, обычно пустой",
        ),
        DBS_MODE => (
            "Whether DBS services are imported: all of them, or only those of the ranges and of what is kept already",
            "Импортировать ли сервисы DBS: все или только из диапазонов и у того, что уже хранится",
        ),
        DBS_BUSINESS_RANGES => (
            "Businesses whose DBS services are imported in any mode: a list of [first, last]",
            "Бизнесы, чьи сервисы DBS импортируются всегда: список [первый, последний]",
        ),
        GOLD_RULES => ("Which value survives in gold", "Какое значение попадает в золото"),
        FLAPPING => (
            "How many shipments one field may cause in an hour before it is reported; 0: as many as there are",
            "Сколько отгрузок в час может вызвать одно поле, прежде чем о нём скажут; 0 — сколько угодно",
        ),
        _ => ("", ""),
    };
    match visit.language {
        web::Language::English => english,
        web::Language::Russian => russian,
    }
}

pub(super) async fn list(State(console): State<Console>, visit: Visit) -> Answer {
    visit.require_service()?;
    let mut found = Vec::new();
    for key in KEYS {
        let setting = settings::get(&console.silver.united.store, key).await;
        found.push(setting.map_err(|error| visit.refused(error))?);
    }
    let content = html! {
        (rooms(&visit))
        @for setting in &found {
            article.card {
                header { h2 { a href=(setting_address(&setting.key)) { code { (setting.key) } } } (state(&visit, setting)) }
                p { (about(&visit, &setting.key)) }
                pre tabindex="0" { code { (written(&setting.value)) } }
            }
        }
    };
    Ok(page(&visit, &heading(&visit, visit.say("Settings", "Настройки")), &content))
}

fn state(visit: &Visit, setting: &Setting) -> Markup {
    html! {
        span.faint {
            @match setting.changed_at {
                None => (visit.say("never set: the default", "не задана: значение по умолчанию")),
                Some(at) => { (visit.say("version ", "версия ")) (setting.version) ", " bdi { (setting.changed_by) } ", " (time(at)) },
            }
        }
    }
}

#[derive(Default, Deserialize)]
pub(super) struct Wanted {
    /// A version of the history to begin with.
    from: Option<i64>,
    /// Versions below this one are shown.
    before: Option<i64>,
    saved: Option<i64>,
}

pub(super) async fn show(
    State(console): State<Console>,
    visit: Visit,
    Path(key): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Answer {
    visit.require_service()?;
    let mut draft = Draft::default();
    if let Some(version) = wanted.from {
        let old =
            settings::history(&console.silver.united.store, &key, Some(version.saturating_add(1)), 1).await;
        let old = old.map_err(|error| visit.refused(error))?;
        draft.value = old.first().map(|old| written(&old.value)).unwrap_or_default();
    }
    render(&console, &visit, &key, &wanted, draft).await
}

#[derive(Deserialize)]
pub(super) struct Edited {
    value: String,
    version: i64,
}

pub(super) async fn change(
    State(console): State<Console>,
    visit: Visit,
    Path(key): Path<String>,
    Form(edited): Form<Edited>,
) -> Answer {
    visit.require_admin()?;
    if !KEYS.contains(&key.as_str()) {
        return Err(visit.refused(Problem::not_found(format!("there is no setting {key:?}"))));
    }
    let Edited { value, version } = edited;
    match set(&console, &visit, &key, &value, version).await? {
        Ok(set) => Ok(see_other(&format!("{}?saved={}", setting_address(&key), set.version))),
        Err(problems) => {
            let draft = Draft { value, problems };
            let mut response = render(&console, &visit, &key, &Wanted::default(), draft).await?;
            *response.status_mut() = axum::http::StatusCode::UNPROCESSABLE_ENTITY;
            Ok(response)
        }
    }
}

async fn render(console: &Console, visit: &Visit, key: &str, wanted: &Wanted, mut draft: Draft) -> Answer {
    let store = &console.silver.united.store;
    let setting = settings::get(store, key).await.map_err(|error| visit.refused(error))?;
    let history = settings::history(store, key, wanted.before, SHOWN + 1).await;
    let mut history = history.map_err(|error| visit.refused(error))?;
    let more = history.len() > SHOWN;
    history.truncate(SHOWN);
    if draft.value.is_empty() && draft.problems.is_empty() {
        draft.value = written(&setting.value);
    }
    let content = html! {
        (rooms(visit))
        p { (about(visit, key)) }
        @if key == GOLD_RULES { p { a href="/console/silver/rules" { (visit.say("Try rules before they hold", "Проверить правила до применения")) } } }
        @if let Some(version) = wanted.saved {
            div.notice.good role="status" { p { (visit.say("Saved as version ", "Сохранено, версия ")) (version)
                (visit.say("; it holds everywhere within seconds.", "; через несколько секунд действует везде.")) } }
        }
        (form(visit, &setting, &draft))
        section aria-labelledby="history" {
            h2 #history { (visit.say("History", "История")) }
            (past(visit, &history))
            @if let Some(last) = history.last().filter(|_| more) {
                p.pager { a rel="next" href=(format!("{}?before={}#history", setting_address(key), last.version)) {
                    (visit.say("Older versions", "Более ранние версии")) } }
            }
        }
    };
    let heading = heading(visit, key).below(ADDRESS, visit.say("Settings", "Настройки"));
    Ok(page(visit, &heading, &content))
}

fn form(visit: &Visit, setting: &Setting, draft: &Draft) -> Markup {
    let can_change = visit.access.require_admin().is_ok();
    html! {
        form.card method="post" action=(setting_address(&setting.key)) {
            (csrf(visit))
            input type="hidden" name="version" value=(setting.version);
            p { (state(visit, setting)) }
            (problems(visit, &draft.problems))
            label for="value" { (visit.say("Value, as JSON", "Значение в JSON")) }
            @if setting.key == DBS_MODE {
                select #value name="value" disabled[!can_change] {
                    @for mode in ["\"BLUE_AND_DBS\"", "\"BLUE_AND_SOME_DBS\""] {
                        option value=(mode) selected[draft.value == mode] { (mode.trim_matches('"')) }
                    }
                }
            } @else {
                textarea #value name="value" rows=(draft.value.lines().count().clamp(3, 24)) required spellcheck="false"
                    readonly[!can_change] aria-invalid=[(!draft.problems.is_empty()).then_some("true")] { (draft.value) }
            }
            @if can_change { button.main { (visit.say("Save", "Сохранить")) } }
            @else { p.faint { (visit.say("An admin changes it.", "Меняет администратор.")) } }
        }
    }
}

fn past(visit: &Visit, history: &[Setting]) -> Markup {
    if history.is_empty() {
        return empty(visit.say("It was never changed.", "Её ещё не меняли."));
    }
    html! {
        div.scroll tabindex="0" { table.past {
            thead { tr {
                th.number { (visit.say("Version", "Версия")) }
                th { (visit.say("When", "Когда")) }
                th { (visit.say("Who", "Кто")) }
                th { (visit.say("Value", "Значение")) }
                th { span.hidden { (visit.say("Begin with it", "Взять за основу")) } }
            } }
            tbody { @for old in history { tr {
                td.number { (old.version) }
                td { @if let Some(at) = old.changed_at { (time(at)) } }
                td { bdi { (old.changed_by) } }
                td.value { code { bdi.cut { (old.value.to_string()) } } }
                td { a href=(format!("{}?from={}", setting_address(&old.key), old.version)) {
                    (visit.say("begin with it", "взять за основу")) } }
            } } }
        } }
    }
}
