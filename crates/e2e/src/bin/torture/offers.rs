//! Kills the program at random moments while offers are written by hand, judged, and loaded by feeds.

use e2e::load::offers::easy_category;
use e2e::torture::{Arguments, offers};

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (folder, category) = (tempfile::tempdir()?, easy_category(&catalog::Catalog::shipped()));
    let report = arguments.run(async |plan| offers::run(folder.path(), plan, &category).await).await?;
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
