//! One member of a cluster, to be killed and suspended by tests.

use clap::Parser;
use e2e::cluster_member::{Effort, run};

#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    store: String,
    #[arg(long, value_delimiter = ',', default_value = "relay")]
    roles: Vec<String>,
    #[arg(long, value_enum, default_value = "once")]
    effort: Effort,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    run(&arguments.store, arguments.roles, arguments.effort).await
}
