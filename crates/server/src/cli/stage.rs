use anyhow::Result;
use clap::Subcommand;
use stages::api::{FailureItem, StageItem, StageList, TraverseRequest};
use web::{Judged, Page};

use super::backend::Backend;
use super::{Common, print_columns, print_json};

/// Look at stages and steer them
#[derive(Subcommand)]
pub enum StageCommand {
    /// List stages with what waits for them
    #[command(after_help = "Example:\n  dvor stage list")]
    List,
    /// Show one stage
    #[command(after_help = "Example:\n  dvor stage show photos")]
    Show { stage: String },
    /// List the offers that a stage has given up
    #[command(after_help = "Example:\n  dvor stage failures photos --json")]
    Failures { stage: String },
    /// Try offers again that a stage has given up
    #[command(after_help = "Example:\n  dvor stage retry photos")]
    Retry {
        stage: String,
        /// Only this one
        offer: Option<String>,
    },
    /// Forget that a stage has given offers up
    #[command(after_help = "Example:\n  dvor stage drop photos 4093-1275-8842-013")]
    Drop {
        stage: String,
        /// Only this one
        offer: Option<String>,
    },
    /// Let a stage rest
    #[command(after_help = "Example:\n  dvor stage pause expire")]
    Pause { stage: String },
    /// Let a stage go on
    #[command(after_help = "Example:\n  dvor stage resume expire")]
    Resume { stage: String },
    /// Ask a stage about every offer
    #[command(
        after_help = "Examples:\n  dvor stage traverse photos --rate 500\n  dvor stage traverse photos --pause"
    )]
    Traverse {
        stage: String,
        /// Offers a second; 0: the usual rate
        #[arg(long, default_value_t = 0)]
        rate: u32,
        /// Let the traversal that is under way rest
        #[arg(long, conflicts_with = "go_on")]
        pause: bool,
        /// Let it go on
        #[arg(long = "continue")]
        go_on: bool,
    },
}

impl StageCommand {
    pub async fn run(self, common: &Common) -> Result<()> {
        let backend = Backend::open(common).await?;
        let done = self.call(&backend, common).await;
        backend.close().await?;
        done
    }

    async fn call(self, backend: &Backend, common: &Common) -> Result<()> {
        match self {
            Self::List => {
                let list: StageList = backend.get("/v1/stages", &[]).await?;
                if common.json { print_json(&list) } else { print_stages(&list.items) }
            }
            Self::Show { stage } => {
                let item: StageItem = backend.get(&format!("/v1/stages/{stage}"), &[]).await?;
                if common.json { print_json(&item) } else { print_stages(&[item]) }
            }
            Self::Failures { stage } => {
                let page: Page<FailureItem> =
                    backend.get(&format!("/v1/stages/{stage}/failures"), &[]).await?;
                if common.json { print_json(&page) } else { print_failures(&page.items) }
            }
            Self::Retry { stage, offer } => judge(backend, common, &stage, offer, "retry").await,
            Self::Drop { stage, offer } => judge(backend, common, &stage, offer, "drop").await,
            Self::Pause { stage } => steer(backend, common, &stage, "pause", &()).await,
            Self::Resume { stage } => steer(backend, common, &stage, "resume", &()).await,
            Self::Traverse { stage, rate, pause, go_on } => {
                let pause = if pause { Some(true) } else { go_on.then_some(false) };
                let request = TraverseRequest { offers_per_second: rate, pause };
                steer(backend, common, &stage, "traverse", &request).await
            }
        }
    }
}

async fn steer(
    backend: &Backend,
    common: &Common,
    stage: &str,
    verb: &str,
    body: &impl serde::Serialize,
) -> Result<()> {
    let item: StageItem = backend.post(&format!("/v1/stages/{stage}/{verb}"), body).await?;
    if common.json { print_json(&item) } else { print_stages(&[item]) }
}

async fn judge(
    backend: &Backend,
    common: &Common,
    stage: &str,
    offer: Option<String>,
    verdict: &str,
) -> Result<()> {
    let path = format!("/v1/stages/{stage}/failures");
    let judged = match offer {
        Some(offer) => {
            let () = backend.post(&format!("{path}/{offer}/{verdict}"), &()).await?;
            Judged { done: 1, failed: 0 }
        }
        None => backend.post(&format!("{path}/{verdict}"), &()).await?,
    };
    if common.json {
        return print_json(&judged);
    }
    println!("{} offers", judged.done);
    Ok(())
}

fn print_stages(items: &[StageItem]) -> Result<()> {
    let row = |item: &StageItem| {
        let state = match item {
            item if item.paused_at.is_some() => "paused",
            item if item.suspended_at.is_some() => "suspended",
            item if item.owes_since.is_some() => "owes",
            _ => "runs",
        };
        let walk = item.walk.as_ref().filter(|walk| walk.done_at.is_none());
        vec![
            item.id.clone(),
            state.to_owned(),
            item.waiting.to_string(),
            item.timers.to_string(),
            item.parked.to_string(),
            walk.map(|walk| format!("{} looked at", walk.looked)).unwrap_or_default(),
            item.last_error.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<_> = items.iter().map(row).collect();
    print_columns(&["STAGE", "STATE", "WAITING", "TIMERS", "PARKED", "WALK", "LAST ERROR"], &rows)
}

fn print_failures(items: &[FailureItem]) -> Result<()> {
    let row = |item: &FailureItem| {
        vec![
            item.offer_id.clone(),
            item.what.clone(),
            item.tries.to_string(),
            item.failed_at.clone().unwrap_or_default(),
            item.error.clone(),
        ]
    };
    let rows: Vec<_> = items.iter().map(row).collect();
    print_columns(&["OFFER", "WHAT", "TRIES", "FAILED", "ERROR"], &rows)
}
