//! Charts as SVG written by hand. Colours are classes of the style sheet, so that they follow light and dark; every value
//! is also told in words.

use feeds::api::{LoadItem, StatisticsItem};
use maud::{Markup, html};

use crate::visit::Visitor;
use crate::words::{OUTCOMES, number, status};

/// How many records had each outcome, in the order of [`OUTCOMES`].
pub(crate) fn counts(found: &StatisticsItem) -> [i64; 10] {
    [
        found.created,
        found.updated,
        found.unchanged,
        found.rejected,
        found.banned,
        found.duplicate,
        found.skipped,
        found.stale,
        found.deleted,
        found.made_manual,
    ]
}

const BAR: f64 = 1_000.0;

/// The statistics of a load as one bar, with its legend.
pub(crate) fn bar(visitor: &Visitor, found: &StatisticsItem) -> Markup {
    let shown: Vec<_> = OUTCOMES.iter().zip(counts(found)).filter(|(_, count)| *count > 0).collect();
    let sum: i64 = shown.iter().map(|(_, count)| count).sum();
    let mut at = 0.0;
    let nothing = visitor.say("nothing yet", "пока ничего");
    let parts: Vec<_> = shown
        .iter()
        .map(|((name, english, russian), count)| {
            let width = BAR * *count as f64 / sum.max(1) as f64;
            let from = at;
            at += width;
            (*name, visitor.say(english, russian), *count, from, width)
        })
        .collect();
    let told =
        parts.iter().map(|(_, word, count, ..)| format!("{word} {count}")).collect::<Vec<_>>().join(", ");
    let told = if told.is_empty() { nothing.to_owned() } else { told };
    html! {
        figure.bar {
            svg viewBox="0 0 1000 24" preserveAspectRatio="none" role="img" aria-label=(told) {
                @if parts.is_empty() { rect.none width="1000" height="24" {} }
                @for (name, word, count, from, width) in &parts {
                    rect class=(name) x=(format!("{from:.2}")) width=(format!("{width:.2}")) height="24" {
                        title { (word) ": " (number(*count)) }
                    }
                }
            }
            figcaption {
                ul.legend {
                    @for (name, word, count, ..) in &parts {
                        li { span class=(format!("swatch {name}")) {} (word) " " strong { (number(*count)) } }
                    }
                }
            }
        }
    }
}

const HEIGHT: f64 = 120.0;
const STEP: f64 = 36.0;
const WIDTH: f64 = 30.0;
/// Where the first column stands.
const LEFT: f64 = 40.0;

/// What the chart of loads tells.
fn told(load: &LoadItem) -> [(&'static str, i64); 3] {
    let found = &load.statistics;
    [("created", found.created), ("updated", found.updated), ("rejected", found.rejected)]
}

fn outcome(visitor: &Visitor, name: &str) -> &'static str {
    let found = OUTCOMES.iter().find(|(outcome, ..)| *outcome == name);
    found.map_or("", |(_, english, russian)| visitor.say(english, russian))
}

/// What each of the last loads created, updated and rejected, oldest first.
pub(crate) fn history(visitor: &Visitor, loads: &[LoadItem], address: impl Fn(&str) -> String) -> Markup {
    let sums = loads.iter().map(|load| told(load).iter().map(|(_, count)| count).sum::<i64>());
    let top = sums.max().unwrap_or(0).max(1);
    let width = STEP * loads.len().max(6) as f64 + LEFT;
    html! {
        figure.history {
            svg viewBox=(format!("0 -10 {width:.0} 152")) preserveAspectRatio="xMinYMid" role="group"
                aria-label=(visitor.say("History of loads", "История загрузок")) {
                text.axis x="34" y="6" text-anchor="end" { (number(top)) }
                text.axis x="34" y="122" text-anchor="end" { "0" }
                line.axis x1="38" y1=(HEIGHT) x2=(width) y2=(HEIGHT) {}
                @for (place, load) in loads.iter().rev().enumerate() {
                    a href=(address(&load.task_id)) {
                        (column(visitor, load, LEFT + STEP * place as f64, top as f64))
                    }
                }
            }
            figcaption {
                ul.legend {
                    @for name in ["created", "updated", "rejected"] {
                        li { span class=(format!("swatch {name}")) {} (outcome(visitor, name)) }
                    }
                }
            }
        }
    }
}

/// One load: its parts on top of each other, and its status below them.
fn column(visitor: &Visitor, load: &LoadItem, x: f64, top: f64) -> Markup {
    let mut above = HEIGHT;
    let parts: Vec<_> = told(load)
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| {
            let height = (HEIGHT * count as f64 / top).max(2.0);
            above -= height;
            (name, count, above.max(0.0), height)
        })
        .collect();
    let middle = x + WIDTH / 2.0;
    let said =
        format!("{} {}: {}", visitor.say("load", "загрузка"), load.task_id, status(visitor, &load.status));
    html! {
        rect.ground x=(x) y="0" width=(WIDTH) height=(HEIGHT) { title { (said) } }
        @for (name, count, y, height) in &parts {
            rect class=(name) x=(x) y=(format!("{y:.1}")) width=(WIDTH) height=(format!("{height:.1}")) {
                title { "№" (load.task_id) " " (outcome(visitor, name)) ": " (number(*count)) }
            }
        }
        circle class=(format!("status {}", load.status)) cx=(middle) cy="128" r="3.5" {}
        text.axis x=(middle) y="140" text-anchor="middle" { (load.task_id) }
    }
}

/// A small line of values, the newest at the right.
pub(crate) fn sparkline(values: &[f64]) -> Markup {
    let top = values.iter().copied().fold(0.0_f64, f64::max);
    let step = 100.0 / (values.len().max(2) - 1) as f64;
    let place = |(index, value): (usize, &f64)| {
        let y = if top > 0.0 { 22.0 - 20.0 * value / top } else { 22.0 };
        format!("{:.1},{y:.1}", step * index as f64)
    };
    let points = values.iter().enumerate().map(place).collect::<Vec<_>>().join(" ");
    html! {
        svg.spark viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true" {
            @if values.len() > 1 { polyline points=(points) {} }
        }
    }
}
