//! Survivorship rules: shown, edited, tried over all SSKUs, applied.

use axum::Form;
use axum::extract::{Query, State};
use maud::{Markup, html};
use serde::Deserialize;
use silver::gold::preview::{self, Preview, Sample};
use silver::gold::rules::Rules;
use silver::parameters::PARAMETERS;
use silver::settings::{self, GOLD_RULES, Setting};

use super::gold::rule_in_words;
use super::settings::{Draft, checked, problems, written};
use super::{heading, rooms, setting_address, ssku_address, values, words};
use crate::Console;
use crate::frame::{csrf, empty, figure, page, see_other};
use crate::pages::Answer;
use crate::visit::{Refusal, Visit};
use crate::words::{number, time};

const ADDRESS: &str = "/console/silver/rules";

#[derive(Deserialize)]
pub(super) struct Wanted {
    /// Rules have just been applied.
    applied: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct Edited {
    value: String,
    /// The version that the editor has seen.
    version: i64,
}

pub(super) async fn show(
    State(console): State<Console>,
    visit: Visit,
    Query(wanted): Query<Wanted>,
) -> Answer {
    visit.require_service()?;
    let setting = current(&console, &visit).await?;
    let draft = Draft { value: written(&setting.value), ..Draft::default() };
    Ok(render(&visit, &setting, &draft, wanted.applied, None))
}

async fn current(console: &Console, visit: &Visit) -> Result<Setting, Refusal> {
    settings::get(&console.silver.united.store, GOLD_RULES).await.map_err(|error| visit.refused(error))
}

/// Tries rules over all SSKUs; nothing is changed.
pub(super) async fn preview(
    State(console): State<Console>,
    visit: Visit,
    Form(edited): Form<Edited>,
) -> Answer {
    visit.require_service()?;
    let setting = current(&console, &visit).await?;
    let then = match checked(GOLD_RULES, &edited.value) {
        Ok(value) => serde_json::from_value::<Rules>(value).unwrap_or_default(),
        Err(problems) => {
            return Ok(render(&visit, &setting, &Draft { value: edited.value, problems }, None, None));
        }
    };
    let silver = &console.silver;
    let now = silver.read_settings().await.map_err(|error| visit.refused(error))?;
    let found = preview::preview(&silver.united.store, &now.gold, &then).await;
    let found = found.map_err(|error| visit.refused(error))?;
    let draft = Draft { value: edited.value, problems: Vec::new() };
    Ok(render(&visit, &setting, &draft, None, Some(&found)))
}

/// Lets rules hold.
pub(super) async fn apply(
    State(console): State<Console>,
    visit: Visit,
    Form(edited): Form<Edited>,
) -> Answer {
    visit.require_admin()?;
    let Edited { value, version } = edited;
    match super::settings::set(&console, &visit, GOLD_RULES, &value, version).await? {
        Ok(set) => Ok(see_other(&format!("{ADDRESS}?applied={}", set.version))),
        Err(problems) => {
            let setting = current(&console, &visit).await?;
            Ok(render(&visit, &setting, &Draft { value, problems }, None, None))
        }
    }
}

fn render(
    visit: &Visit,
    setting: &Setting,
    draft: &Draft,
    applied: Option<i64>,
    found: Option<&Preview>,
) -> axum::response::Response {
    let rules: Rules = serde_json::from_value(setting.value.clone()).unwrap_or_default();
    let content = html! {
        (rooms(visit))
        @if let Some(version) = applied {
            div.notice.good role="status" { p { (visit.say("Applied as version ", "Применено, версия ")) (version) "." } }
        }
        (editor(visit, setting, draft, found.is_some()))
        @if let Some(found) = found { (result(visit, found)) }
        section aria-labelledby="in-force" {
            h2 #in-force { (visit.say("Rules in force", "Действующие правила")) }
            (in_force(visit, &rules))
        }
    };
    let mut response = page(visit, &heading(visit, visit.say("Gold rules", "Правила золота")), &content);
    if !draft.problems.is_empty() {
        *response.status_mut() = axum::http::StatusCode::UNPROCESSABLE_ENTITY;
    }
    response
}

fn editor(visit: &Visit, setting: &Setting, draft: &Draft, previewed: bool) -> Markup {
    let can_apply = visit.access.require_admin().is_ok();
    let lines = draft.value.lines().count().clamp(8, 24);
    html! {
        p.faint { (visit.say("Version ", "Версия ")) (setting.version)
            @if let Some(at) = setting.changed_at { ", " bdi { (setting.changed_by) } ", " (time(at)) } ". "
            a href=(setting_address(GOLD_RULES)) { (visit.say("History", "История")) } }
        form.card method="post" action=(format!("{ADDRESS}/preview")) {
            (csrf(visit))
            input type="hidden" name="version" value=(setting.version);
            (problems(visit, &draft.problems))
            label for="rules" { (visit.say("Rules, as JSON", "Правила в JSON")) }
            textarea #rules name="value" rows=(lines) required spellcheck="false"
                aria-invalid=[(!draft.problems.is_empty()).then_some("true")] aria-describedby="rules-help" { (draft.value) }
            p.faint #rules-help {
                (visit.say("A parameter's own rule holds alone, else that of its group, else the default. ",
                    "Действует правило параметра, иначе его группы, иначе общее. "))
                code { "choose" } ": newest, oldest, most_common, longest, max, min, union; "
                code { "sources" } ": SUPPLIER, DBS; " code { "preferred_shop" } "."
            }
            div.verbs {
                button class=[(!previewed).then_some("main")] { (visit.say("Preview", "Предпросмотр")) }
                @if can_apply {
                    button class=[previewed.then_some("main")] formaction=(format!("{ADDRESS}/apply")) { (visit.say("Apply", "Применить")) }
                } @else { span.faint { (visit.say("An admin applies them.", "Применяет администратор.")) } }
            }
        }
    }
}

