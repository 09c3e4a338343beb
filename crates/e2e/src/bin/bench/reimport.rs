//! The same file again with a hundredth changed, beside its import.

use e2e::bench::{self, Figure};
use e2e::import::{self, Arguments, Cards, Files, Served};

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (offers, files) = (arguments.offers, Files::write(arguments.offers)?);
    let served = Served::start(arguments, Cards::Made).await?;
    let first = import::import(&served, &files, offers).await?;
    served.rest().await?;
    let again = import::reimport(&served, &files, offers).await?;
    served.stop().await?;
    let place = import::place(arguments);
    let wanted = if arguments.services { "-" } else { "≥ 4" };
    let figures = [Figure::new(format!("reimport, {place}"), "offers/s", again.per_second(offers), wanted)
        .beside(first.per_second(offers))];
    let title = format!(
        "the same {offers} offers again, {} MB, every hundredth with another price; reference: their import",
        files.bytes / 1_000_000
    );
    bench::print(&title, &figures);
    bench::save(if arguments.services { "reimport-services" } else { "reimport" }, &figures)
}
