//! Which fields cause how many shipments, and which of them flap.

use axum::extract::State;
use maud::{Markup, html};
use silver::settings::FLAPPING;
use united::stats::{FieldStats, NEW_OFFER, Stats};
use united::subscription::Subscription;

use super::{heading, rooms, setting_address};
use crate::Console;
use crate::frame::page;
use crate::pages::Answer;
use crate::visit::Visit;
use crate::words::{number, time};

/// What the page looks back over.
const HOURS: i64 = 24;

pub(super) async fn show(State(console): State<Console>, visit: Visit) -> Answer {
    visit.require_service()?;
    let stats = console.silver.united.stats(HOURS).await.map_err(|error| visit.refused(error))?;
    let flapping: Vec<_> = stats.fields.iter().filter(|field| field.flaps).collect();
    let content = html! {
        (rooms(&visit))
        div #shipments data-live {
            @if !flapping.is_empty() {
                div.notice.bad {
                    h2 { (visit.say("Fields that flap", "Дребезжащие поля")) }
                    ul { @for field in &flapping { li { code { (field.field) } " " strong { (count(field.per_hour)) }
                        (visit.say(" in an hour", " за час")) } } }
                }
            }
            p { (visit.say("Shipments since ", "Отгрузок с ")) (time(stats.since)) ": " strong { (count(stats.shipments)) } }
            (table(&visit, &stats))
        }
        p { (visit.say("A field flaps that causes more than ", "Дребезжит поле, которое вызывает больше "))
            (count(stats.flapping_above)) (visit.say(" shipments in an hour: ", " отгрузок в час: "))
            a href=(setting_address(FLAPPING)) { code { (FLAPPING) } } }
    };
    let title = visit.say("Shipments by field", "Отгрузки по полям");
    Ok(page(&visit, &heading(&visit, title).live(3_000), &content))
}

fn count(shipments: u64) -> String {
    number(i64::try_from(shipments).unwrap_or(i64::MAX))
}

fn table(visit: &Visit, stats: &Stats) -> Markup {
    let most = stats.fields.iter().map(|field| field.shipments).max().unwrap_or(0).max(1);
    html! {
        div.scroll tabindex="0" { table {
            thead { tr {
                th { (visit.say("Field", "Поле")) }
                th { (visit.say("Mark", "Пометка")) }
                th.number { (visit.say("Shipments", "Отгрузок")) }
                th { span.hidden { (visit.say("Share", "Доля")) } }
                th.number { (visit.say("In an hour", "За час")) }
            } }
            tbody { @for field in &stats.fields { (line(visit, field, most)) } }
        } }
    }
}

fn line(visit: &Visit, field: &FieldStats, most: u64) -> Markup {
    let is_field = field.field != NEW_OFFER;
    html! {
        tr {
            td { @if is_field { code { (field.field) } } @else { (visit.say("offers that are new", "новые предложения")) }
                @if field.flaps { " " span.chip.failed { (visit.say("flaps", "дребезжит")) } } }
            td { @match field.mark {
                Subscription::Trigger => span.chip.in_progress { (visit.say("trigger", "триггер")) },
                Subscription::Shipment => span.chip { (visit.say("goes along", "едет вместе")) },
                Subscription::None => "—",
            } }
            td.number { (count(field.shipments)) }
            td { meter min="0" max=(most) value=(field.shipments) aria-label=(format!("{}: {}", field.field, field.shipments)) {} }
            td.number { (count(field.per_hour)) }
        }
    }
}
