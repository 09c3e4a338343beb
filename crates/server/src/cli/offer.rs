use anyhow::Result;
use clap::Subcommand;
use stages::api::OfferStageItem;
use web::Page;

use super::backend::Backend;
use super::{Common, print_columns, print_json};

/// Look at an offer
#[derive(Subcommand)]
pub enum OfferCommand {
    /// List the stages that have to do with an offer, and why it waits for them
    #[command(after_help = "Example:\n  dvor offer stages 4093-1275-8842-013")]
    Stages { id: String },
}

impl OfferCommand {
    pub async fn run(self, common: &Common) -> Result<()> {
        let Self::Stages { id } = self;
        let backend = Backend::open(common).await?;
        let asked = backend.get(&format!("/v1/offers/{id}/stages"), &[]).await;
        backend.close().await?;
        let page: Page<OfferStageItem> = asked?;
        if common.json {
            return print_json(&page);
        }
        let row = |item: &OfferStageItem| {
            let when = item.retry_at.as_ref().or(item.timer_at.as_ref()).or(item.queued_at.as_ref());
            vec![
                item.stage.clone(),
                item.waits_for.clone().unwrap_or_default(),
                when.cloned().unwrap_or_default(),
                item.tries.to_string(),
                item.error.clone().unwrap_or_default(),
            ]
        };
        let rows: Vec<_> = page.items.iter().map(row).collect();
        print_columns(&["STAGE", "WAITS FOR", "WHEN", "TRIES", "ERROR"], &rows)
    }
}
