//! Kills the program at random moments while offers become united offers, silver and gold.

use e2e::load::offers::easy_category;
use e2e::program::Program;
use e2e::torture::silver::way::Way;
use e2e::torture::{self, Kills, silver};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    kills: torture::Arguments,
    /// Offers of a seller who is mapped while they change, after the kills; 0: no such seller
    #[arg(long, default_value_t = 100_000)]
    late_offers: usize,
}

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (folder, category) = (tempfile::tempdir()?, easy_category(&catalog::Catalog::shipped()));
    let late_offers = arguments.late_offers;
    let run = async |plan: &Kills| {
        let report = silver::run(folder.path(), plan, &category).await?;
        if late_offers > 0 {
            let flags: Vec<_> = plan.flags.iter().map(String::as_str).collect();
            let program = Program::start(folder.path(), &flags)?;
            let mut way = Way::new(&program, 71).await?;
            way.migration_in_flight().await?;
            way.late_mapping(late_offers).await?;
            println!(
                "a seller with {late_offers} offers was mapped while they changed: all of them are in silver"
            );
        }
        Ok(report)
    };
    let report = arguments.kills.run(run).await?;
    println!(
        "killed {} times: {} acknowledged changes; {} united offers with {} live parts, exactly the live offers of mapped \
         sellers, each in one home; silver, markers and gold ({}) are what they ship; {} migrations answered ({} moved \
         something); {} shipments, none of them by making gold; slowest start {} ms",
        report.kills,
        report.acknowledged,
        report.offers,
        report.parts,
        report.gold,
        report.migrations,
        report.moved,
        report.shipments,
        report.slowest_start_ms
    );
    Ok(())
}
