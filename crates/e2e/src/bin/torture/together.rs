//! Kills the program at random moments while all systems work together.

use e2e::load::offers::easy_category;
use e2e::load::services::Services;
use e2e::torture::{Kills, together};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(long, default_value_t = 100)]
    kills: u32,
    /// Repeats an earlier run.
    #[arg(long, default_value_t = rand::random())]
    seed: u64,
    /// Rows in PostgreSQL and topics in Kafka (DVOR_TEST_POSTGRES, DVOR_TEST_KAFKA) instead of embedded ones.
    #[arg(long)]
    services: bool,
}

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { kills, seed, services } = *arguments;
    println!("{kills} kills, seed {seed}");
    let folder = tempfile::tempdir()?;
    let services = if services { Some(Services::open().await?) } else { None };
    let plan = match &services {
        None => Kills::embedded(kills, seed),
        Some(services) => Kills::services(kills, seed, services.flags.clone()),
    };
    let report = together::run(folder.path(), &plan, &easy_category(&catalog::Catalog::shipped())).await?;
    if let Some(services) = services {
        services.close().await?;
    }
    println!(
        "killed {} times: {} loads with {} records; {} acknowledged writes, {} events in order; {} runs of a stage, none \
         overlapping, {} saves told; {} united offers, {} gold; {} cards, each the newest; slowest start {} ms",
        report.kills,
        report.feeds.loads,
        report.feeds.records,
        report.offers.acknowledged + report.stages.acknowledged + report.silver.acknowledged,
        report.offers.events,
        report.stages.runs,
        report.stages.saved,
        report.silver.offers,
        report.silver.gold,
        report.cards,
        report.slowest_start_ms
    );
    Ok(())
}
