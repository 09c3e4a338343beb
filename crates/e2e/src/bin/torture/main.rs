//! `cargo xtask torture`: kills and breaks real processes at random moments, and checks what is left.

mod doors;
mod feeds;
mod offers;
mod silver;
mod snippets;
mod stages;
mod store;
mod together;

use clap::Parser;
use e2e::torture::Arguments;

#[derive(Parser)]
#[command(about)]
enum Name {
    /// Behaves badly at the doors of the program, and measures what another seller notices of it
    Doors(doors::Arguments),
    /// Kills the program at random moments while feeds are fetched and uploaded
    Feeds(Arguments),
    /// Kills the program at random moments while offers are written by hand, judged, and loaded by feeds
    Offers(Arguments),
    /// Kills the program at random moments while offers become united offers, silver and gold
    Silver(silver::Arguments),
    /// Kills a process that serves snippets at random moments, under PUT, DELETE and topic load, and checks what is left
    Snippets(snippets::Arguments),
    /// Kills the program at random moments while a stage of another program looks at what people write
    Stages(Arguments),
    /// Kills the embedded store at random moments under mixed load and checks what is left
    Store(store::Arguments),
    /// Kills the program at random moments while feeds, people, a stage, businesses and cards are at work together
    Together(Arguments),
}

fn main() -> anyhow::Result<()> {
    let waiting = tokio::runtime::Runtime::new()?;
    match Name::parse() {
        Name::Doors(arguments) => waiting.block_on(doors::run(&arguments)),
        Name::Feeds(arguments) => waiting.block_on(feeds::run(&arguments)),
        Name::Offers(arguments) => waiting.block_on(offers::run(&arguments)),
        Name::Silver(arguments) => waiting.block_on(silver::run(&arguments)),
        Name::Snippets(arguments) => waiting.block_on(snippets::run(&arguments)),
        Name::Stages(arguments) => waiting.block_on(stages::run(&arguments)),
        Name::Store(arguments) => store::run(&arguments),
        Name::Together(arguments) => waiting.block_on(together::run(&arguments)),
    }
}
