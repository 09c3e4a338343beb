//! Kills a process that serves snippets at random moments, under PUT, DELETE and topic load, and checks what is left.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use e2e::torture::{Plan, snippets_child, snippets_parent};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[arg(long, default_value_t = 60)]
    kills: u32,
    /// Repeats an earlier run.
    #[arg(long, default_value_t = rand::random())]
    seed: u64,
}

#[derive(Subcommand)]
enum Command {
    /// What is killed.
    Child { folder: PathBuf, first_message: u64 },
}

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(Command::Child { folder, first_message }) = &arguments.command {
        return snippets_child::run(folder, *first_message).await;
    }
    let folder = tempfile::tempdir()?;
    let (kills, seed) = (arguments.kills, arguments.seed);
    let plan = Plan { kills, seed, patience: Duration::from_secs(10), most_disk_bytes: u64::MAX };
    println!("{kills} kills, seed {seed}");
    let report = snippets_parent::run(&std::env::current_exe()?, folder.path(), &plan).await?;
    println!(
        "killed {} times: {} acknowledged writes and messages all there, {} more that nobody had been told of; \
         slowest restart {} ms",
        report.kills, report.acknowledged, report.unacknowledged_kept, report.slowest_reopen_ms
    );
    Ok(())
}
