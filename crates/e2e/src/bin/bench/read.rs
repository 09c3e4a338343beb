//! GET of an offer over HTTP, among a million stored, beside the same port answering a constant of the same size.

use std::time::Duration;

use e2e::bench::{self, Figure};
use e2e::http::Client;
use e2e::http_rate::{self, Question};
use e2e::load::{offers, seller_name};
use e2e::program::Program;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    #[arg(long, default_value_t = 1_000_000)]
    offers: u64,
    #[arg(long, default_value_t = 64)]
    connections: usize,
}

const SELLERS: u64 = 1_000;

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let each = arguments.offers.div_ceil(SELLERS);
    let store = offers::open(folder.path()).await?;
    let category = offers::easy_category(&catalog::Catalog::shipped());
    for seller in 0..SELLERS {
        offers::fill(&store, &seller_name(seller), &category, each).await?;
    }
    store.engine().close().await?;
    drop(store);
    let program = Program::start(folder.path(), &[])?;
    let path = move |number: u64| {
        // A fixed walk that jumps over the whole of the data.
        let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        format!("/v1/offers/{}", offers::id(&seller_name(spread % SELLERS), spread / SELLERS % each))
    };
    let sample = Client::connect(program.http).await?.get(&path(1)).await?.expect(200)?;
    let bytes = sample.body.len();
    println!("{} offers of {SELLERS} sellers; an answer has {bytes} bytes", each * SELLERS);
    let (address, time) = (program.http, Duration::from_secs(arguments.seconds));
    let connections = arguments.connections;
    let (ours, reference) = bench::by_turns(
        bench::TURNS,
        async || http_rate::rate(address, connections, time, move |number| Question::get(path(number))).await,
        async || {
            let constant = move |_| Question::get(format!("/v1/admin/constant?bytes={bytes}"));
            http_rate::rate(address, connections, time, constant).await
        },
    )
    .await?;
    let name = format!("GET offer, {connections} connections");
    let figure = Figure::new(name, "1/s", ours.per_second, "≥ 0.5; aim 0.7 and 20,000/s");
    let figures = [figure.beside(reference.per_second).with_times(&ours)];
    bench::print("reading, reference: the same port with a constant body of that size", &figures);
    bench::save("read", &figures)
}
