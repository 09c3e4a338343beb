//! Kills the embedded store at random moments under mixed load and checks what is left.

use std::time::Duration;

use clap::Subcommand;
use e2e::torture::{Plan, store_child, store_parent};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[arg(long, default_value_t = 200)]
    kills: u32,
    /// Repeats an earlier run.
    #[arg(long, default_value_t = rand::random())]
    seed: u64,
}

#[derive(Subcommand)]
enum Command {
    /// What is killed.
    Child { url: String },
    /// Fills the small disk that this folder is on.
    FullDisk { folder: std::path::PathBuf },
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    match &arguments.command {
        Some(Command::Child { url }) => tokio::runtime::Runtime::new()?.block_on(store_child::run(url)),
        Some(Command::FullDisk { folder }) => {
            let words = store_parent::full_disk(&std::env::current_exe()?, folder)?;
            println!("stopped on a full disk and went on with room: {}", words.trim());
            Ok(())
        }
        None => torture(arguments),
    }
}

fn torture(arguments: &Arguments) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let plan = Plan {
        kills: arguments.kills,
        seed: arguments.seed,
        patience: Duration::from_secs(5),
        most_disk_bytes: 1 << 30,
    };
    println!("{} kills, seed {}", plan.kills, plan.seed);
    let url = format!("embedded:{}", folder.path().display());
    let report = store_parent::run(&std::env::current_exe()?, &url, folder.path(), &plan)?;
    println!(
        "killed {} times: {} acknowledged transactions all there, {} more that nobody had been told of; \
         slowest restart to first write {} ms; most disk {} MiB",
        report.kills,
        report.acknowledged,
        report.unacknowledged_kept,
        report.slowest_reopen_ms,
        report.most_disk_bytes >> 20
    );
    Ok(())
}
