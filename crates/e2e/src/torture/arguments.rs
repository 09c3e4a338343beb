//! What every kill test of the program is told.

use super::Kills;
use crate::load::services::Services;

#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    #[arg(long, default_value_t = 50)]
    kills: u32,
    /// Repeats an earlier run.
    #[arg(long, default_value_t = rand::random())]
    seed: u64,
    /// Rows in PostgreSQL and topics in Kafka (DVOR_TEST_POSTGRES, DVOR_TEST_KAFKA) instead of embedded ones.
    #[arg(long)]
    services: bool,
}

impl Arguments {
    /// Runs a test with its plan, on services that are closed behind it.
    pub async fn run<R>(&self, test: impl AsyncFnOnce(&Kills) -> anyhow::Result<R>) -> anyhow::Result<R> {
        let Self { kills, seed, services } = *self;
        println!("{kills} kills, seed {seed}");
        let services = if services { Some(Services::open().await?) } else { None };
        let plan = match &services {
            None => Kills::embedded(kills, seed),
            Some(services) => Kills::services(kills, seed, services.flags.clone()),
        };
        let report = test(&plan).await?;
        if let Some(services) = services {
            services.close().await?;
        }
        Ok(report)
    }
}
