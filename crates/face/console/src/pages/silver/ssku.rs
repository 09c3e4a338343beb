//! One SSKU: what its shops say, what was imported of it, what was made of that, and what an import would do now.

use axum::extract::{Path, State};
use kit::Timestamp;
use maud::{Markup, html};
use silver::read::{Explanation, SskuView};
use silver::ssku::Key;
use silver::steps::Plan;
use web::Problem;

use super::{business_of, failures, gold, heading, parts, rooms, words};
use crate::Console;
use crate::frame::{empty, page};
use crate::pages::Answer;
use crate::visit::Visit;
use crate::words::time;

pub(super) async fn show(
    State(console): State<Console>,
    visit: Visit,
    Path((business, shop_sku)): Path<(String, String)>,
) -> Answer {
    visit.require_service()?;
    let key = Key { business: business_of(&visit, &business)?, shop_sku };
    let silver = &console.silver;
    let view = silver.view(&key).await.map_err(|error| visit.refused(error))?;
    let united = silver.united.offer_view(key.business, &key.shop_sku).await;
    let united = united.map_err(|error| visit.refused(error))?;
    if view == SskuView::default() && united == united::OfferView::default() {
        let detail = visit.say("nothing is known of", "ничего не известно о");
        return Err(visit.refused(Problem::not_found(format!("{detail} {key}"))));
    }
    let nothing = wire::united::OfferRow::default();
    let row = united.row.as_ref().unwrap_or(&nothing);
    let fillers = parts::fillers(&console, &visit, &key, row).await?;
    let explained = silver.explain(&key).await.map_err(|error| visit.refused(error))?;
    let rules = &silver.settings().gold;
    let content = html! {
        (rooms(&visit))
        (parts::home(&visit, &key))
        div #markers data-live { (markers(&visit, &key, &view)) }
        section aria-labelledby="gold" {
            h2 #gold { (visit.say("Gold", "Золото")) }
            div #gold-record data-live { (gold::record(&visit, view.gold.as_ref(), rules)) }
        }
        section aria-labelledby="united" {
            h2 #united { (visit.say("United offer", "Единое предложение")) }
            div #united-parts data-live { (parts::united(&visit, &key, &united, &fillers)) }
        }
        section aria-labelledby="silver" {
            h2 #silver { (visit.say("Silver", "Серебро")) }
            div #silver-records data-live { (parts::silver(&visit, &view)) }
        }
        section aria-labelledby="explain" {
            h2 #explain { (visit.say("What an import would do now", "Что сделал бы импорт сейчас")) }
            div #explanation data-live { (explanation(&visit, &explained)) }
        }
    };
    let title = format!("{} · {}", key.shop_sku, key.business);
    Ok(page(&visit, &heading(&visit, title).live(3_000), &content))
}

/// What stands beside the records: where it exists, what was cut, what failed, what it waits for.
fn markers(visit: &Visit, key: &Key, view: &SskuView) -> Markup {
    let shops = view.shops.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    html! {
        dl.facts {
            div { dt { (visit.say("Exists in shops", "Есть в магазинах")) }
                dd { @if shops.is_empty() { "—" } @else { (shops) } } }
            div { dt { (visit.say("Left out of it", "Что отрезано")) } dd {
                @match &view.cut {
                    Some(cut) => {
                        @for reason in &cut.reason { span.chip.warning { (words::cut(visit, reason)) } " " }
                        span.faint { (time(Timestamp(cut.at))) }
                    },
                    None => (visit.say("nothing", "ничего")),
                }
            } }
            div { dt { (visit.say("Waits for", "Ждёт")) } dd {
                @if view.waits_for_gold { span.chip.queued { (visit.say("gold", "золота")) } " " }
                @if view.waits_for_erp { span.chip.queued { "ERP" } }
                @if !view.waits_for_gold && !view.waits_for_erp { (visit.say("nothing", "ничего")) }
            } }
        }
        @if let Some(debt) = &view.debt {
            div.notice.bad {
                h2 { (visit.say("It is not imported", "Не импортировано")) }
                (failures::table(visit, &[(key.clone(), debt.clone())]))
            }
        }
    }
}

fn explanation(visit: &Visit, explained: &Explanation) -> Markup {
    match explained {
        Explanation::Unknown => empty(
            visit
                .say("United has no such offer to import.", "Импортировать нечего: единого предложения нет."),
        ),
        Explanation::Refused(reason) => html! {
            div.notice.bad { p {
                (visit.say("It cannot be converted: ", "Не преобразуется: ")) bdi { (reason) }
            } }
        },
        Explanation::Planned(plan) => steps(visit, plan),
    }
}

fn steps(visit: &Visit, plan: &Plan) -> Markup {
    html! {
        ol.steps {
            @for trace in &plan.trace {
                li { strong { (words::step(visit, trace.step)) } " "
                    span class=(format!("chip {}", chip_class(trace.outcome))) { (words::outcome(visit, trace.outcome)) } }
            }
        }
        @if !plan.cuts.is_empty() {
            p { (visit.say("It would leave out: ", "Было бы отрезано: "))
                @for cut in &plan.cuts { span.chip.warning { (words::cut(visit, cut.name())) } " " } }
        }
    }
}

/// Chips have fewer colours than charts.
fn chip_class(outcome: &str) -> &'static str {
    match words::outcome_class(outcome) {
        "created" | "updated" => "succeeded",
        "rejected" => "failed",
        "unchanged" => "quiet",
        _ => "warning",
    }
}
