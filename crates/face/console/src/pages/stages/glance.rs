//! The stages on the overview: their place in the picture, and those that need a person.

use kit::Timestamp;
use maud::{Markup, html};
use stages::view::StageView;

use super::address;
use crate::visit::Visit;
use crate::words::{number, rate, span, time};

/// The room of the stages in the picture of the pipeline, with the arrow from and to the offers.
pub(in crate::pages) fn room(visit: &Visit, views: &[StageView], now: Timestamp) -> Markup {
    let speed: f64 = views.iter().map(StageView::runs_per_second).sum();
    let waiting: i64 = views.iter().map(|view| view.waiting).sum();
    let wrong = views.iter().filter(|view| !problems(visit, view, now).is_empty()).count();
    let oldest = views.iter().filter_map(|view| view.oldest_at).min();
    let lag = match oldest {
        Some(since) if waiting > 0 => {
            format!(", {} {} ({})", visit.say("wait", "ждут"), number(waiting), span(visit, now.since(since)))
        }
        _ => String::new(),
    };
    let moving = if speed > 0.0 { " moving" } else { "" };
    let late = if wrong > 0 { " late" } else { "" };
    html! {
        a href="/console/stages" {
            path class=(format!("arrow{moving}{late}")) d="M352 166 L188 238" marker-end="url(#tip)" {}
            text x="265" y="252" text-anchor="middle" { (visit.say("changes", "изменения")) }
            text.value x="265" y="268" text-anchor="middle" { (rate(speed)) "/" (visit.say("s", "с")) (lag) }
            rect class=(if wrong > 0 { "box failing" } else { "box" }) x="20" y="230" width="160" height="56" rx="6" {}
            text.name x="100" y=(if wrong > 0 { "253" } else { "263" }) text-anchor="middle" { (visit.say("Stages", "Этапы")) }
            @if wrong > 0 {
                text.problem x="100" y="274" text-anchor="middle" { (visit.say("with problems: ", "с проблемами: ")) (wrong) }
            }
        }
    }
}

/// Stages that need a person, as points of the list.
pub(in crate::pages) fn needs(visit: &Visit, views: &[StageView], now: Timestamp) -> Vec<Markup> {
    let mut points = Vec::new();
    for view in views {
        let found = problems(visit, view, now);
        if found.is_empty() {
            continue;
        }
        let only_paused = view.all_parked() == 0 && view.entry.row.paused_at != 0;
        points.push(html! {
            li class=(if only_paused { "ask" } else { "bad" }) {
                (visit.say("Stage ", "Этап ")) a href=(address(&view.entry.id)) { (view.entry.id) } ": "
                @for (place, problem) in found.iter().enumerate() { @if place > 0 { ", " } (problem) }
            }
        });
    }
    points
}

fn problems(visit: &Visit, view: &StageView, now: Timestamp) -> Vec<Markup> {
    let row = &view.entry.row;
    let mut found = Vec::new();
    if view.all_parked() > 0 {
        found.push(html! {
            a href=(format!("{}/failures?state=parked", address(&view.entry.id))) {
                (visit.say("parked offers ", "отложено предложений ")) strong { (number(view.all_parked())) } }
        });
    }
    if view.open_until(now).is_some() {
        found.push(html! {
            (visit.say("does not answer since ", "не отвечает с ")) (time(Timestamp(view.activity.down_since)))
        });
    } else if row.suspended_at != 0 {
        found.push(html! {
            (visit.say("told of no changes since ", "не получает изменений с ")) (time(Timestamp(row.suspended_at)))
        });
    }
    if row.paused_at != 0 {
        found.push(
            html! { (visit.say("paused since ", "приостановлен с ")) (time(Timestamp(row.paused_at))) },
        );
    }
    found
}
