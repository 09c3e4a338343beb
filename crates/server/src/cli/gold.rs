use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Subcommand;
use serde_json::Value;

use super::backend::{Backend, segment};
use super::{Common, print_json};

/// Look at golden records, and change the rules by which they are made
#[derive(Subcommand)]
pub enum GoldCommand {
    /// Show the golden record of an SSKU, with every candidate and why the winner won
    #[command(after_help = "Example:\n  dvor gold get 7 red-1")]
    Get { business: u32, shop_sku: String },
    /// The survivorship rules
    #[command(subcommand)]
    Rules(RulesCommand),
}

#[derive(Subcommand)]
pub enum RulesCommand {
    /// Show the rules that hold
    Show,
    /// Say how many values other rules would change, with samples; nothing is changed
    #[command(after_help = "Example:\n  dvor gold rules preview rules.json")]
    Preview { file: PathBuf },
    /// Let other rules hold
    #[command(after_help = "Example:\n  dvor gold rules apply rules.json")]
    Apply { file: PathBuf },
}

const RULES: &str = "/v1/settings/gold.rules";

impl GoldCommand {
    pub async fn run(self, common: &Common) -> Result<()> {
        let backend = Backend::open(common).await?;
        let asked = self.ask(&backend).await;
        backend.close().await?;
        print_json(&asked?)
    }

    async fn ask(self, backend: &Backend) -> Result<Value> {
        match self {
            Self::Get { business, shop_sku } => {
                backend.get(&format!("/v1/gold/{business}/{}", segment(&shop_sku)), &[]).await
            }
            Self::Rules(RulesCommand::Show) => backend.get(RULES, &[]).await,
            Self::Rules(RulesCommand::Preview { file }) => {
                backend.post("/v1/gold/rules/preview", &read(&file)?).await
            }
            Self::Rules(RulesCommand::Apply { file }) => backend.put_json(RULES, &read(&file)?).await,
        }
    }
}

fn read(file: &Path) -> Result<Value> {
    let text = std::fs::read(file).with_context(|| file.display().to_string())?;
    serde_json::from_slice(&text).with_context(|| file.display().to_string())
}
