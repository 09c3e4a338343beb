//! One stage over many offers: told, queued, run, state and timer saved; beside graphile-worker with as many empty jobs.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use e2e::bench::{self, Figure};
use e2e::load::Database;
use e2e::load::offers::easy_category;
use e2e::load::services::variable;
use e2e::load::stages::{Act, World, noting};
use e2e::peers::graphile::{Mode, jobs_per_second};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(long, default_value_t = 200_000)]
    offers: u64,
    /// Offers on the PostgreSQL engine
    #[arg(long, default_value_t = 40_000)]
    postgres_offers: u64,
}

/// Offers of a seller.
const EACH: u64 = 40;
/// The timers of the bench lie behind it.
const FAR: Duration = Duration::from_secs(30 * 24 * 3_600);

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let category = easy_category(&catalog::Catalog::shipped());
    let folder = tempfile::tempdir()?;
    let server = variable("DVOR_TEST_POSTGRES")?;
    let embedded = stage(&embedded(folder.path()), &category, arguments.offers).await?;
    let database = Database::create(&server).await?;
    let postgres = stage(&database.url, &category, arguments.postgres_offers).await?;
    database.remove().await?;
    let plain = graphile(&server, arguments.offers / 4, Mode::Plain).await?;
    let batched = graphile(&server, arguments.offers, Mode::Batched).await?;
    let figures = [
        Figure::new("embedded, beside unbatched", "offers/s", embedded, "≥ 5").beside(plain),
        Figure::new("embedded, beside batched", "offers/s", embedded, "≥ 1; aim 2").beside(batched),
        Figure::new("PostgreSQL, beside unbatched", "offers/s", postgres, "≥ 1").beside(plain),
    ];
    let title = format!(
        "a stage run once on each of {} offers ({} on PostgreSQL), state and timer saved; reference: graphile-worker, \
         24 at a time, jobs that do nothing",
        arguments.offers, arguments.postgres_offers
    );
    bench::print(&title, &figures);
    bench::save("stages", &figures)
}

fn embedded(folder: &Path) -> String {
    format!("embedded:{}", folder.join("store").display())
}

/// Offers a second, from the start of the scheduler until every offer has its state and its timer.
async fn stage(url: &str, category: &str, offers: u64) -> anyhow::Result<f64> {
    let act: Act = Arc::new(|job| noting(job.now.plus(FAR)));
    let mut world = World::open(url, act).await?;
    world.create(category, offers / EACH, EACH).await?;
    let began = Instant::now();
    world.start();
    world.noted((offers / EACH * EACH) as i64).await?;
    let took = began.elapsed();
    world.close().await?;
    Ok(offers as f64 / took.as_secs_f64())
}

async fn graphile(server: &str, jobs: u64, mode: Mode) -> anyhow::Result<f64> {
    let database = Database::create(server).await?;
    let url = database.url.clone();
    let rate = tokio::task::spawn_blocking(move || jobs_per_second(&url, jobs, mode)).await??;
    database.remove().await?;
    Ok(rate)
}
