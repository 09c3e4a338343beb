//! One member of a cluster, to be killed and suspended by tests.

use clap::Parser;
use e2e::cluster_member::run;

#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    store: String,
    #[arg(long, value_delimiter = ',', default_value = "relay")]
    roles: Vec<String>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    run(&arguments.store, arguments.roles).await
}
