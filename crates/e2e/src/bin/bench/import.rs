//! A file to durable offers with all results in the history, beside PostgreSQL's `COPY` of the same offers.

use e2e::bench::{self, Figure};
use e2e::import::{self, Arguments, Cards, Files, Served};
use e2e::load::services::variable;
use e2e::own_feed::Edition;

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (offers, files) = (arguments.offers, Files::write(arguments.offers)?);
    let mut rates = Vec::new();
    for cards in [Cards::NotMade, Cards::Made] {
        let served = Served::start(arguments, cards).await?;
        rates.push(import::import(&served, &files, offers).await?.per_second(offers));
        served.stop().await?;
    }
    let server = variable("DVOR_TEST_POSTGRES")?;
    let copied = import::copy(&server, &files.path(Edition::First), offers).await?;
    let place = import::place(arguments);
    let wanted = if arguments.services { "-" } else { "≥ 0.1; aim 0.3" };
    let reference = offers as f64 / copied.elapsed.as_secs_f64();
    let figures = [
        Figure::new(format!("import, {place}"), "offers/s", rates[0], wanted).beside(reference),
        Figure::new(format!("the same beside snippets, {place}"), "offers/s", rates[1], "-")
            .beside(reference),
    ];
    let title = format!(
        "import of {offers} offers, {} MB of own XML, from the first byte of the upload to the last result in the \
         history; reference: COPY into one table with a primary key and an index ({})",
        files.bytes / 1_000_000,
        copied.settings
    );
    bench::print(&title, &figures);
    bench::save(if arguments.services { "import-services" } else { "import" }, &figures)
}
