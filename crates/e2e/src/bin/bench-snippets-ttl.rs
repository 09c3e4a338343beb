//! A million snippets with a TTL: none is served behind its end, the sweep gives the space back, reads go on meanwhile.

use std::time::Duration;

use clap::Parser;
use e2e::{bench, snippets_ttl};

#[derive(Parser)]
struct Arguments {
    /// Snippets that expire.
    #[arg(long, default_value_t = 1_000_000)]
    snippets: u64,
    /// Seconds of reads without a sweep.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let (time, patience) = (Duration::from_secs(arguments.seconds), Duration::from_secs(120));
    let outcome = snippets_ttl::run(arguments.snippets, time, patience).await?;
    let figures = outcome.figures();
    bench::print("snippets that expire, in one process, embedded store", &figures);
    bench::save("snippets-ttl", &figures)
}
