use anyhow::Result;
use clap::Args;
use offers::api::fsck::{FsckAnswer, FsckRequest};

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
        let asked = backend.post("/v1/admin/fsck", &request).await;
        backend.close().await?;
        let answer: FsckAnswer = asked?;
        if common.json {
            print_json(&answer)?;
        } else {
            println!("{}", answer.text.trim_end());
        }
        if self.dry_run && !answer.clean {
            return Err(Failure::of(
                exit::FAILED,
                "there is something to repair: run `dvor fsck` without --dry-run",
            ));
        }
        Ok(())
    }
}
