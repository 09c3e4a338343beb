//! One stage: its limits, its breaker, what it last complained of, and its walk over all offers.

use std::time::Duration;

use axum::extract::{Path, State};
use kit::Timestamp;
use maud::{Markup, html};
use model::OfferId;
use stages::view::StageView;
use wire::stages::{Saved, Walk};

use super::{address, age, counted, moment, pause_or_resume, refused, state};
use crate::Console;
use crate::frame::{Heading, act, csrf, empty, page};
use crate::pages::{Answer, offer_address};
use crate::visit::{Refusal, Visit};
use crate::words::{number, rate, span, time};

pub(super) async fn one(console: &Console, visit: &Visit, id: &str) -> Result<StageView, Refusal> {
    let mut views = console.stages.views(Some(id)).await.map_err(|error| refused(visit, error))?;
    views.pop().ok_or_else(|| refused(visit, stages::Error::NoStage(id.to_owned())))
}

pub(super) async fn show(State(console): State<Console>, visit: Visit, Path(id): Path<String>) -> Answer {
    visit.require_service()?;
    let view = one(&console, &visit, &id).await?;
    let now = console.clock.now();
    let admin = visit.access.require_admin().is_ok();
    let content = html! {
        div #state data-live {
            p { (state(&visit, &view, now)) }
            (told(&visit, &view))
            @if admin { div.verbs { (pause_or_resume(&visit, &view)) } }
            (figures(&visit, &view, now))
        }
        (walk(&visit, &view, admin, now))
        section aria-labelledby="errors" {
            h2 #errors { (visit.say("Last errors", "Последние ошибки")) }
            div #error-list data-live { (errors(&visit, &view)) }
        }
        section aria-labelledby="breaker" {
            h2 #breaker { (visit.say("Breaker and limits", "Предохранитель и лимиты")) }
            div #breaker-facts data-live { (breaker(&visit, &view, console.stages.settings.deadline, now)) }
        }
        section aria-labelledby="about" {
            h2 #about { (visit.say("What it is told of", "О чём он узнаёт")) }
            (facts(&visit, &view))
        }
    };
    let heading = Heading::new(&id).below("/console/stages", visit.say("Stages", "Этапы")).live(2_000);
    Ok(page(&visit, &heading, &content))
}

/// Why changes do not reach the stage, if so.
fn told(visit: &Visit, view: &StageView) -> Markup {
    let row = &view.entry.row;
    html! {
        @if row.paused_at != 0 {
            div.notice.ask { p { (visit.say("Nothing of it has run since ", "Ничего не выполняется с ")) (time(Timestamp(row.paused_at)))
                (visit.say(". What changes meanwhile is made up for when it is resumed.", ". Изменения за это время будут учтены при возобновлении.")) } }
        } @else if row.suspended_at != 0 {
            div.notice.bad { p { (visit.say("It is told of no changes since ", "Об изменениях не сообщается с ")) (time(Timestamp(row.suspended_at)))
                (visit.say(", because it does not answer or is too far behind. It makes up for them afterwards.",
                    ": этап не отвечает или слишком отстал. Потом он всё наверстает.")) } }
        } @else if row.owes_since != 0 {
            div.notice { p { (visit.say("It has not heard of changes since ", "Он ещё не узнал об изменениях с "))
                (time(Timestamp(row.owes_since))) (visit.say("; a walk makes up for them.", "; их навёрстывает обход.")) } }
        }
    }
}

fn figures(visit: &Visit, view: &StageView, now: Timestamp) -> Markup {
    let to = format!("{}/failures", address(&view.entry.id));
    let figure = |name: &str, value: Markup| html! { div.figure { dt { (name) } dd { (value) } } };
    html! {
        dl.figures {
            (figure(visit.say("Waiting", "Ждут"), html! { (number(view.waiting)) }))
            (figure(visit.say("Oldest waits", "Дольше всех ждут"), age(visit, view.oldest_at, now)))
            (figure(visit.say("Timers due", "Таймеров пора"), html! { (counted(view.due)) " " span.faint { (visit.say("of ", "из ")) (number(view.timers)) } }))
            (figure(visit.say("Earliest is late by", "Опоздание"), age(visit, view.due_since, now)))
            (figure(visit.say("Running now", "Выполняется"), html! { (number(i64::from(view.activity.running))) }))
            (figure(visit.say("Runs a second", "Запусков в секунду"), html! { (rate(view.runs_per_second())) }))
            (figure(visit.say("Errors a second", "Ошибок в секунду"), html! { (rate(view.errors_per_second())) }))
            (figure(visit.say("Failing, tried again", "Сбоит, повторяется"), html! { a href=(format!("{to}?state=failing")) { (number(view.failing)) } }))
            (figure(visit.say("Parked", "Отложено"), html! { a href=(format!("{to}?state=parked")) { (number(view.all_parked())) } }))
            @if view.entry.row.saved() == Saved::Call {
                (figure(visit.say("Saves to tell it of", "Сообщить о сохранениях"), html! { (number(view.calls.waiting)) }))
            }
        }
    }
}

