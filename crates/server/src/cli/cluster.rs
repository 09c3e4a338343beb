use anyhow::Result;
use clap::Subcommand;

use super::backend::Backend;
use super::{Common, print_columns, print_json};
use crate::http::MemberItem;
use web::Page;

/// Look at the processes that share the work
#[derive(Subcommand)]
pub enum ClusterCommand {
    /// List processes with their roles and work tokens; needs a running server
    #[command(after_help = "Example:\n  dvor cluster show --json")]
    Show,
}

impl ClusterCommand {
    pub async fn run(self, common: &Common) -> Result<()> {
        let Self::Show = self;
        let backend = Backend::open(common).await?;
        let asked = backend.get("/v1/admin/cluster", &[]).await;
        backend.close().await?;
        let page: Page<MemberItem> = asked?;
        if common.json {
            return print_json(&page);
        }
        let row = |member: &MemberItem| {
            let tokens = member.tokens.iter().map(|(role, tokens)| format!("{role} {tokens}"));
            let state = if member.leaving {
                "leaving"
            } else if member.alive {
                "alive"
            } else {
                "gone"
            };
            vec![
                member.id.clone(),
                member.version.clone(),
                state.to_owned(),
                member.since.to_string(),
                tokens.collect::<Vec<_>>().join(", "),
            ]
        };
        let rows: Vec<_> = page.items.iter().map(row).collect();
        print_columns(&["PROCESS", "VERSION", "STATE", "SINCE", "WORK TOKENS"], &rows)
    }
}
