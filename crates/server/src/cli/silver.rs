use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::Subcommand;
use serde_json::Value;

use super::backend::{Backend, segment, with_query};
use super::{Common, print_json};

/// Look at what was imported of an SSKU, and import by hand
#[derive(Subcommand)]
pub enum SilverCommand {
    /// Import a batch of united offers (`UnitedOffersBatch` as JSON)
    #[command(after_help = "Example:\n  dvor silver import batch.json")]
    Import { file: PathBuf },
    /// Show the records of an SSKU, its markers, cuts and failure
    #[command(after_help = "Example:\n  dvor silver get 7 red-1")]
    Get { business: u32, shop_sku: String },
    /// Say what each step of the import would do to the offer now; nothing is written
    #[command(after_help = "Example:\n  dvor silver explain 7 red-1")]
    Explain { business: u32, shop_sku: String },
    /// Say how many offers each step of the import had, and what became of them
    #[command(after_help = "Example:\n  dvor silver stats --hours 24")]
    Stats {
        /// How far to look back
        #[arg(long, default_value_t = 24)]
        hours: u32,
    },
    /// List what SSKUs failed with
    #[command(after_help = "Example:\n  dvor silver failures 7 --reason weight")]
    Failures {
        #[command(flatten)]
        of: MeantFailures,
    },
    /// Read an SSKU again at once, or all failures of a business or with a reason
    #[command(after_help = "Examples:\n  dvor silver retry 7 red-1\n  dvor silver retry --reason weight")]
    Retry {
        #[command(flatten)]
        of: MeantFailures,
    },
    /// Forget the failure of an SSKU, or all of a business or with a reason
    #[command(after_help = "Examples:\n  dvor silver drop 7 red-1\n  dvor silver drop 7 --parked")]
    Drop {
        #[command(flatten)]
        of: MeantFailures,
    },
}

/// Which failures are meant.
#[derive(clap::Args)]
pub struct MeantFailures {
    business: Option<u32>,
    /// One of the business's SSKUs
    shop_sku: Option<String>,
    /// Those whose reason contains this
    #[arg(long)]
    reason: Option<String>,
    /// Those that wait for a person
    #[arg(long)]
    parked: bool,
}

impl MeantFailures {
    fn query(self) -> Vec<(&'static str, String)> {
        let mut query = Vec::new();
        query.extend(self.business.map(|business| ("business_id", business.to_string())));
        query.extend(self.reason.map(|reason| ("reason", reason)));
        query.extend(self.parked.then(|| ("parked", "true".to_owned())));
        query
    }

    async fn judge(self, backend: &Backend, verdict: &str) -> Result<Value> {
        if let (Some(business), Some(sku)) = (self.business, &self.shop_sku) {
            let id = segment(&format!("{business}:{sku}"));
            return backend.post(&format!("/v1/silver/failures/{id}/{verdict}"), &Value::Null).await;
        }
        ensure!(
            self.business.is_some() || self.reason.is_some() || self.parked,
            "say which failures are meant: a business, a reason, or --parked"
        );
        let path = with_query(&format!("/v1/silver/failures/{verdict}"), &self.query());
        backend.post(&path, &Value::Null).await
    }
}

impl SilverCommand {
    pub async fn run(self, common: &Common) -> Result<()> {
        let backend = Backend::open(common).await?;
        let asked = self.ask(&backend).await;
        backend.close().await?;
        print_json(&asked?)
    }

    async fn ask(self, backend: &Backend) -> Result<Value> {
        let path = |business: u32, sku: &str| format!("/v1/silver/{business}/{}", segment(sku));
        match self {
            Self::Import { file } => {
                let text = std::fs::read(&file).with_context(|| file.display().to_string())?;
                let batch: Value =
                    serde_json::from_slice(&text).with_context(|| file.display().to_string())?;
                backend.post("/v1/silver/import", &batch).await
            }
            Self::Get { business, shop_sku } => backend.get(&path(business, &shop_sku), &[]).await,
            Self::Explain { business, shop_sku } => {
                backend.get(&format!("{}/explain", path(business, &shop_sku)), &[]).await
            }
            Self::Stats { hours } => backend.get("/v1/silver/stats", &[("hours", hours.to_string())]).await,
            Self::Failures { of } => backend.get("/v1/silver/failures", &of.query()).await,
            Self::Retry { of } => of.judge(backend, "retry").await,
            Self::Drop { of } => of.judge(backend, "drop").await,
        }
    }
}