fn walk(visit: &Visit, view: &StageView, admin: bool, now: Timestamp) -> Markup {
    let to = address(&view.entry.id);
    let row = &view.entry.row;
    let active = row.walk.filter(|walk| walk.done_at == 0);
    let may_start = admin && !row.untold && row.removed_at == 0;
    html! {
        section aria-labelledby="walk" {
            h2 #walk { (visit.say("Walk over all offers", "Обход всех предложений")) }
            div #walk-state data-live {
                (progress(visit, view, now))
                @if let Some(walk) = &row.walk { (walk_facts(visit, view, walk)) }
                @if admin && let Some(walk) = active {
                    div.verbs {
                        @if walk.paused { (act(visit, &format!("{to}/walk/resume"), "main", visit.say("Let it go on", "Продолжить обход"))) }
                        @else { (act(visit, &format!("{to}/walk/pause"), "", visit.say("Let it rest", "Приостановить обход"))) }
                    }
                }
            }
            @if row.untold {
                p.faint { (visit.say("This stage looks at no offer by itself: something else keeps its times.",
                    "Этот этап сам предложения не просматривает: его время хранится в другом месте.")) }
            }
            @if may_start {
                form.search method="post" action=(format!("{to}/walk")) {
                    (csrf(visit))
                    span.field {
                        label for="rate" { (visit.say("Offers a second", "Предложений в секунду")) }
                        input #rate name="rate" type="number" min="1" max="1000000" placeholder=(visit.say("usual", "как обычно"));
                    }
                    button class=[active.is_none().then_some("main")] {
                        @if active.is_some() { (visit.say("Start anew", "Начать заново")) } @else { (visit.say("Start a walk", "Начать обход")) }
                    }
                }
            }
        }
    }
}

fn walk_facts(visit: &Visit, view: &StageView, walk: &Walk) -> Markup {
    let found = view.progress.unwrap_or_default();
    html! {
        dl.facts {
            div { dt { (visit.say("Ordered", "Начат")) } dd { (time(Timestamp(walk.ordered_at))) } }
            @if walk.since != 0 { div { dt { (visit.say("Only offers changed since", "Только изменённые с")) } dd { (time(Timestamp(walk.since))) } } }
            @if walk.done_at != 0 { div { dt { (visit.say("Done", "Закончен")) } dd { (time(Timestamp(walk.done_at))) } } }
            div { dt { (visit.say("Looked at", "Просмотрено")) } dd { (number(found.looked))
                @if let Some(offers) = found.offers.filter(|_| walk.done_at == 0) { (visit.say(" of about ", " из примерно ")) (number(offers)) } } }
            div { dt { (visit.say("Asked about", "Спрошено")) } dd { (number(found.asked)) } }
            div { dt { (visit.say("At most a second", "Не больше в секунду")) } dd { (number(i64::from(walk.per_second))) } }
        }
    }
}

/// A bar with words, or what there is in its place.
pub(super) fn progress(visit: &Visit, view: &StageView, now: Timestamp) -> Markup {
    let Some(walk) = view.entry.row.walk else { return html! { span.faint { "—" } } };
    let found = view.progress.unwrap_or_default();
    if walk.done_at != 0 {
        return html! { span.faint { (visit.say("done ", "закончен ")) (time(Timestamp(walk.done_at))) } };
    }
    let share = found.offers.map(|offers| found.looked as f64 / offers.max(1) as f64);
    let percent = share.map(|share| format!("{:.0}\u{a0}%", (share * 100.0).min(100.0)));
    html! {
        progress.progress max="1" value=[share.map(|share| format!("{:.3}", share.min(1.0)))]
            aria-label=(visit.say("Walk over all offers", "Обход всех предложений")) {}
        span.faint.walk-told {
            @if let Some(percent) = &percent { (percent) ", " }
            @if view.entry.row.paused_at != 0 { (visit.say("waits for the stage to be resumed", "ждёт возобновления этапа")) }
            @else if walk.paused { (visit.say("rests", "приостановлен")) }
            @else if walk.not_before > now.0 { (visit.say("begins in a moment", "скоро начнётся")) }
            @else if let Some(left) = found.time_left(&walk, now) { (visit.say("about ", "осталось около ")) (span(visit, left)) (visit.say(" left", "")) }
            @else { (visit.say("under way", "идёт")) }
        }
    }
}

