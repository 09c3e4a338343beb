//! The command line: one file per noun. A command that needs the data calls the running server, or, when there is none,
//! the same routes in this process ([`backend::Backend`]).

mod backend;
mod backup;
mod catalog;
mod cluster;
mod completions;
mod config;
mod demo;
pub mod exit;
mod feed;
mod feed_look;
mod feed_upload;
mod fsck;
mod geo;
mod gold;
mod offer;
mod seller;
mod serve;
mod settings;
mod silver;
mod snippet_documents;
mod snippets;
mod stage;
mod store;
mod table;
mod token;
mod topic;
mod united;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Args, Parser, Subcommand};
use serde::Serialize;
use serde_json::Value;

use crate::config::{Config, Settings};

/// The offer platform of a marketplace.
#[derive(Parser)]
#[command(
    name = "dvor",
    version,
    propagate_version = true,
    after_help = "Examples:\n  dvor demo                      everything in one process, with sample data\n  \
                  dvor serve --data ./data       a server on this machine\n  \
                  dvor token create --scope admin --name ops\n  dvor config show               every setting and where it comes from\n\n\
                  Exit codes: 0 done, 1 failed, 2 wrong command line or configuration, 3 not there,\n4 access refused, 5 not available now."
)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Args, Clone, Debug, Default)]
pub struct Common {
    /// Configuration file (also DVOR_CONFIG)
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Folder of the embedded store, topics and files
    #[arg(long, value_name = "DIR", global = true)]
    pub data: Option<String>,
    /// Where rows live: embedded, embedded:DIR or postgres://…
    #[arg(long, value_name = "URL", global = true)]
    pub store: Option<String>,
    /// Where topics live: embedded or kafka://HOST:PORT[/PREFIX]
    #[arg(long, value_name = "URL", global = true)]
    pub topics: Option<String>,
    /// Where blobs live: file, file:DIR or s3://BUCKET/PREFIX
    #[arg(long, value_name = "URL", global = true)]
    pub files: Option<String>,
    /// Call this server instead of the one of the data folder (its access token: DVOR_TOKEN)
    #[arg(long, value_name = "http://HOST:PORT", global = true)]
    pub server: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Serve),
    Demo(demo::Demo),
    #[command(subcommand)]
    Config(config::ConfigCommand),
    #[command(subcommand)]
    Token(token::TokenCommand),
    #[command(subcommand)]
    Feed(feed::FeedCommand),
    #[command(subcommand)]
    Table(table::TableCommand),
    #[command(subcommand)]
    Topic(topic::TopicCommand),
    #[command(subcommand)]
    Cluster(cluster::ClusterCommand),
    Fsck(fsck::Fsck),
    #[command(subcommand)]
    Offer(offer::OfferCommand),
    #[command(subcommand)]
    Seller(seller::SellerCommand),
    #[command(subcommand)]
    Stage(stage::StageCommand),
    #[command(subcommand)]
    Snippets(snippets::SnippetsCommand),
    #[command(subcommand)]
    United(united::UnitedCommand),
    #[command(subcommand)]
    Silver(silver::SilverCommand),
    #[command(subcommand)]
    Gold(gold::GoldCommand),
    #[command(subcommand)]
    Settings(settings::SettingsCommand),
    #[command(subcommand)]
    Store(store::StoreCommand),
    #[command(subcommand)]
    Catalog(catalog::CatalogCommand),
    #[command(subcommand)]
    Geo(geo::GeoCommand),
    Backup(backup::Backup),
    Restore(backup::Restore),
    Completions(completions::Completions),
}

pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return end(Err(error.into())),
    };
    let done = runtime.block_on(cli.command.run(&cli.common));
    // Nothing that still runs is worth waiting for: what had to end has ended.
    runtime.shutdown_background();
    end(done)
}

fn end(done: Result<()>) -> ExitCode {
    let Err(error) = done else { return ExitCode::SUCCESS };
    if is_broken_pipe(&error) {
        return ExitCode::SUCCESS;
    }
    eprintln!("dvor: {error:#}");
    ExitCode::from(exit::code(&error))
}

/// The reader of our output has seen enough (`dvor … | head`).
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

