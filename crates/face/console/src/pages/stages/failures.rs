//! Offers that a stage failed on: those that are not tried any more, and those that are.

use std::collections::BTreeMap;

use axum::Form;
use axum::extract::{Path, Query, State};
use maud::{Markup, html};
use model::{Offer, OfferId};
use serde::Deserialize;
use stages::{Failure, FailureState, Of};
use web::{Problem, Verdict};

use super::acts::noted;
use super::stage::one;
use super::{address, refused, state_name};
use crate::Console;
use crate::failures::{self, Failed, Verbs};
use crate::frame::{Heading, page, see_other};
use crate::pages::{Answer, offer_address, seller_address};
use crate::visit::{Refusal, Visit};
use crate::words::{encoded, number};

const PAGE: usize = 50;

/// What the page shows, and what was just done.
#[derive(Default, Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    state: String,
    #[serde(default)]
    cursor: String,
    retried: Option<usize>,
    dropped: Option<usize>,
}

impl Wanted {
    fn state(&self, visit: &Visit) -> Result<FailureState, Refusal> {
        if self.state.is_empty() {
            return Ok(FailureState::default());
        }
        let none = || visit.refused(Problem::not_found("failures are parked or failing"));
        FailureState::parse(&self.state).ok_or_else(none)
    }

    fn after(&self, visit: &Visit) -> Result<Option<OfferId>, Refusal> {
        if self.cursor.is_empty() {
            return Ok(None);
        }
        let bad = |_| visit.refused(Problem::field("cursor", "bad_cursor", "this is no cursor of this list"));
        self.cursor.parse().map(Some).map_err(bad)
    }
}

pub(super) async fn show(
    State(console): State<Console>,
    visit: Visit,
    Path(id): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Answer {
    visit.require_service()?;
    let (state, after) = (wanted.state(&visit)?, wanted.after(&visit)?);
    let view = one(&console, &visit, &id).await?;
    let found = console.stages.failures_in(&id, state, after, PAGE).await;
    let found = found.map_err(|error| refused(&visit, error))?;
    let next = found.last().filter(|_| found.len() >= PAGE).map(|last| last.offer);
    let offers = offers_of(&console, &visit, &found).await?;
    let admin = visit.access.require_admin().is_ok();
    let to = format!("{}/failures", address(&id));
    let counts = [(FailureState::Parked, view.all_parked()), (FailureState::Failing, view.failing)];
    let count = if state == FailureState::Parked { view.all_parked() } else { view.failing };
    let shown: Vec<_> = found
        .into_iter()
        .map(|failure| {
            let verbs = admin.then(|| Verbs {
                address: format!("{to}/{}", failure.offer),
                fields: vec![("state", state.name().to_owned()), ("cursor", wanted.cursor.clone())],
            });
            shown(&visit, failure, &offers, verbs)
        })
        .collect();
    let every = Verbs { address: to.clone(), fields: vec![("state", state.name().to_owned())] };
    let content = html! {
        (said(&visit, &wanted))
        ul.filters #states data-live {
            @for (one, count) in counts {
                li { a href=(format!("{to}?state={}", one.name())) aria-current=[(one == state).then_some("true")] {
                    (state_name(&visit, one.name())) " " strong { (number(count)) } } }
            }
        }
        p.faint { @match state {
            FailureState::Parked => (visit.say("These are not tried any more, until the offer is changed or somebody says so here.",
                "Больше не повторяются, пока предложение не изменят или кто-нибудь не решит здесь.")),
            FailureState::Failing => (visit.say("These are tried again by themselves, later each time; after 20 tries they are parked.",
                "Повторяются сами, каждый раз позже; после 20 попыток откладываются.")),
        } }
        div #answer-all data-live {
            @if admin && count > 0 { (failures::answer_all(&visit, &every, &number(count))) }
        }
        div #failures data-live {
            (failures::table(&visit, visit.say("Offer", "Предложение"), visit.say("None.", "Нет."), &shown))
        }
        @if let Some(next) = next {
            p.pager { a rel="next" href=(format!("{to}?state={}&cursor={next}", state.name())) { (visit.say("More", "Ещё")) } }
        }
    };
    let heading = Heading::new(visit.say("Failures", "Сбои"))
        .below("/console/stages", visit.say("Stages", "Этапы"))
        .below(address(&id), &id)
        .live(3_000);
    Ok(page(&visit, &heading, &content))
}

