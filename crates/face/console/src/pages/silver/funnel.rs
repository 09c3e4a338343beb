//! The steps of the import as a funnel: how many offers came to each, and what became of them there.

use maud::{Markup, html};
use silver::stats::OutcomeStats;

use super::words;
use crate::frame::empty;
use crate::visit::Visit;
use crate::words::number;

const WIDTH: f64 = 1_000.0;

pub(super) fn funnel(visit: &Visit, stats: &[OutcomeStats]) -> Markup {
    if stats.is_empty() {
        return empty(
            visit.say("Nothing was imported in this time.", "За это время ничего не импортировано."),
        );
    }
    let of = |step: &str| stats.iter().filter(|one| one.step == step).collect::<Vec<_>>();
    let sum = |step: &str| of(step).iter().map(|one| one.offers).sum::<u64>();
    let most = words::STEPS.iter().map(|(step, ..)| sum(step)).max().unwrap_or(1).max(1);
    html! {
        ol.funnel {
            @for (place, (step, english, russian, does, does_russian)) in words::STEPS.iter().enumerate() {
                @let outcomes = of(step);
                @if !outcomes.is_empty() {
                    li value=(place) {
                        h3 { (visit.say(english, russian)) " " strong { (number(count(sum(step)))) } }
                        p.faint { (visit.say(does, does_russian)) }
                        (bar(visit, &outcomes, most))
                    }
                }
            }
        }
    }
}

fn count(offers: u64) -> i64 {
    i64::try_from(offers).unwrap_or(i64::MAX)
}

/// The outcomes of a step, as wide as the step is against the widest.
fn bar(visit: &Visit, outcomes: &[&OutcomeStats], most: u64) -> Markup {
    let mut at = 0.0;
    let parts: Vec<_> = outcomes
        .iter()
        .map(|one| {
            let width = WIDTH * one.offers as f64 / most as f64;
            let from = at;
            at += width;
            (words::outcome_class(&one.outcome), words::outcome(visit, &one.outcome), one.offers, from, width)
        })
        .collect();
    let told =
        parts.iter().map(|(_, word, offers, ..)| format!("{word} {offers}")).collect::<Vec<_>>().join(", ");
    html! {
        figure.bar {
            svg viewBox="0 0 1000 24" preserveAspectRatio="none" role="img" aria-label=(told) {
                @for (class, word, offers, from, width) in &parts {
                    rect class=(class) x=(format!("{from:.2}")) width=(format!("{width:.2}")) height="24" {
                        title { (word) ": " (number(count(*offers))) }
                    }
                }
            }
            figcaption { ul.legend {
                @for (class, word, offers, ..) in &parts {
                    li { span class=(format!("swatch {class}")) {} (word) " " strong { (number(count(*offers))) } }
                }
            } }
        }
    }
}
