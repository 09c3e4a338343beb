//! All sellers, in pages.

use axum::extract::{Query, State};
use maud::html;
use offers::Preset;
use serde::Deserialize;
use store::Shard;

use super::{Answer, seller_address};
use crate::Console;
use crate::frame::{Heading, empty, page, see_other};
use crate::visit::Visit;
use crate::words::{encoded, number};

const PAGE: usize = 50;

#[derive(Deserialize)]
pub(crate) struct Wanted {
    after: Option<String>,
}

pub(crate) async fn show(
    State(console): State<Console>,
    visit: Visit,
    Query(wanted): Query<Wanted>,
) -> Answer {
    let (sellers, more) = if visit.access.sees_all_sellers() {
        all(&console, &visit, wanted.after.as_deref()).await?
    } else {
        let own: Vec<_> = visit.access.own_sellers().map(str::to_owned).collect();
        if let [only] = &own[..] {
            return Ok(see_other(&seller_address(only)));
        }
        (own, false)
    };
    let mut rows = Vec::new();
    for seller in sellers {
        let counts = console.offers.counts(&seller).await.map_err(|error| visit.offers(error))?;
        let feeds = feeds::history::feeds_of(&console.feeds, &seller).await;
        let feeds = feeds.map_err(|error| visit.refused(error))?;
        let count = |preset| counts.iter().find(|(found, _)| *found == preset).map_or(0, |(_, count)| *count);
        let counts = [count(Preset::Active), count(Preset::All), count(Preset::WithProblems)];
        rows.push((seller, feeds.len(), counts));
    }
    let content = html! {
        @if rows.is_empty() {
            (empty(visit.say("No seller has brought anything yet.", "Пока никто ничего не загрузил.")))
        } @else {
            div.scroll tabindex="0" { table {
                thead { tr {
                    th { (visit.say("Seller", "Продавец")) }
                    th.number { (visit.say("Feeds", "Фиды")) }
                    th.number { (visit.say("Active", "Активные")) }
                    th.number { (visit.say("All offers", "Все предложения")) }
                    th.number { (visit.say("With problems", "С проблемами")) }
                } }
                tbody {
                    @for (seller, feeds, counts) in &rows {
                        tr {
                            td { a href=(seller_address(seller)) { bdi { (seller) } } }
                            td.number { (number(*feeds as i64)) }
                            @for count in counts { td.number { (number(*count)) } }
                        }
                    }
                }
            } }
        }
        @if let Some((last, ..)) = rows.last().filter(|_| more) {
            p.pager { a href=(format!("/console/sellers?after={}", encoded(last))) rel="next" {
                (visit.say("More sellers", "Ещё продавцы"))
            } }
        }
    };
    Ok(page(&visit, &Heading::new(visit.say("Sellers", "Продавцы")), &content))
}

/// Those with offers and those with feeds, each list in the order of (shard, seller).
async fn all(
    console: &Console,
    visit: &Visit,
    after: Option<&str>,
) -> Result<(Vec<String>, bool), crate::visit::Refusal> {
    let with_offers = console.offers.sellers(after, PAGE + 1).await.map_err(|error| visit.offers(error))?;
    let with_feeds = feeds::history::sellers(&console.feeds, after, PAGE + 1).await;
    let with_feeds = with_feeds.map_err(|error| visit.refused(error))?;
    let mut sellers: Vec<_> =
        with_offers.into_iter().chain(with_feeds).map(|seller| (Shard::of(&seller), seller)).collect();
    sellers.sort_unstable();
    sellers.dedup();
    let more = sellers.len() > PAGE;
    sellers.truncate(PAGE);
    Ok((sellers.into_iter().map(|(_, seller)| seller).collect(), more))
}
