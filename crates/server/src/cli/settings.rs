use anyhow::{Context as _, Result};
use clap::Subcommand;
use serde_json::Value;

use super::backend::{Backend, segment};
use super::{Common, print_json};

/// Look at settings that change while everything runs, and change them
#[derive(Subcommand)]
pub enum SettingsCommand {
    /// Show a setting: silver.forbidden_businesses, silver.dbs_mode, silver.dbs_business_ranges, gold.rules,
    /// united.flapping_shipments_per_hour
    #[command(after_help = "Example:\n  dvor settings get silver.dbs_mode")]
    Get { key: String },
    /// Change a setting; the value is JSON
    #[command(after_help = "Example:\n  dvor settings set silver.dbs_mode '\"BLUE_AND_SOME_DBS\"'")]
    Set { key: String, value: String },
    /// Show what a setting was, the newest first
    #[command(after_help = "Example:\n  dvor settings history gold.rules")]
    History { key: String },
}

impl SettingsCommand {
    pub async fn run(self, common: &Common) -> Result<()> {
        let backend = Backend::open(common).await?;
        let asked = self.ask(&backend).await;
        backend.close().await?;
        print_json(&asked?)
    }

    async fn ask(self, backend: &Backend) -> Result<Value> {
        let path = |key: &str| format!("/v1/settings/{}", segment(key));
        match self {
            Self::Get { key } => backend.get(&path(&key), &[]).await,
            Self::Set { key, value } => {
                let value: Value = serde_json::from_str(&value).context("the value is not JSON")?;
                backend.put_json(&path(&key), &value).await
            }
            Self::History { key } => backend.get(&format!("{}/history", path(&key)), &[]).await,
        }
    }
}
