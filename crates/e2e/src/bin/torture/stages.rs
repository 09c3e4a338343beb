//! Kills the program at random moments while a stage of another program looks at what people write.

use e2e::load::offers::easy_category;
use e2e::load::services::Services;
use e2e::torture::{Kills, stages};

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
    let Arguments { kills, seed, services } = *arguments;
    println!("{kills} kills, seed {seed}");
    let folder = tempfile::tempdir()?;
    let services = if services { Some(Services::open().await?) } else { None };
    let plan = match &services {
        None => Kills::embedded(kills, seed),
        Some(services) => Kills::services(kills, seed, services.flags.clone()),
    };
    let report = stages::run(folder.path(), &plan, &easy_category(&catalog::Catalog::shipped())).await?;
    if let Some(services) = services {
        services.close().await?;
    }
    println!(
        "killed {} times: {} acknowledged writes; {} offers whose state is true and told; {} runs, none overlapping, {} \
         of them failed; {} saves told; slowest start {} ms",
        report.kills,
        report.acknowledged,
        report.offers,
        report.runs,
        report.failed,
        report.saved,
        report.slowest_start_ms
    );
    Ok(())
}
