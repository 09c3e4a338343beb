//! A million snippets with a TTL: none is served behind its end, the sweep gives the space back, reads go on meanwhile.

use std::time::Duration;

use e2e::{bench, snippets_ttl};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Snippets that expire.
    #[arg(long, default_value_t = 1_000_000)]
    snippets: u64,
    /// Seconds of reads without a sweep.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
}

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (time, patience) = (Duration::from_secs(arguments.seconds), Duration::from_secs(120));
    let outcome = snippets_ttl::run(arguments.snippets, time, patience).await?;
    let figures = outcome.figures();
    bench::print("snippets that expire, in one process, embedded store", &figures);
    bench::save("snippets-ttl", &figures)
}
