//! `cargo xtask <verb>`: everything a person or CI runs on this repository.
//!
//! `test` is what CI calls: formatting, lints, house rules and all tests, against a real PostgreSQL, Kafka and
//! S3 server that it prepares in a cache folder and starts for the run. `services` holds the same servers for a
//! developer, `bench` and `torture` run the long programs of `crates/e2e`, `fuzz` the targets of `fuzz/`, `tidy` checks
//! the rules that the compiler does not know.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod fuzz;
mod process;
mod servers;
mod services;
mod steps;
mod target_folder;
mod test;
mod tidy;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Tests, benchmarks and house rules of this repository")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Formatting, lints, tidy and all tests, with PostgreSQL, Kafka and S3 started for them
    Test(test::Args),
    /// The house rules: layers, sizes, forbidden words
    Tidy,
    /// Start PostgreSQL, Kafka and S3 and hold them until Ctrl-C or the end of stdin
    Services(services::Args),
    /// Run the benchmarks of crates/e2e (src/bin/bench); without a name, all of them
    Bench(bench::Args),
    /// Run the long kill and fault tests of crates/e2e (src/bin/torture); without a name, all of them
    Torture(bench::Args),
    /// Run the fuzz targets of fuzz/; without a name, all of them
    Fuzz(fuzz::Args),
}

fn main() -> ExitCode {
    let result = process::catch_signals().and_then(|()| match Cli::parse().verb {
        Verb::Test(args) => test::run(&args),
        Verb::Tidy => tidy::run(),
        Verb::Services(args) => services::run(&args),
        Verb::Bench(args) => bench::run(bench::Kind::Bench, &args),
        Verb::Torture(args) => bench::run(bench::Kind::Torture, &args),
        Verb::Fuzz(args) => fuzz::run(&args),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nxtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
