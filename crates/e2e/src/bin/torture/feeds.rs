//! Kills the program at random moments while feeds are fetched and uploaded.

use e2e::torture::{Arguments, feeds};

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let report = arguments.run(async |plan| feeds::run(folder.path(), plan).await).await?;
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
