//! Kills the program at random moments while all systems work together.

use e2e::load::offers::easy_category;
use e2e::torture::{Arguments, together};

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (folder, category) = (tempfile::tempdir()?, easy_category(&catalog::Catalog::shipped()));
    let report = arguments.run(async |plan| together::run(folder.path(), plan, &category).await).await?;
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
