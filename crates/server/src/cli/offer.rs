use anyhow::Result;
use clap::Subcommand;
use serde_json::Value;
use stages::api::OfferStageItem;
use web::Page;

use super::backend::{Backend, segment};
use super::{Common, print, print_columns, print_json, shown};

/// Look at an offer
#[derive(Subcommand)]
pub enum OfferCommand {
    /// Show an offer
    #[command(
        after_help = "Examples:\n  dvor offer get 4093-1275-8842-013\n  dvor offer get 4093-1275-8842-013 --json"
    )]
    Get { id: String },
    /// List what happened to an offer, newest first
    #[command(after_help = "Example:\n  dvor offer events 4093-1275-8842-013")]
    Events { id: String },
    /// List the stages that have to do with an offer, and why it waits for them
    #[command(after_help = "Example:\n  dvor offer stages 4093-1275-8842-013")]
    Stages { id: String },
}

impl OfferCommand {
    pub async fn run(self, common: &Common) -> Result<()> {
        let backend = Backend::open(common).await?;
        let done = match self {
            Self::Get { id } => get(&backend, common, &id).await,
            Self::Events { id } => events(&backend, common, &id).await,
            Self::Stages { id } => stages(&backend, common, &id).await,
        };
        backend.close().await?;
        done
    }
}

fn path(id: &str, rest: &str) -> String {
    format!("/v1/offers/{}{rest}", segment(id))
}

async fn get(backend: &Backend, common: &Common, id: &str) -> Result<()> {
    let offer: Value = backend.get(&path(id, ""), &[]).await?;
    if common.json {
        return print_json(&offer);
    }
    let Some(fields) = offer.as_object() else { return print(&offer.to_string()) };
    let filled = fields.iter().map(|(name, value)| vec![name.clone(), shown(value)]);
    print_columns(&["FIELD", "VALUE"], &filled.filter(|row| !row[1].is_empty()).collect::<Vec<_>>())
}

async fn events(backend: &Backend, common: &Common, id: &str) -> Result<()> {
    let page: Value = backend.get(&path(id, "/events"), &[]).await?;
    if common.json {
        return print_json(&page);
    }
    let row = |event: &Value| {
        let fields = event["fields"].as_array().into_iter().flatten();
        let changes: Vec<_> = fields
            .map(|change| {
                format!("{}: {} → {}", shown(&change["path"]), shown(&change["from"]), shown(&change["to"]))
            })
            .collect();
        let who = [shown(&event["who"]["kind"]), shown(&event["who"]["name"])];
        vec![
            shown(&event["version"]),
            shown(&event["at"]),
            shown(&event["status"]),
            who.join(" ").trim_end().to_owned(),
            shown(&event["reason"]),
            changes.join("; "),
        ]
    };
    let rows: Vec<_> = page["items"].as_array().into_iter().flatten().map(row).collect();
    print_columns(&["VERSION", "WHEN", "STATUS", "WHO", "WHY", "CHANGES"], &rows)
}

async fn stages(backend: &Backend, common: &Common, id: &str) -> Result<()> {
    let page: Page<OfferStageItem> = backend.get(&path(id, "/stages"), &[]).await?;
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
