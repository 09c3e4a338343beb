//! Durable PATCHes of offers of many sellers over HTTP, beside group commits of the bare engine with as many rows.

use std::sync::Arc;
use std::time::Duration;

use e2e::bench::{self, Figure};
use e2e::http_rate::{self, Question};
use e2e::load::bare_fjall::BareFjall;
use e2e::load::{OfferRows, offers, seller_name};
use e2e::program::Program;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    #[arg(long, default_value_t = 64)]
    connections: usize,
}

const SELLERS: u64 = 5_000;
const EACH: u64 = 20;
/// The offer, its event, the outbox row and the outbox's end.
const ROWS: usize = 4;

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("ours");
    let store = offers::open(&data).await?;
    let category = offers::easy_category(&catalog::Catalog::shipped());
    for seller in 0..SELLERS {
        offers::fill(&store, &seller_name(seller), &category, EACH).await?;
    }
    store.engine().close().await?;
    drop(store);
    let program = Program::start(&data, &[])?;
    let bare = Arc::new(BareFjall::open(&folder.path().join("bare"))?);
    let (address, time) = (program.http, Duration::from_secs(arguments.seconds));
    let connections = arguments.connections;
    let (ours, reference) = bench::by_turns(
        bench::TURNS,
        async || http_rate::rate(address, connections, time, patch).await,
        async || {
            let bare = bare.clone();
            bench::rate(connections, time, move |number| {
                let bare = bare.clone();
                async move { bare.write(&[OfferRows::new(number % SELLERS, number, ROWS)]).await }
            })
            .await
        },
    )
    .await?;
    let name = format!("PATCH offer, durable, {connections} connections");
    let figure = Figure::new(name, "1/s", ours.per_second, "≥ 0.5; aim 5,000/s");
    let figures = [figure.beside(reference.per_second).with_times(&ours)];
    bench::print(
        &format!("writing, reference: group commits of the bare engine, {ROWS} rows each, without HTTP"),
        &figures,
    );
    bench::save("write", &figures)
}

/// Another price each time.
fn patch(number: u64) -> Question {
    let offer = offers::id(&seller_name(number % SELLERS), number / SELLERS % EACH);
    let amount = 1_000 + number % 100_000;
    Question {
        method: "PATCH",
        path: format!("/v1/offers/{offer}"),
        headers: "content-type: application/merge-patch+json\r\nif-match: *\r\n",
        body: format!("{{\"price\":{{\"amount\":\"{amount}.00\",\"currency\":\"RUB\"}}}}").into_bytes(),
        status: 200,
    }
}