fn said(visit: &Visit, wanted: &Wanted) -> Markup {
    let told = |words: &str, count: Option<usize>| {
        html! { @if let Some(count) = count { div.notice.good role="status" { p { (words) (number(count as i64)) } } } }
    };
    html! {
        (told(visit.say("Tried again: ", "Отправлено на повтор: "), wanted.retried))
        (told(visit.say("Dropped: ", "Выброшено: "), wanted.dropped))
    }
}

async fn offers_of(
    console: &Console,
    visit: &Visit,
    found: &[Failure],
) -> Result<BTreeMap<OfferId, Offer>, Refusal> {
    let ids: Vec<_> = found.iter().map(|failure| failure.offer).collect();
    let offers = offers::read::across(&console.offers, &ids).await.map_err(|error| visit.offers(error))?;
    Ok(offers.into_iter().filter_map(|(id, offer)| Some((id, offer?))).collect())
}

fn shown(visit: &Visit, failure: Failure, offers: &BTreeMap<OfferId, Offer>, verbs: Option<Verbs>) -> Failed {
    let id = failure.offer.to_string();
    let offer = offers.get(&failure.offer);
    let title = offer.and_then(|offer| offer.content.as_ref()).map(|content| content.title.as_str());
    Failed {
        what: html! {
            a href=(offer_address(&id)) { bdi { (title.filter(|title| !title.is_empty()).unwrap_or(&id)) } } br;
            span.faint { (id) }
            @if failure.of == Of::Call { " " span.chip { (visit.say("telling it of a save", "сообщение о сохранении")) } }
            @if let Some(offer) = offer { " " a.faint href=(seller_address(&offer.seller_id)) { bdi { (offer.seller_id) } } }
        },
        why: failure.error,
        at: failure.parked_at.unwrap_or(failure.failed_at),
        again_at: failure.retry_at,
        tries: failure.tries,
        verbs,
        name: id,
    }
}

pub(super) async fn judge_all(
    State(console): State<Console>,
    visit: Visit,
    Path((id, verdict)): Path<(String, String)>,
    Form(wanted): Form<Wanted>,
) -> Answer {
    let (verdict, state) = (parse(&visit, &verdict)?, wanted.state(&visit)?);
    noted(&console, &visit, &format!("stage.failures.{}", verdict.name()), &format!("{id} {}", state.name()))
        .await?;
    let count = console.stages.judge_all_in(&id, state, verdict).await;
    let count = count.map_err(|error| refused(&visit, error))?;
    Ok(back(&id, state, "", verdict, count))
}

pub(super) async fn judge(
    State(console): State<Console>,
    visit: Visit,
    Path((id, offer, verdict)): Path<(String, String, String)>,
    Form(wanted): Form<Wanted>,
) -> Answer {
    let (verdict, state) = (parse(&visit, &verdict)?, wanted.state(&visit)?);
    let offer: OfferId = offer.parse().map_err(|error| visit.offers(offers::Error::BadId(error)))?;
    noted(&console, &visit, &format!("stage.failure.{}", verdict.name()), &format!("{id} {offer}")).await?;
    let judged = console.stages.judge(&id, offer, verdict).await.map_err(|error| refused(&visit, error))?;
    if !judged {
        let detail = format!("the stage {id:?} did not fail on the offer {offer}, or was answered already");
        return Err(visit.refused(Problem::not_found(detail)));
    }
    Ok(back(&id, state, &wanted.cursor, verdict, 1))
}

fn parse(visit: &Visit, verdict: &str) -> Result<Verdict, Refusal> {
    visit.require_admin()?;
    Verdict::parse(verdict).map_err(|problem| visit.refused(problem))
}

fn back(
    id: &str,
    state: FailureState,
    cursor: &str,
    verdict: Verdict,
    count: usize,
) -> axum::response::Response {
    let did = match verdict {
        Verdict::Retry => "retried",
        Verdict::Drop => "dropped",
    };
    let cursor = encoded(cursor);
    see_other(&format!("{}/failures?state={}&cursor={cursor}&{did}={count}", address(id), state.name()))
}
