use anyhow::Result;
use clap::Subcommand;
use serde_json::{Value, json};

use super::backend::{Backend, segment};
use super::{Common, print_json};

/// Look at businesses' offers and give shops to sellers
#[derive(Subcommand)]
pub enum UnitedCommand {
    /// Show a business's offer with all of its parts
    #[command(after_help = "Example:\n  dvor united get 7 red-1")]
    Get { business: u32, shop_sku: String },
    /// List the shops of a business
    #[command(after_help = "Example:\n  dvor united shops 7")]
    Shops { business: u32 },
    /// Say which field causes how many shipments, and which of them flap
    #[command(after_help = "Example:\n  dvor united stats --hours 24")]
    Stats {
        /// How far to look back
        #[arg(long, default_value_t = 24)]
        hours: u32,
    },
    /// Give a shop the offers of a seller
    #[command(after_help = "Example:\n  dvor united map 7 1 --seller north --colour BLUE")]
    Map {
        business: u32,
        shop: u32,
        #[arg(long)]
        seller: String,
        /// BLUE, DBS, WHITE, RED or GREEN
        #[arg(long, default_value = "BLUE")]
        colour: String,
    },
}

impl UnitedCommand {
    pub async fn run(self, common: &Common) -> Result<()> {
        let backend = Backend::open(common).await?;
        let asked = self.ask(&backend).await;
        backend.close().await?;
        print_json(&asked?)
    }

    async fn ask(self, backend: &Backend) -> Result<Value> {
        match self {
            Self::Get { business, shop_sku } => {
                backend.get(&format!("/v1/united/{business}/{}", segment(&shop_sku)), &[]).await
            }
            Self::Stats { hours } => backend.get("/v1/united/stats", &[("hours", hours.to_string())]).await,
            Self::Shops { business } => backend.get(&format!("/v1/businesses/{business}/shops"), &[]).await,
            Self::Map { business, shop, seller, colour } => {
                let body = json!({"seller_id": seller, "colour": colour});
                backend.put_json(&format!("/v1/businesses/{business}/shops/{shop}"), &body).await
            }
        }
    }
}
