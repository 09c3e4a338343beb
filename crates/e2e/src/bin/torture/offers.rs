//! Kills the program at random moments while offers are written by hand, judged, and loaded by feeds.

use e2e::load::offers::easy_category;
use e2e::torture::{Kills, offers};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(long, default_value_t = 50)]
    kills: u32,
    /// Repeats an earlier run.
    #[arg(long, default_value_t = rand::random())]
    seed: u64,
}

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    println!("{} kills, seed {}", arguments.kills, arguments.seed);
    let folder = tempfile::tempdir()?;
    let category = easy_category(&catalog::Catalog::shipped());
    let report =
        offers::run(folder.path(), &Kills::embedded(arguments.kills, arguments.seed), &category).await?;
    println!(
        "killed {} times: {} acknowledged writes all there; {} offers in lists and counts that add up; {} loads of \
         feeds with {} results, complete; {} events in order, none missing ({} repeats); slowest start {} ms",
        report.kills,
        report.acknowledged,
        report.offers,
        report.feed_tasks,
        report.results,
        report.events,
        report.repeated_events,
        report.slowest_start_ms
    );
    Ok(())
}
