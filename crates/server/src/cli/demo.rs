use std::net::TcpListener;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::json;

use super::{Common, print, print_json, usage};
use crate::config::{Config, Listen, Settings, Source};
use crate::demo;
use crate::server::Server;
use crate::telemetry::Telemetry;

/// Run everything in one process, with sample data, in a folder that is removed at the end
#[derive(Args)]
#[command(after_help = "Examples:\n  dvor demo\n  dvor demo --data ./demo        keep the data")]
pub struct Demo {
    /// Address of the HTTP port
    #[arg(long, value_name = "ADDR:PORT")]
    http: Option<String>,
    /// Address of the gRPC port
    #[arg(long, value_name = "ADDR:PORT")]
    grpc: Option<String>,
}

impl Demo {
    pub async fn run(self, common: &Common) -> Result<()> {
        let began = Instant::now();
        // Made first and dropped last: the folder goes when the server has ended.
        let folder = match common.data {
            Some(_) => None,
            None => {
                Some(tempfile::Builder::new().prefix("dvor-demo-").tempdir().context("a temporary folder")?)
            }
        };
        let mut common = common.clone();
        if let Some(folder) = &folder {
            common.data = Some(folder.path().display().to_string());
        }
        let flags = [("http", self.http.as_ref()), ("grpc", self.grpc.as_ref())];
        let settings = common.settings_with(&flags)?;
        let mut config = Config::from_settings(&settings).map_err(usage)?;
        let shop = demo::prepare(&mut config)?;
        config.http = free_unless_chosen(&settings, "http", config.http);
        config.grpc = free_unless_chosen(&settings, "grpc", config.grpc);
        config.snippets = free_unless_chosen(&settings, "snippets", config.snippets);
        if is_default(&settings, "log.level") {
            "warn,dvor::server=error".clone_into(&mut config.log.level);
        }
        let telemetry = Telemetry::begin(&config.log, &config.otel)?;
        let done = run(config, shop, &common, began).await;
        telemetry.end().await;
        done
    }
}

async fn run(config: Config, shop: TcpListener, common: &Common, began: Instant) -> Result<()> {
    let server = Server::start(config).await?;
    demo::start(&server.app, shop, &server.tasks).await?;
    tell(&server, common, began)?;
    server.run().await
}

/// Says where to look and what to try.
fn tell(server: &Server, common: &Common, began: Instant) -> Result<()> {
    let (http, data) = (server.running.http, &server.app.config.data);
    let program = program();
    let (business, sku) = demo::CHOSEN;
    let console = format!("http://{http}{}", console::PREFIX);
    let tries = [
        format!("curl -s http://{http}/v1/sellers/north-tools/presets"),
        format!("{program} topic tail {} --limit 5 --data {}", model::topics::OFFERS_CHANGES, quoted(data)),
        format!("{program} gold get {business} {sku} --data {}", quoted(data)),
        format!("{program} table scan feeds.tasks --limit 5 --data {}", quoted(data)),
    ];
    let seconds = began.elapsed().as_secs_f64();
    if common.json {
        return print_json(
            &json!({ "console": console, "http": http, "grpc": server.running.grpc, "data": data,
                                   "ready_seconds": seconds, "try": tries }),
        );
    }
    let (seller, namespace) = demo::HELD;
    print(&format!(
        "Dvor is ready after {seconds:.1} s, with three sample sellers; something happens every 3 s.\n\n  \
         {console}\n    the overview: what flows, and what needs a person\n  \
         {console}/sellers/{seller}/feeds/{namespace}\n    a load that waits for your word\n  \
         {console}/sellers/book-yard\n    a seller, one of whose feeds is broken\n  \
         {console}/silver/sskus/{business}/{sku}\n    goods that two shops describe differently: which value won, and why\n\n\
         To try in another terminal:\n\n  {}\n\nCtrl-C ends it{}.",
        tries.join("\n  "),
        if common.data.as_deref().is_some_and(|data| data.contains("dvor-demo-")) {
            " and removes its folder"
        } else {
            ""
        }
    ))
}

/// How this program is called from the folder where it was started.
fn program() -> String {
    let Ok(path) = std::env::current_exe() else { return "dvor".to_owned() };
    let here = std::env::current_dir().unwrap_or_default();
    match path.strip_prefix(&here) {
        Ok(relative) if relative.components().count() > 1 => quoted(relative),
        Ok(relative) => quoted(&Path::new(".").join(relative)),
        Err(_) => quoted(&path),
    }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

fn is_default(settings: &Settings, key: &str) -> bool {
    settings.entries().iter().any(|entry| entry.key == key && matches!(entry.source, Source::Default))
}

/// The usual port if nobody has it, else a free one; an address that was asked for stays as it is.
fn free_unless_chosen(settings: &Settings, key: &str, mut listen: Listen) -> Listen {
    if is_default(settings, key) && std::net::TcpListener::bind(listen.0).is_err() {
        listen.0.set_port(0);
    }
    listen
}