impl Command {
    async fn run(self, common: &Common) -> Result<()> {
        match self {
            Self::Serve(serve) => serve.run(common).await,
            Self::Demo(demo) => demo.run(common).await,
            Self::Topic(topic) => topic.run(common).await,
            Self::Cluster(cluster) => cluster.run(common).await,
            Self::Fsck(fsck) => fsck.run(common).await,
            Self::Offer(offer) => offer.run(common).await,
            Self::Seller(seller) => seller.run(common).await,
            Self::Stage(stage) => stage.run(common).await,
            Self::Feed(feed) => feed.run(common).await,
            Self::United(united) => united.run(common).await,
            Self::Silver(silver) => silver.run(common).await,
            Self::Gold(gold) => gold.run(common).await,
            Self::Settings(settings) => settings.run(common).await,
            Self::Config(config) => config.run(common),
            Self::Token(token) => token.run(common).await,
            Self::Table(table) => table.run(common).await,
            Self::Snippets(snippets) => snippets.run(common).await,
            Self::Store(store) => store.run(common).await,
            Self::Catalog(catalog) => catalog.run(common),
            Self::Geo(geo) => geo.run(common),
            Self::Backup(backup) => backup.run(common).await,
            Self::Restore(restore) => restore.run(common).await,
            Self::Completions(completions) => completions.run(),
        }
    }
}

impl Common {
    /// The settings of the file, the environment and the flags that all commands have.
    pub fn settings(&self) -> Result<Settings> {
        self.settings_with(&[])
    }

    /// Likewise, with the flags of one command.
    pub fn settings_with(&self, flags: &[(&str, Option<&String>)]) -> Result<Settings> {
        let read = || -> Result<Settings> {
            let mut settings = Settings::defaults();
            let named = std::env::var_os("DVOR_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
            if let Some(path) = self.config.clone().or(named) {
                let text = std::fs::read_to_string(&path);
                settings
                    .lay_file(&path, &text.with_context(|| format!("{} cannot be read", path.display()))?)?;
            }
            let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
                Some((name.into_string().ok()?, value.into_string().ok()?))
            };
            settings.lay_environment(std::env::vars_os().filter_map(text))?;
            let own = [
                ("data", self.data.as_ref()),
                ("store", self.store.as_ref()),
                ("topics", self.topics.as_ref()),
                ("files", self.files.as_ref()),
            ];
            for (key, value) in own.iter().chain(flags) {
                if let Some(value) = value {
                    settings.lay_flag(key, value)?;
                }
            }
            Ok(settings)
        };
        read().map_err(usage)
    }

    pub fn load(&self) -> Result<Config> {
        Config::from_settings(&self.settings()?).map_err(usage)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn usage(error: anyhow::Error) -> anyhow::Error {
    exit::Failure::of(exit::USAGE, format!("{error:#}"))
}

/// Prints to standard output; fails instead of panicking when nobody reads.
pub fn print(text: &str) -> Result<()> {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

pub fn print_json(value: &impl Serialize) -> Result<()> {
    print(&serde_json::to_string_pretty(value)?)
}

/// Prints rows under their headings, in columns.
pub fn print_columns(headings: &[&str], rows: &[Vec<String>]) -> Result<()> {
    let mut widths: Vec<usize> = headings.iter().map(|heading| heading.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: Vec<&str>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(headings.to_vec())];
    lines.extend(rows.iter().map(|row| line(row.iter().map(String::as_str).collect())));
    print(&lines.join("\n"))
}

/// The named fields of a page's items, as rows of [`print_columns`].
pub fn items(page: &Value, fields: &[&str]) -> Vec<Vec<String>> {
    let row = |item: &Value| fields.iter().map(|field| shown(&item[*field])).collect();
    page["items"].as_array().into_iter().flatten().map(row).collect()
}

/// A value of an answer in one cell: a text as it is, what is not there as nothing.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.replace('\n', " "),
        Value::Array(list) => {
            list.iter().map(shown).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
        }
        Value::Object(fields) => {
            // Money and measures read better without the names of their parts.
            if let (Some(amount), Some(currency)) = (fields.get("amount"), fields.get("currency")) {
                return format!("{} {}", shown(amount), shown(currency));
            }
            let filled = fields.iter().map(|(name, value)| (name, shown(value)));
            let parts =
                filled.filter(|(_, text)| !text.is_empty()).map(|(name, text)| format!("{name} {text}"));
            parts.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Shows how far long work is, on a terminal.
pub fn progress(unit: &str) -> indicatif::ProgressBar {
    let style = indicatif::ProgressStyle::with_template(&format!(
        "{{spinner}} {{pos}} {unit}, {{per_sec}}, {{elapsed}}"
    ));
    let bar = indicatif::ProgressBar::new_spinner();
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
