use anyhow::{Result, bail};
use clap::Subcommand;
use serde_json::json;
use store::{Schema, Store, conformance};

use super::exit::{self, Failure};
use super::{Common, print, print_json, progress};
use crate::app;
use crate::config::{Config, redact};

/// Check a store, or move to another
#[derive(Subcommand)]
pub enum StoreCommand {
    /// Run the conformance suite against a store, such as a server of your own
    #[command(after_help = "Example:\n  dvor store conformance --store postgres://dvor@db/dvor_test\n\n\
                            It uses tables of its own and leaves them empty.")]
    Conformance,
    /// Copy everything from one store into another that is empty
    #[command(after_help = "Example:\n  dvor store copy --from embedded --to postgres://dvor@db/dvor")]
    Copy {
        /// The store to read; `embedded` is the one of the data folder
        #[arg(long, value_name = "URL")]
        from: String,
        /// The store to write
        #[arg(long, value_name = "URL")]
        to: String,
    },
}

impl StoreCommand {
    pub async fn run(self, common: &Common) -> Result<()> {
        match self {
            Self::Conformance => conform(common).await,
            Self::Copy { from, to } => copy(common, &from, &to).await,
        }
    }
}

async fn conform(common: &Common) -> Result<()> {
    let config = common.load()?;
    let tables = app::tables().into_iter().chain(conformance::tables());
    let store = Store::open(&config.store, Schema::new(tables), &config.store_options).await?;
    let mut checks = Vec::new();
    let report = |name: &str, took: std::time::Duration, outcome: &Result<(), conformance::Failure>| {
        let reason = outcome.as_ref().err().map(|failure| failure.0.clone());
        if !common.json {
            let verdict =
                reason.as_ref().map_or_else(|| "ok".to_owned(), |reason| format!("FAILED: {reason}"));
            // A closed pipe must not stop the checks half-way.
            let _ = print(&format!("{name} ({took:.1?}) … {verdict}"));
        }
        checks.push(json!({ "check": name, "seconds": took.as_secs_f64(), "passed": reason.is_none(), "reason": reason }));
    };
    let failed = conformance::run(&store, report).await;
    store.engine().close().await?;
    let failed = failed?;
    if common.json {
        print_json(&json!({ "items": checks, "failed": failed }))?;
    }
    if failed > 0 {
        bail!("{failed} checks failed");
    }
    Ok(())
}

async fn copy(common: &Common, from: &str, to: &str) -> Result<()> {
    let settings_of = |url: &str| Common { store: Some(url.to_owned()), ..common.clone() }.load();
    let (source, target): (Config, Config) = (settings_of(from)?, settings_of(to)?);
    if source.store == target.store {
        return Err(Failure::of(exit::USAGE, "--from and --to are the same store"));
    }
    let (source, target) = (app::open_store(&source).await?, app::open_store(&target).await?);
    let bar = progress("rows");
    let copied = store::copy(&source, &target, |rows| bar.set_position(rows)).await;
    bar.finish_and_clear();
    source.engine().close().await?;
    target.engine().close().await?;
    let rows = copied?;
    if common.json {
        return print_json(&json!({ "from": redact(from), "to": redact(to), "rows": rows }));
    }
    print(&format!("{rows} rows are copied to {}", redact(to)))
}
