//! Lists of what failed, wherever: dead letters of topics and of snippets, offers that a stage has given up, SSKUs that
//! silver owes. All say what, why, when and after how many tries, and can be answered with *retry* and *drop*, one or all.

use kit::Timestamp;
use maud::{Markup, html};

use crate::frame::{csrf, empty};
use crate::visit::Visit;
use crate::words::{number, time};

/// One thing that failed.
pub(crate) struct Failed {
    /// As it stands in its row.
    pub(crate) what: Markup,
    /// Its name, for those who hear the buttons instead of seeing their row.
    pub(crate) name: String,
    pub(crate) why: String,
    pub(crate) at: Timestamp,
    /// When it is tried again by itself.
    pub(crate) again_at: Option<Timestamp>,
    pub(crate) tries: u32,
    /// `None`: the visitor may only read.
    pub(crate) verbs: Option<Verbs>,
}

/// Where the answers to a failure go.
pub(crate) struct Verbs {
    /// Below it are `/retry` and `/drop`.
    pub(crate) address: String,
    /// What the forms bring along.
    pub(crate) fields: Vec<(&'static str, String)>,
}

/// The failures of a page; `heading` says what stands in the first column, `nothing` what an empty list means.
pub(crate) fn table(visit: &Visit, heading: &str, nothing: &str, failed: &[Failed]) -> Markup {
    if failed.is_empty() {
        return empty(nothing);
    }
    let can_act = failed.iter().any(|one| one.verbs.is_some());
    html! {
        div.scroll tabindex="0" role="region" aria-label=(heading) { table.failures {
            thead { tr {
                th { (heading) }
                th { (visit.say("Why", "Почему")) }
                th { (visit.say("When", "Когда")) }
                th.number { (visit.say("Tries", "Попыток")) }
                @if can_act { th { span.hidden { (visit.say("Answers", "Действия")) } } }
            } }
            tbody {
                @for one in failed {
                    tr {
                        td { (one.what) }
                        td.value { bdi { (one.why) } }
                        td { (time(one.at))
                            @if let Some(at) = one.again_at { br; span.faint { (visit.say("again ", "повтор ")) (time(at)) } } }
                        td.number { (number(i64::from(one.tries))) }
                        @if can_act { td.answers { @if let Some(verbs) = &one.verbs { (answers(visit, &one.name, verbs)) } } }
                    }
                }
            }
        } }
    }
}

fn answers(visit: &Visit, name: &str, verbs: &Verbs) -> Markup {
    html! {
        @for (verb, word) in [("retry", visit.say("Retry", "Повторить")), ("drop", visit.say("Drop", "Выбросить"))] {
            form.inline method="post" action=(format!("{}/{verb}", verbs.address)) {
                (csrf(visit))
                (hidden(verbs))
                button aria-label=(format!("{word}: {name}")) { (word) }
            }
            " "
        }
    }
}

/// The answers to all of them: dropping takes two steps, as it cannot be taken back.
pub(crate) fn answer_all(visit: &Visit, verbs: &Verbs, count: &str) -> Markup {
    let form = |verb: &str, class: &str, word: &str| {
        html! {
            form.inline method="post" action=(format!("{}/{verb}", verbs.address)) {
                (csrf(visit))
                (hidden(verbs))
                button class=(class) { (word) " (" (count) ")" }
            }
        }
    };
    html! {
        div.verbs {
            (form("retry", "", visit.say("Retry all", "Повторить все")))
            details.inline {
                summary { (visit.say("Drop all…", "Выбросить все…")) }
                (form("drop", "danger", visit.say("Yes, drop all", "Да, выбросить все")))
            }
        }
    }
}

fn hidden(verbs: &Verbs) -> Markup {
    html! { @for (field, value) in &verbs.fields { input type="hidden" name=(field) value=(value); } }
}
