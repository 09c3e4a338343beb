use anyhow::Result;
use clap::Subcommand;

use super::backend::Backend;
use super::{Common, print, print_columns, print_json};
use crate::access::{NewToken, TokenInfo};
use crate::http::CreatedToken;
use web::Page;

/// Make, list and revoke access tokens
#[derive(Subcommand)]
pub enum TokenCommand {
    /// Make an access token and print it; from the first one on, every call needs one
    #[command(
        after_help = "Examples:\n  dvor token create --scope admin --name ops\n  dvor token create --scope seller:42 --scope seller:43"
    )]
    Create {
        /// What it allows: admin, service, seller:<id> or stage:<id>
        #[arg(long = "scope", value_name = "SCOPE", required = true)]
        scopes: Vec<String>,
        /// What people know it by
        #[arg(long, default_value = "unnamed")]
        name: String,
    },
    /// List access tokens, without their secrets
    #[command(after_help = "Example:\n  dvor token list --json")]
    List,
    /// Revoke an access token; it is refused everywhere within 5 seconds
    #[command(after_help = "Example:\n  dvor token revoke 0123456789abcdef")]
    Revoke { id: String },
}

impl TokenCommand {
    pub async fn run(self, common: &Common) -> Result<()> {
        let backend = match self {
            Self::Create { .. } => Backend::open_or_make(common).await?,
            _ => Backend::open(common).await?,
        };
        let done = self.with(&backend, common.json).await;
        backend.close().await?;
        done
    }

    async fn with(self, backend: &Backend, json: bool) -> Result<()> {
        match self {
            Self::Create { scopes, name } => {
                let created: CreatedToken =
                    backend.post("/v1/admin/tokens", &NewToken { name, scopes }).await?;
                if json { print_json(&created) } else { print(&created.token) }
            }
            Self::List => {
                let page: Page<TokenInfo> = backend.get("/v1/admin/tokens", &[]).await?;
                if json { print_json(&page) } else { show(&page.items) }
            }
            Self::Revoke { id } => {
                let info: TokenInfo =
                    backend.delete(&format!("/v1/admin/tokens/{}", super::backend::segment(&id))).await?;
                if json {
                    print_json(&info)
                } else {
                    print(&format!("{} ({}) is revoked", info.id, info.name))
                }
            }
        }
    }
}

fn show(tokens: &[TokenInfo]) -> Result<()> {
    let row = |token: &TokenInfo| {
        let revoked = token.revoked_at.map_or_else(|| "no".to_owned(), |at| at.to_string());
        vec![
            token.id.clone(),
            token.name.clone(),
            token.scopes.join(" "),
            token.created_at.to_string(),
            revoked,
        ]
    };
    print_columns(
        &["ID", "NAME", "SCOPES", "CREATED", "REVOKED"],
        &tokens.iter().map(row).collect::<Vec<_>>(),
    )
}