fn errors(visit: &Visit, view: &StageView) -> Markup {
    if view.activity.errors.is_empty() {
        return empty(
            visit.say("None since the processes were started.", "Нет с момента запуска процессов."),
        );
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label=(visit.say("Last errors", "Последние ошибки")) { table {
            thead { tr {
                th { (visit.say("When", "Когда")) }
                th { (visit.say("Offer", "Предложение")) }
                th { (visit.say("Error", "Ошибка")) }
                th.number { (visit.say("In a row", "Подряд")) }
            } }
            tbody {
                @for error in &view.activity.errors {
                    tr {
                        td { (time(Timestamp(error.at))) }
                        td {
                            @match OfferId::from_raw(error.offer_id).filter(|_| error.offer_id != 0) {
                                Some(id) => a href=(offer_address(&id.to_string())) { (id) },
                                None => (visit.say("the whole call", "весь вызов")),
                            }
                        }
                        td.value { bdi { (error.error) } }
                        td.number { (number(i64::from(error.times))) }
                    }
                }
            }
        } }
    }
}

fn breaker(visit: &Visit, view: &StageView, usual: Duration, now: Timestamp) -> Markup {
    let (row, activity) = (&view.entry.row, &view.activity);
    let none = || visit.say("no limit", "без лимита").to_owned();
    let deadline = view.entry.deadline(usual).as_millis();
    html! {
        dl.facts {
            div { dt { (visit.say("Breaker", "Предохранитель")) } dd {
                @match view.open_until(now) {
                    Some(until) => { span.chip.failed { (visit.say("open", "разомкнут")) } " " (visit.say("next call ", "следующий вызов ")) (time(until)) },
                    None => span.chip.active { (visit.say("closed: calls are made", "замкнут: вызовы идут")) },
                }
            } }
            @if activity.failed_calls > 0 {
                div { dt { (visit.say("Calls that failed in a row", "Неудачных вызовов подряд")) } dd { (number(i64::from(activity.failed_calls))) } }
                div { dt { (visit.say("No answer since", "Нет ответа с")) } dd { (moment(activity.down_since)) } }
            }
            div { dt { (visit.say("Deadline of a call", "Срок вызова")) } dd { (deadline) "\u{a0}" (visit.say("ms", "мс")) } }
            div { dt { (visit.say("Calls a second, over all processes", "Вызовов в секунду на все процессы")) }
                dd { @if row.calls_per_second > 0.0 { (rate(row.calls_per_second)) } @else { (none()) } } }
            div { dt { (visit.say("Calls at a time", "Вызовов одновременно")) }
                dd { @if row.parallel > 0 { (number(i64::from(row.parallel))) } @else { (none()) } } }
            @if activity.limited > 0 {
                div { dt { (visit.say("Calls that wait for a limit", "Вызовов ждут лимита")) } dd { (number(i64::from(activity.limited))) } }
            }
        }
    }
}

fn facts(visit: &Visit, view: &StageView) -> Markup {
    let row = &view.entry.row;
    let saved = match row.saved() {
        Saved::None => visit.say("not at all", "никак"),
        Saved::Topic => visit.say("topic stages.saved", "в топик stages.saved"),
        Saved::Call => visit.say("a call and topic stages.saved", "вызовом и в топик stages.saved"),
    };
    html! {
        dl.facts {
            div { dt { (visit.say("Kind", "Вид")) } dd {
                @if row.address.is_empty() { (visit.say("built in", "встроенный")) } @else { (visit.say("another program at ", "другая программа: ")) bdi.address { (row.address) } } } }
            @if !row.description.is_empty() { div { dt { (visit.say("It says of itself", "О себе")) } dd { bdi { (row.description) } } } }
            div { dt { (visit.say("Fields", "Поля")) } dd {
                @if row.untold { (visit.say("none: it is not told of changes", "никаких: изменения ему не сообщаются")) }
                @else if row.masks.is_empty() { (visit.say("all", "все")) }
                @else { @for mask in &row.masks { code { (mask) } " " } } } }
            div { dt { (visit.say("Told of its saves by", "Сообщается о сохранении")) } dd { (saved) } }
            div { dt { (visit.say("Walks by itself", "Обход сам по себе")) } dd {
                @if row.traverse_every_hours == 0 { (visit.say("never", "никогда")) }
                @else { (visit.say("every ", "каждые ")) (row.traverse_every_hours) "\u{a0}" (visit.say("h", "ч")) } } }
            div { dt { (visit.say("Registered", "Зарегистрирован")) } dd { (moment(row.registered_at)) } }
        }
    }
}
