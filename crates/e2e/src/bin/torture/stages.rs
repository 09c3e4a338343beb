//! Kills the program at random moments while a stage of another program looks at what people write.

use e2e::load::offers::easy_category;
use e2e::torture::{Arguments, stages};

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (folder, category) = (tempfile::tempdir()?, easy_category(&catalog::Catalog::shipped()));
    let report = arguments.run(async |plan| stages::run(folder.path(), plan, &category).await).await?;
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
