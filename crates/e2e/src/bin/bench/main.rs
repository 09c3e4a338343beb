//! `cargo xtask bench`: figures beside a reference that is measured in the same run.

mod archive;
mod autoload;
mod cabinet;
mod console;
mod geo;
mod import;
mod parse;
mod read;
mod recognise;
mod reimport;
mod silver;
mod snippets;
mod snippets_ttl;
mod stages;
mod store;
mod timers;
mod write;

use clap::Parser;

#[derive(Parser)]
#[command(about)]
enum Name {
    /// How much room an archived offer takes, and how long one is looked for
    Archive,
    /// Loads from topic to durable offers: all new, then the same again; beside the bare engine writing as many rows
    Autoload(autoload::Arguments),
    /// The cabinet of a seller with a million offers among two million, beside that of a seller with a hundred
    Cabinet(cabinet::Arguments),
    /// The console's pages over a seller with a million offers and a load with a million errors, each asked one after another
    Console(console::Arguments),
    /// Addresses and coordinates a second on one core
    Geo,
    /// A file to durable offers with all results in the history, beside PostgreSQL's `COPY` of the same offers
    Import(e2e::import::Arguments),
    /// Reading own XML on one core: validated and parsed, and unified too, beside quick-xml's bare event loop over the same
    Parse(parse::Arguments),
    /// GET of an offer over HTTP, among a million stored, beside the same port answering a constant of the same size
    Read(read::Arguments),
    /// Titles a second on one core, with the shipped catalog and with a large one
    Recognise(recognise::Arguments),
    /// The same file again with a hundredth changed, beside its import
    Reimport(e2e::import::Arguments),
    /// Shipments to silver with 0, 10 and 100 % changed, beside decoding alone and beside the bare engine with the same rows
    Silver(silver::Arguments),
    /// How fast snippets are: over HTTP against a constant handler and against Redis, in lookups, and from a topic
    Snippets(snippets::Arguments),
    /// A million snippets with a TTL: none is served behind its end, the sweep gives the space back, reads go on meanwhile
    SnippetsTtl(snippets_ttl::Arguments),
    /// One stage over many offers, beside graphile-worker with as many empty jobs
    Stages(stages::Arguments),
    /// Engine figures: single and batch transactions, one shard alone, reads, scans, a queue; each beside the bare engine
    Store(store::Arguments),
    /// Timers that come due while millions are pending, beside the same with ten thousand pending
    Timers(timers::Arguments),
    /// Durable PATCHes of offers of many sellers over HTTP, beside group commits of the bare engine with as many rows
    Write(write::Arguments),
}

fn main() -> anyhow::Result<()> {
    let waiting = tokio::runtime::Runtime::new()?;
    match Name::parse() {
        Name::Archive => archive::run(),
        Name::Autoload(arguments) => waiting.block_on(autoload::run(&arguments)),
        Name::Cabinet(arguments) => waiting.block_on(cabinet::run(&arguments)),
        Name::Console(arguments) => waiting.block_on(console::run(&arguments)),
        Name::Geo => geo::run(),
        Name::Import(arguments) => waiting.block_on(import::run(&arguments)),
        Name::Parse(arguments) => parse::run(&arguments),
        Name::Read(arguments) => waiting.block_on(read::run(&arguments)),
        Name::Recognise(arguments) => recognise::run(&arguments),
        Name::Reimport(arguments) => waiting.block_on(reimport::run(&arguments)),
        Name::Silver(arguments) => waiting.block_on(silver::run(&arguments)),
        Name::Snippets(arguments) => waiting.block_on(snippets::run(&arguments)),
        Name::SnippetsTtl(arguments) => waiting.block_on(snippets_ttl::run(&arguments)),
        Name::Stages(arguments) => waiting.block_on(stages::run(&arguments)),
        Name::Store(arguments) => waiting.block_on(store::run(&arguments)),
        Name::Timers(arguments) => waiting.block_on(timers::run(&arguments)),
        Name::Write(arguments) => waiting.block_on(write::run(&arguments)),
    }
}
