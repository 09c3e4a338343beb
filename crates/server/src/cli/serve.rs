use anyhow::Result;
use clap::Args;

use super::{Common, usage};
use crate::config::Config;
use crate::server::Server;
use crate::telemetry::Telemetry;

/// Run the server
#[derive(Args, Default)]
#[command(after_help = "Examples:\n  dvor serve\n  dvor serve --data /var/lib/dvor --http 127.0.0.1:0\n  \
                        dvor serve --store postgres://dvor@db/dvor --roles api\n\n\
                        Every flag is also a key of the configuration and a variable DVOR_…; see `dvor config show`.")]
pub struct Serve {
    /// What this process does: all, or some of api, relay, offers-scheduler, photos,
    /// feed-loader, feed-processor, stages, snippets, united, silver
    #[arg(long, value_name = "ROLE,…")]
    roles: Option<String>,
    /// Address of the HTTP port
    #[arg(long, value_name = "ADDR:PORT")]
    http: Option<String>,
    /// Address of the gRPC port
    #[arg(long, value_name = "ADDR:PORT")]
    grpc: Option<String>,
    /// Address of the snippets port
    #[arg(long, value_name = "ADDR:PORT")]
    snippets: Option<String>,
    /// Configuration of the snippets (protobuf text format)
    #[arg(long, value_name = "FILE")]
    snippets_config: Option<String>,
    /// Private networks that downloads may reach
    #[arg(long, value_name = "CIDR,…")]
    allow_private_addresses: Option<String>,
}

impl Serve {
    pub async fn run(self, common: &Common) -> Result<()> {
        let settings = common.settings_with(&[
            ("roles", self.roles.as_ref()),
            ("http", self.http.as_ref()),
            ("grpc", self.grpc.as_ref()),
            ("snippets", self.snippets.as_ref()),
            ("snippets_config", self.snippets_config.as_ref()),
            ("allow_private_addresses", self.allow_private_addresses.as_ref()),
        ])?;
        let config = Config::from_settings(&settings).map_err(usage)?;
        let telemetry = Telemetry::begin(&config.log, &config.otel).map_err(usage)?;
        let done = run(config).await;
        telemetry.end().await;
        done
    }
}

async fn run(config: Config) -> Result<()> {
    Server::start(config).await?.run().await
}