fn result(visit: &Visit, found: &Preview) -> Markup {
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let sum = found.changed_values.values().sum::<u64>();
    html! {
        section #preview aria-labelledby="would" role="status" {
            h2 #would { (visit.say("What would change", "Что изменится")) }
            dl.figures {
                (figure(visit.say("SSKUs looked at", "Просмотрено SSKU"), count(found.sskus)))
                (figure(visit.say("SSKUs that change", "Изменится SSKU"), count(found.changed_sskus)))
                (figure(visit.say("Values that change", "Изменится значений"), count(sum)))
            }
            @if found.changed_values.is_empty() {
                (empty(visit.say("Nothing: every value stays as it is.", "Ничего: все значения останутся.")))
            } @else {
                ul.legend { @for (id, changed) in &found.changed_values {
                    li { (values::name_of(visit, *id, &id.to_string())) " " strong { (number(count(*changed))) } }
                } }
                (samples(visit, &found.samples))
            }
        }
    }
}

fn samples(visit: &Visit, samples: &[Sample]) -> Markup {
    html! {
        div.scroll tabindex="0" { table {
            thead { tr {
                th { "SSKU" }
                th { (visit.say("Parameter", "Параметр")) }
                th { (visit.say("Now", "Сейчас")) }
                th { (visit.say("Then", "Станет")) }
                th { (visit.say("Why", "Почему")) }
            } }
            tbody { @for sample in samples { tr {
                td { a href=(ssku_address(sample.key.business, &sample.key.shop_sku)) { bdi { (sample.key.shop_sku) } } br;
                    span.faint { (visit.say("business", "бизнес")) " " (sample.key.business) } }
                td { (values::name_of(visit, sample.parameter, &sample.parameter.to_string())) }
                td.value { bdi.cut { (values::shown(visit, sample.parameter, &sample.before)) } }
                td.value { strong { bdi.cut { (values::shown(visit, sample.parameter, &sample.after)) } } }
                td { (words::reason(visit, &sample.reason)) }
            } } }
        } }
    }
}

/// The rule of each parameter, and where it stands.
fn in_force(visit: &Visit, rules: &Rules) -> Markup {
    html! {
        div.scroll tabindex="0" { table {
            thead { tr {
                th { (visit.say("Parameter", "Параметр")) }
                th { (visit.say("Group", "Группа")) }
                th { (visit.say("Rule", "Правило")) }
                th { (visit.say("Set by", "Задано в")) }
            } }
            tbody { @for parameter in PARAMETERS { tr {
                td { (words::parameter(visit, parameter.name)) " " code.faint { (parameter.name) } }
                td { code { (parameter.group) } }
                td { (rule_in_words(visit, rules.of(parameter.id))) }
                td { code {
                    @if rules.parameters.contains_key(parameter.name) { "parameters." (parameter.name) }
                    @else if rules.groups.contains_key(parameter.group) { "groups." (parameter.group) }
                    @else { "default" }
                } }
            } } }
        } }
    }
}
