//! The cabinet of a seller with a million offers among two million, beside that of a seller with a hundred.

use std::time::Duration;

use e2e::bench::{self, Figure, Rate};
use e2e::http_rate::{self, Question};
use e2e::load::{offers, seller_name};
use e2e::program::Program;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(long, default_value_t = 6)]
    seconds: u64,
    #[arg(long, default_value_t = 1_000_000)]
    offers: u64,
    #[arg(long, default_value_t = 4)]
    connections: usize,
}

const LARGE: &str = "large";
const SMALL: &str = "small";
const PAGE: usize = 50;

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let store = offers::open(folder.path()).await?;
    let category = offers::easy_category(&catalog::Catalog::shipped());
    offers::fill(&store, LARGE, &category, arguments.offers).await?;
    offers::fill(&store, SMALL, &category, 100).await?;
    let others = 1_000;
    for seller in 0..others {
        offers::fill(&store, &seller_name(seller), &category, arguments.offers / others).await?;
    }
    store.engine().close().await?;
    drop(store);
    let program = Program::start(folder.path(), &[])?;
    let deep = offers::place(LARGE, arguments.offers / 2).cursor();
    let page = |seller: &str, cursor: &str| {
        format!("/v1/sellers/{seller}/offers?preset=active&limit={PAGE}{cursor}")
    };
    let pairs = [
        ("first page of 50", page(LARGE, ""), page(SMALL, "")),
        ("deep page of 50", page(LARGE, &format!("&cursor={deep}")), page(SMALL, "")),
        ("counts", format!("/v1/sellers/{LARGE}/presets"), format!("/v1/sellers/{SMALL}/presets")),
        ("counters", format!("/v1/sellers/{LARGE}/counters"), format!("/v1/sellers/{SMALL}/counters")),
    ];
    let mut figures = Vec::new();
    for (name, large, small) in pairs {
        let time = Duration::from_secs(arguments.seconds);
        let ask = async |path: String| -> anyhow::Result<Rate> {
            http_rate::rate(program.http, arguments.connections, time, move |_| Question::get(path.clone()))
                .await
        };
        let (ours, reference) = bench::by_turns(
            bench::TURNS,
            async || ask(large.clone()).await,
            async || ask(small.clone()).await,
        )
        .await?;
        let figure = Figure::new(name, "1/s", ours.per_second, "≥ 0.67 (time ≤ 1.5 ×), p99 ≤ 20,000 µs");
        figures.push(figure.beside(reference.per_second).with_times(&ours));
    }
    let title = format!(
        "cabinet of a seller with {} offers among {}, reference: a seller with 100",
        arguments.offers,
        arguments.offers * 2
    );
    bench::print(&title, &figures);
    bench::save("cabinet", &figures)
}
