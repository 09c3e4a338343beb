//! Stages: what waits for each of them, how fast they go, what went wrong. A file per page, forms beside.

mod acts;
mod failures;
mod glance;
mod offer;
mod stage;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use kit::Timestamp;
use maud::{Markup, html};
use offers::stages::Lane;
use stages::view::{Counted, StageView};

use super::Answer;
use crate::Console;
use crate::frame::{Heading, act, empty, page};
use crate::visit::{Refusal, Visit};
use crate::words::{encoded, number, rate, span, time};

pub(super) use glance::{needs, room};
pub(super) use offer::section as of_offer;

pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route("/console/stages", get(list))
        .route("/console/stages/{stage}", get(stage::show))
        .route("/console/stages/{stage}/pause", post(acts::pause))
        .route("/console/stages/{stage}/resume", post(acts::resume))
        .route("/console/stages/{stage}/walk", post(acts::walk))
        .route("/console/stages/{stage}/walk/pause", post(acts::pause_walk))
        .route("/console/stages/{stage}/walk/resume", post(acts::resume_walk))
        .route("/console/stages/{stage}/failures", get(failures::show))
        .route("/console/stages/{stage}/failures/{verdict}", post(failures::judge_all))
        .route("/console/stages/{stage}/failures/{offer}/{verdict}", post(failures::judge))
}

fn address(stage: &str) -> String {
    format!("{}/stages/{}", crate::PREFIX, encoded(stage))
}

fn refused(visit: &Visit, error: stages::Error) -> Refusal {
    visit.refused(stages::api::problem(error))
}

async fn list(State(console): State<Console>, visit: Visit) -> Answer {
    visit.require_service()?;
    let views = console.stages.views(None).await.map_err(|error| refused(&visit, error))?;
    let untold = console.stages.untold().await.map_err(|error| refused(&visit, error))?;
    let now = console.clock.now();
    let content = html! {
        div #stages data-live { (table(&visit, &views, now)) }
        section aria-labelledby="untold" {
            h2 #untold { (visit.say("Changes that stages were not told of yet", "Изменения, о которых этапы ещё не знают")) }
            p.faint { (visit.say("Transactions, by lane: people and moderators first, then times, loads of feeds, walks.",
                "Транзакции по полосам: сначала люди и модерация, затем таймеры, загрузки фидов, обходы.")) }
            dl.figures #untold-list data-live {
                @for lane in Lane::ALL {
                    div.figure { dt { (lane_name(&visit, lane)) }
                        dd { (counted(untold.get(lane.name()).copied().unwrap_or_default())) } }
                }
            }
        }
    };
    Ok(page(&visit, &Heading::new(visit.say("Stages", "Этапы")).live(2_000), &content))
}

fn table(visit: &Visit, views: &[StageView], now: Timestamp) -> Markup {
    if views.is_empty() {
        return empty(visit.say(
            "No process with the role stages has run yet.",
            "Процесс с ролью stages ещё не запускался.",
        ));
    }
    let admin = visit.access.require_admin().is_ok();
    html! {
        div.scroll tabindex="0" role="region" aria-label=(visit.say("Stages", "Этапы")) { table.stages {
            thead { tr {
                th { (visit.say("Stage", "Этап")) }
                th.number { (visit.say("Waiting", "Ждут")) }
                th.number { (visit.say("Oldest", "Дольше всех")) }
                th.number { (visit.say("Timers due", "Таймеров пора")) }
                th.number { (visit.say("Running", "Выполняется")) }
                th.number { (visit.say("A second", "В секунду")) }
                th.number { (visit.say("Errors a second", "Ошибок в секунду")) }
                th.number { (visit.say("Failing", "Сбоит")) }
                th.number { (visit.say("Parked", "Отложено")) }
                th { (visit.say("Walk", "Обход")) }
                @if admin { th { span.hidden { (visit.say("Actions", "Действия")) } } }
            } }
            tbody { @for view in views { (row(visit, view, admin, now)) } }
        } }
    }
}

fn row(visit: &Visit, view: &StageView, admin: bool, now: Timestamp) -> Markup {
    let to = address(&view.entry.id);
    let failures = |state: &str, count: i64| {
        html! {
            @if count == 0 { "0" } @else {
                a.bad href=(format!("{to}/failures?state={state}")) aria-label=(format!("{}: {}", state_name(visit, state), number(count))) {
                    (number(count)) }
            }
        }
    };
    html! {
        tr {
            td { a href=(to) { strong { (view.entry.id) } } br; (state(visit, view, now))
                @if view.entry.row.owes_since != 0 { " " span.chip.queued { (visit.say("owes", "в долгу")) } } }
            td.number { (number(view.waiting)) }
            td.number { (age(visit, view.oldest_at, now)) }
            td.number { (counted(view.due)) br; span.faint { (visit.say("of ", "из ")) (number(view.timers)) } }
            td.number { (number(i64::from(view.activity.running))) }
            td.number { (rate(view.runs_per_second())) }
            td.number class=[(view.activity.failures > 0).then_some("late")] { (rate(view.errors_per_second())) }
            td.number { (failures("failing", view.failing)) }
            td.number { (failures("parked", view.all_parked())) }
            td { (stage::progress(visit, view, now)) }
            @if admin { td { (pause_or_resume(visit, view)) } }
        }
    }
}

fn pause_or_resume(visit: &Visit, view: &StageView) -> Markup {
    let to = address(&view.entry.id);
    html! {
        @if view.entry.row.removed_at != 0 {}
        @else if view.entry.row.paused_at == 0 { (act(visit, &format!("{to}/pause"), "", visit.say("Pause", "Приостановить"))) }
        @else { (act(visit, &format!("{to}/resume"), "main", visit.say("Resume", "Возобновить"))) }
    }
}

/// How a stage does, in one word.
fn state(visit: &Visit, view: &StageView, now: Timestamp) -> Markup {
    let row = &view.entry.row;
    let (class, word) = match view {
        _ if row.removed_at != 0 => ("warning", visit.say("is being removed", "удаляется")),
        _ if row.paused_at != 0 => ("paused", visit.say("paused", "приостановлен")),
        view if view.open_until(now).is_some() => ("failed", visit.say("does not answer", "не отвечает")),
        _ if row.suspended_at != 0 => ("warning", visit.say("not told of changes", "не получает изменений")),
        _ => ("active", visit.say("works", "работает")),
    };
    html! { span class=(format!("chip {class}")) { (word) } }
}

fn state_name(visit: &Visit, state: &str) -> &'static str {
    match state {
        "parked" => visit.say("Parked", "Отложено"),
        _ => visit.say("Failing", "Сбоит"),
    }
}

fn lane_name(visit: &Visit, lane: Lane) -> &'static str {
    match lane {
        Lane::Main => visit.say("main", "главная"),
        Lane::Timers => visit.say("timers", "таймеры"),
        Lane::Bulk => visit.say("bulk", "массовая"),
        Lane::Low => visit.say("low", "низшая"),
    }
}

fn counted(counted: Counted) -> String {
    number(counted.rows as i64) + if counted.is_cut { "+" } else { "" }
}

/// How long ago it was; a dash for nothing.
fn age(visit: &Visit, since: Option<Timestamp>, now: Timestamp) -> Markup {
    html! {
        @match since {
            Some(since) => span title=(since.to_string()) { (span(visit, now.since(since))) },
            None => span.faint { "—" },
        }
    }
}

/// A moment of a row; a dash for none.
fn moment(at: i64) -> Markup {
    html! { @if at == 0 { "—" } @else { (time(Timestamp(at))) } }
}
