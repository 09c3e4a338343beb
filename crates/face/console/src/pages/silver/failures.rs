//! SSKUs that could not be imported: why, since when, and what to do about it.

use axum::Form;
use axum::extract::{Path, Query, State};
use kit::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use silver::failures::Filter;
use silver::ssku::Key;
use web::{Problem, Verdict};
use wire::silver::Debt;

use super::{FAILURES as ADDRESS, heading, key_of, rooms, ssku_address};
use crate::Console;
use crate::failures::{self, Failed, Verbs};
use crate::frame::{page, see_other};
use crate::pages::Answer;
use crate::visit::{Refusal, Visit};
use crate::words::{encoded, number};

const PAGE: usize = 50;
/// Failures that are counted for the button that deals with all of them.
const COUNTED: usize = 1_000;

/// Which failures the page is about.
#[derive(Default, Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    business: String,
    #[serde(default)]
    reason: String,
    after: Option<String>,
}

impl Wanted {
    /// A business that is no number is nobody's: it does not mean all.
    fn filter(&self) -> Filter {
        let business = Some(self.business.trim()).filter(|text| !text.is_empty());
        Filter {
            business: business.map(|text| text.parse().unwrap_or(0)),
            reason: Some(self.reason.trim()).filter(|text| !text.is_empty()).map(str::to_owned),
            parked: None,
        }
    }

    /// Answers to all that the filter takes.
    fn verbs(&self) -> Verbs {
        let fields = vec![("business", self.business.clone()), ("reason", self.reason.clone())];
        Verbs { address: format!("{ADDRESS}/all"), fields }
    }

    /// The same filter as a part of an address.
    fn query(&self) -> String {
        format!("business={}&reason={}", encoded(self.business.trim()), encoded(self.reason.trim()))
    }
}

/// A number that is not counted to its end.
fn counted(found: usize) -> String {
    let more = if found >= COUNTED { "+" } else { "" };
    format!("{}{more}", number(found as i64))
}

/// How many there are, up to a limit.
pub(crate) async fn owed(console: &Console, visit: &Visit, limit: usize) -> Result<usize, Refusal> {
    let found = console.silver.failures(&Filter::default(), None, limit).await;
    Ok(found.map_err(|error| visit.refused(error))?.len())
}

pub(super) async fn show(
    State(console): State<Console>,
    visit: Visit,
    Query(wanted): Query<Wanted>,
) -> Answer {
    visit.require_service()?;
    let filter = wanted.filter();
    let after = wanted.after.as_deref().and_then(key_of);
    let found = console.silver.failures(&filter, after.as_ref(), PAGE + 1).await;
    let mut found = found.map_err(|error| visit.refused(error))?;
    let more = found.len() > PAGE;
    found.truncate(PAGE);
    let all =
        console.silver.failures(&filter, None, COUNTED).await.map_err(|error| visit.refused(error))?.len();
    let content = html! {
        (rooms(&visit))
        (filter_form(&visit, &wanted))
        div #failure-list data-live {
            @if all > 0 { (failures::answer_all(&visit, &wanted.verbs(), &counted(all))) }
            (table(&visit, &found))
            @if let Some((last, _)) = found.last().filter(|_| more) {
                p.pager { a rel="next" href=(format!("{ADDRESS}?{}&after={}", wanted.query(), encoded(&last.to_string()))) {
                    (visit.say("More failures", "Ещё ошибки")) } }
            }
        }
        p.faint { (visit.say(
            "A failure is tried again by itself, less and less often; it goes when everything that it speaks of is imported.",
            "Импорт повторяется сам, всё реже; ошибка уходит, когда всё, о чём она, импортировано.",
        )) }
    };
    Ok(page(&visit, &heading(&visit, visit.say("Failures", "Ошибки")).live(3_000), &content))
}

fn filter_form(visit: &Visit, wanted: &Wanted) -> Markup {
    html! {
        form.search action=(ADDRESS) role="search" {
            span.field { label for="business" { (visit.say("Business", "Бизнес")) }
                input #business name="business" inputmode="numeric" pattern="[0-9]{0,10}" maxlength="10" value=(wanted.business); }
            span.field { label for="reason" { (visit.say("Words of the reason", "Слова причины")) }
                input #reason name="reason" maxlength="200" value=(wanted.reason); }
            button { (visit.say("Show", "Показать")) }
        }
    }
}

/// Failures with their answers; also on an SSKU's own page.
pub(super) fn table(visit: &Visit, found: &[(Key, Debt)]) -> Markup {
    let nothing = visit.say("None: everything is imported.", "Нет: всё импортировано.");
    let failed: Vec<_> = found.iter().map(|(key, debt)| shown(visit, key, debt)).collect();
    failures::table(visit, "SSKU", nothing, &failed)
}

fn shown(visit: &Visit, key: &Key, debt: &Debt) -> Failed {
    Failed {
        what: html! {
            a href=(ssku_address(key.business, &key.shop_sku)) { bdi { (key.shop_sku) } } br;
            span.faint { (visit.say("business", "бизнес")) " " (key.business) }
            @if debt.parked { " " span.chip.needs_confirmation { (visit.say("waits for a person", "ждёт человека")) } }
        },
        name: key.to_string(),
        why: debt.reason.clone(),
        at: Timestamp(debt.since),
        again_at: (!debt.parked).then_some(Timestamp(debt.not_before)),
        tries: debt.tries,
        verbs: Some(Verbs {
            address: ADDRESS.to_owned(),
            fields: vec![("id", key.to_string()), ("back", visit.address.clone())],
        }),
    }
}

fn verdict(visit: &Visit, verb: &str) -> Result<Verdict, Refusal> {
    Verdict::parse(verb).map_err(|problem| visit.refused(problem))
}

#[derive(Deserialize)]
pub(super) struct Which {
    id: String,
    #[serde(default)]
    back: String,
}

pub(super) async fn answer(
    State(console): State<Console>,
    visit: Visit,
    Path(verb): Path<String>,
    Form(which): Form<Which>,
) -> Answer {
    visit.require_service()?;
    let verdict = verdict(&visit, &verb)?;
    let none =
        || visit.refused(Problem::not_found(visit.say("there is no such failure", "такой ошибки нет")));
    let key = key_of(&which.id).ok_or_else(none)?;
    // Twice is as good as once, and so is one that was paid meanwhile.
    console.silver.judge(&key, verdict).await.map_err(|error| visit.refused(error))?;
    let is_ours = which.back.starts_with("/console/silver/");
    Ok(see_other(if is_ours { &which.back } else { ADDRESS }))
}

pub(super) async fn answer_all(
    State(console): State<Console>,
    visit: Visit,
    Path(verb): Path<String>,
    Form(wanted): Form<Wanted>,
) -> Answer {
    visit.require_service()?;
    let verdict = verdict(&visit, &verb)?;
    console.silver.judge_all(&wanted.filter(), verdict).await.map_err(|error| visit.refused(error))?;
    Ok(see_other(&format!("{ADDRESS}?{}", wanted.query())))
}
