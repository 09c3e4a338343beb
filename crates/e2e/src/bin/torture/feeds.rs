//! Kills the program at random moments while feeds are fetched and uploaded.

use e2e::load::services::Services;
use e2e::torture::{Kills, feeds};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(long, default_value_t = 50)]
    kills: u32,
    /// Repeats an earlier run.
    #[arg(long, default_value_t = rand::random())]
    seed: u64,
    /// Rows in PostgreSQL and topics in Kafka (DVOR_TEST_POSTGRES, DVOR_TEST_KAFKA) instead of embedded ones.
    #[arg(long)]
    services: bool,
}

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    println!("{} kills, seed {}", arguments.kills, arguments.seed);
    let folder = tempfile::tempdir()?;
    let Arguments { kills, seed, services } = *arguments;
    let services = if services { Some(Services::open().await?) } else { None };
    let plan = match &services {
        None => Kills::embedded(kills, seed),
        Some(services) => Kills::services(kills, seed, services.flags.clone()),
    };
    let report = feeds::run(folder.path(), &plan).await?;
    if let Some(services) = services {
        services.close().await?;
    }
    println!(
        "killed {} times: {} loads, each there once ({} succeeded, {} failed, {} unchanged, {} follow-ups); \
         the books of {} records balance, {} errors equal their totals; {} uploads acknowledged and {} more taken; {} \
         downloads whole, {} broken off, {} not modified; {} offers, exactly those of the last files; no lock left; \
         slowest start {} ms",
        report.kills,
        report.loads,
        report.succeeded,
        report.failed,
        report.unchanged,
        report.follow_ups,
        report.records,
        report.errors,
        report.uploads_acknowledged,
        report.uploads_unacknowledged,
        report.downloads_whole,
        report.downloads_broken_off,
        report.not_modified,
        report.offers,
        report.slowest_start_ms
    );
    Ok(())
}
