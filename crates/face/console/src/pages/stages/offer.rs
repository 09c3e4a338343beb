//! The stages of an offer: what each has to do with it, and why it waits.

use kit::Timestamp;
use maud::{Markup, html};
use model::{Offer, OfferId};
use stages::view::{OfferStage, Why};

use super::{address, refused};
use crate::Console;
use crate::frame::{act, empty};
use crate::visit::{Refusal, Visit};
use crate::words::{bytes, number, time};

/// A part of the offer's page.
pub(crate) async fn section(
    console: &Console,
    visit: &Visit,
    offer: &Offer,
    id: OfferId,
) -> Result<Markup, Refusal> {
    let found = console.stages.stages_of(offer, id).await.map_err(|error| refused(visit, error))?;
    Ok(html! {
        section aria-labelledby="stages" {
            h2 #stages { (visit.say("Stages", "Этапы")) }
            div #stage-list data-live {
                @if found.is_empty() {
                    (empty(visit.say("No stage has anything to do with it now.", "Сейчас ни у одного этапа нет с ним дел.")))
                } @else { (table(visit, &found, id)) }
            }
        }
    })
}

fn table(visit: &Visit, found: &[OfferStage], id: OfferId) -> Markup {
    let admin = visit.access.require_admin().is_ok();
    // Sellers see what waits; the pages of stages are not theirs.
    let linked = visit.access.sees_all_sellers();
    html! {
        div.scroll tabindex="0" role="region" aria-label=(visit.say("Stages", "Этапы")) { table {
            thead { tr {
                th { (visit.say("Stage", "Этап")) }
                th { (visit.say("Why it waits", "Чего ждёт")) }
                th { (visit.say("When", "Когда")) }
                th { (visit.say("Last error", "Последняя ошибка")) }
                th { (visit.say("State", "Состояние")) }
                @if admin { th { span.hidden { (visit.say("Actions", "Действия")) } } }
            } }
            tbody {
                @for one in found {
                    tr {
                        td { @if linked { a href=(address(&one.stage)) { (one.stage) } } @else { (one.stage) } }
                        td { (reason(visit, one)) }
                        td { (moments(visit, one)) }
                        td.value { (error(visit, one)) }
                        td { (state(visit, one)) }
                        @if admin { td { (answers(visit, one, id)) } }
                    }
                }
            }
        } }
    }
}

fn reason(visit: &Visit, one: &OfferStage) -> Markup {
    let Some(why) = one.why else {
        return html! { span.faint { (visit.say("it does not wait", "не ждёт")) } };
    };
    let (class, word) = match why {
        Why::Paused => ("paused", visit.say("the stage is paused", "этап приостановлен")),
        Why::Parked => ("failed", visit.say("parked: it failed too often", "отложено: слишком много сбоев")),
        Why::Breaker => ("failed", visit.say("the stage does not answer", "этап не отвечает")),
        Why::Lease => ("warning", visit.say("no process serves its shard", "его шард никто не обслуживает")),
        Why::Limit => ("queued", visit.say("the stage's limit of calls", "лимит вызовов этапа")),
        Why::Turn => ("queued", visit.say("its turn", "своей очереди")),
        Why::Retry => ("warning", visit.say("the next try", "следующей попытки")),
        Why::Timer => ("waiting", visit.say("its time", "своего времени")),
        Why::Walk => ("queued", visit.say("a walk that makes up for changes", "навёрстывающего обхода")),
    };
    html! {
        span class=(format!("chip {class}")) { (word) }
        @if let Some(place) = one.place {
            br; span.faint { (visit.say("before it: ", "впереди: ")) (number(place as i64)) }
        }
    }
}

fn moments(visit: &Visit, one: &OfferStage) -> Markup {
    let moment = |name: &str, at: i64| {
        html! { @if at != 0 { div { span.faint { (name) } " " (time(Timestamp(at))) } } }
    };
    let pair = &one.pair;
    html! {
        (moment(visit.say("waits since", "ждёт с"), pair.queued_at))
        (moment(visit.say("timer", "таймер"), pair.timer_at))
        (moment(visit.say("next try", "следующая попытка"), pair.retry_at))
        (moment(visit.say("parked", "отложено"), pair.parked_at))
    }
}

fn error(visit: &Visit, one: &OfferStage) -> Markup {
    html! {
        @if !one.pair.error.is_empty() {
            bdi { (one.pair.error) }
            @if one.pair.tries > 0 { br; span.faint { (visit.say("tries: ", "попыток: ")) (number(i64::from(one.pair.tries))) } }
        }
    }
}

/// The state itself is the stage's alone.
fn state(visit: &Visit, one: &OfferStage) -> Markup {
    html! {
        @if let Some(state) = &one.pair.state {
            code { (state.type_url.rsplit('/').next().unwrap_or_default()) } br;
            span.faint { (bytes(visit, state.value.len() as i64)) }
        }
    }
}

fn answers(visit: &Visit, one: &OfferStage, id: OfferId) -> Markup {
    let failed = one.pair.parked_at != 0 || one.pair.tries > 0;
    let to = format!("{}/failures/{id}", address(&one.stage));
    html! {
        @if failed {
            (act(visit, &format!("{to}/retry"), "", visit.say("Retry", "Повторить"))) " "
            (act(visit, &format!("{to}/drop"), "", visit.say("Drop", "Выбросить")))
        }
    }
}
