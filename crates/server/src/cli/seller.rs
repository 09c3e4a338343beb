use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Subcommand;
use serde_json::Value;

use super::backend::{Backend, segment};
use super::{Common, print, print_columns, print_json, shown};

/// Look at what a seller has
#[derive(Subcommand)]
pub enum SellerCommand {
    /// List the ready-made lists of a seller's offers with their lengths
    #[command(after_help = "Example:\n  dvor seller presets north-tools")]
    Presets { seller: String },
    /// Print the numbers that are kept for a seller
    #[command(after_help = "Example:\n  dvor seller counters north-tools --json")]
    Counters { seller: String },
    /// Write all offers of a seller, and what master data keeps of them, as JSON Lines
    #[command(
        after_help = "Examples:\n  dvor seller export north-tools --out north-tools.jsonl\n  dvor seller export north-tools | gzip > north-tools.jsonl.gz"
    )]
    Export {
        seller: String,
        /// Into this file, in the place of standard output
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

impl SellerCommand {
    pub async fn run(self, common: &Common) -> Result<()> {
        let backend = Backend::open(common).await?;
        let done = self.call(&backend, common.json).await;
        backend.close().await?;
        done
    }

    async fn call(self, backend: &Backend, json: bool) -> Result<()> {
        let path = |seller: &str, what: &str| format!("/v1/sellers/{}/{what}", segment(seller));
        match self {
            Self::Presets { seller } => {
                let page: Value = backend.get(&path(&seller, "presets"), &[]).await?;
                if json {
                    return print_json(&page);
                }
                let rows = super::items(&page, &["preset", "count"]);
                print_columns(&["PRESET", "OFFERS"], &rows)
            }
            Self::Counters { seller } => {
                let counters: Value = backend.get(&path(&seller, "counters"), &[]).await?;
                if json {
                    return print_json(&counters);
                }
                let Some(fields) = counters.as_object() else { return print(&counters.to_string()) };
                let rows: Vec<_> =
                    fields.iter().map(|(name, value)| vec![name.clone(), shown(value)]).collect();
                print_columns(&["COUNTER", "VALUE"], &rows)
            }
            Self::Export { seller, out } => export(backend, &path(&seller, "export"), out).await,
        }
    }
}

async fn export(backend: &Backend, path: &str, out: Option<PathBuf>) -> Result<()> {
    let Some(file) = out else { return backend.stream(path, &mut std::io::stdout()).await };
    let unwritable = || format!("{} cannot be written", file.display());
    let mut written = std::fs::File::create(&file).with_context(unwritable)?;
    backend.stream(path, &mut written).await.with_context(unwritable)?;
    print(&format!("{} is written", file.display()))
}
