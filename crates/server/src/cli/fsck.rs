use anyhow::Result;
use clap::Args;
use offers::api::fsck::{FsckAnswer, FsckRequest};
use serde::Serialize;
use stages::api::{StagesFsckAnswer, StagesFsckRequest};

use super::backend::Backend;
use super::exit::{self, Failure};
use super::{Common, print_json};

/// Find lists and counts that do not agree with the offers, and repair them while writes go on
#[derive(Args)]
#[command(after_help = "Examples:\n  dvor fsck --dry-run\n  dvor fsck --seller north-tools\n\n\
                        The exit code is 1 when a dry run finds something to repair.")]
pub struct Fsck {
    /// Only this seller
    #[arg(long, value_name = "SELLER")]
    seller: Option<String>,
    /// Only say what is wrong
    #[arg(long)]
    dry_run: bool,
}

impl Fsck {
    pub async fn run(self, common: &Common) -> Result<()> {
        let backend = Backend::open(common).await?;
        let request = FsckRequest { seller: self.seller, dry_run: self.dry_run };
        let asked = check(&backend, &request).await;
        backend.close().await?;
        let (answer, stages) = asked?;
        if let Some(seller) = request.seller.filter(|_| answer.clean && answer.offers == 0) {
            return Err(Failure::of(exit::NOT_FOUND, format!("there are no offers of a seller {seller:?}")));
        }
        if common.json {
            print_json(&Findings { offers: &answer, stages: &stages })?;
        } else {
            println!("{}", answer.text.trim_end());
            println!("{}", told(&stages));
        }
        if self.dry_run && !answer.clean {
            return Err(Failure::of(
                exit::FAILED,
                "there is something to repair: run `dvor fsck` without --dry-run",
            ));
        }
        if !stages.clean {
            return Err(Failure::of(
                exit::FAILED,
                "what the stages keep does not agree, which nothing repairs",
            ));
        }
        Ok(())
    }
}

/// Of the offers, with what the stages keep beside it.
#[derive(Serialize)]
struct Findings<'a> {
    #[serde(flatten)]
    offers: &'a FsckAnswer,
    stages: &'a StagesFsckAnswer,
}

/// First the offers, then the stages: their pairs stand beside offers.
async fn check(backend: &Backend, request: &FsckRequest) -> Result<(FsckAnswer, StagesFsckAnswer)> {
    let offers = backend.post("/v1/admin/fsck", request).await?;
    let of_stages = StagesFsckRequest { seller: request.seller.clone() };
    Ok((offers, backend.post("/v1/admin/fsck/stages", &of_stages).await?))
}

fn told(stages: &StagesFsckAnswer) -> String {
    if stages.clean {
        return format!("stages: {} shards, all agrees", stages.shards);
    }
    let findings: Vec<_> = stages.findings.iter().map(|finding| format!("stages: {finding}")).collect();
    findings.join("\n")
}
