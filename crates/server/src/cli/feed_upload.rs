use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use feeds::api::{LoadItem, NewLoad};
use futures::StreamExt as _;
use indicatif::{ProgressBar, ProgressStyle};

use super::backend::{Backend, segment};
use super::exit::{self, Failure};
use super::{Common, print, print_json};

/// How often a watched load is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(300);
const PIECE_BYTES: usize = 256 << 10;

/// Hand a feed file to the running server
#[derive(Args)]
#[command(
    after_help = "Examples:\n  dvor feed upload goods.xml --seller shop --watch\n  dvor feed upload goods.csv.gz --seller shop --namespace spring --dry-run --watch"
)]
pub struct Upload {
    file: PathBuf,
    #[arg(long)]
    seller: String,
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Follow the load to its end; exit code 1 unless it succeeds
    #[arg(long)]
    watch: bool,
    /// Tell what would happen and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl Upload {
    pub async fn run(self, common: &Common) -> Result<()> {
        let backend = Backend::open(common).await?;
        let done = self.upload(&backend, common.json).await;
        backend.close().await?;
        done
    }

    async fn upload(&self, backend: &Backend, json: bool) -> Result<()> {
        let feed = format!("/v1/sellers/{}/feeds/{}", segment(&self.seller), segment(&self.namespace));
        let made = self.send(backend, &feed).await?;
        if !self.watch {
            let text = format!("load {} is queued; --watch follows it", made.task_id);
            return if json { print_json(&made) } else { print(&text) };
        }
        let load = watch(backend, &format!("{feed}/tasks/{}", made.task_id)).await?;
        finish(&feed, &load, json)
    }

    async fn send(&self, backend: &Backend, feed: &str) -> Result<NewLoad> {
        let unreadable = |error: std::io::Error| {
            Failure::of(exit::NOT_FOUND, format!("{} cannot be read: {error}", self.file.display()))
        };
        let file = tokio::fs::File::open(&self.file).await.map_err(unreadable)?;
        let bytes = file.metadata().await.map_err(unreadable)?.len();
        let bar = bar("{msg} {bar:40} {bytes} / {total_bytes}, {bytes_per_sec}, {eta}", bytes, "upload    ");
        let shown = bar.clone();
        let pieces = tokio_util::io::ReaderStream::with_capacity(file, PIECE_BYTES).inspect(move |piece| {
            if let Ok(piece) = piece {
                shown.inc(piece.len() as u64);
            }
        });
        let name = self.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = format!("{feed}/uploads?dry_run={}&name={}", self.dry_run, segment(&name));
        let made = backend.upload(&path, pieces, bytes).await;
        bar.finish_and_clear();
        made
    }
}

/// Prints a load that is over, and fails unless it succeeded.
pub(super) fn finish(feed: &str, load: &LoadItem, json: bool) -> Result<()> {
    if json {
        print_json(load)?;
    } else {
        print(&report(load))?;
    }
    match load.status.as_str() {
        "succeeded" | "unchanged" => Ok(()),
        "needs_confirmation" => {
            let held = load.held.as_ref().map_or(0, |held| held.would_go);
            let detail = format!(
                "the load would take {held} offers away and waits: POST {feed}/tasks/{}/confirm or …/reject",
                load.task_id
            );
            Err(Failure::of(exit::FAILED, detail))
        }
        status => {
            let why = load.error.as_ref().map_or_else(String::new, |error| format!(": {}", error.message));
            Err(Failure::of(exit::FAILED, format!("load {} is {status}{why}", load.task_id)))
        }
    }
}

/// Shows the load's progress until it ends or waits for a person.
pub(super) async fn watch(backend: &Backend, path: &str) -> Result<LoadItem> {
    let bar = bar("{msg} {bar:40} {bytes} / {total_bytes}", 0, "queued");
    loop {
        let load: LoadItem = backend.get(path, &[]).await?;
        let progress = &load.progress;
        bar.set_length(progress.bytes_total.max(0) as u64);
        bar.set_position(progress.bytes_read.max(0) as u64);
        bar.set_message(format!(
            "{}: {} offers read, {} of {} batches answered",
            load.status, progress.offers, progress.batches_acknowledged, progress.batches_sent
        ));
        if !matches!(load.status.as_str(), "queued" | "in_progress") {
            bar.finish_and_clear();
            return Ok(load);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// On a terminal only.
fn bar(template: &str, length: u64, message: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style).with_message(message)
}

pub(super) fn report(load: &LoadItem) -> String {
    let found = &load.statistics;
    let numbers = [
        ("offers", found.total),
        ("created", found.created),
        ("updated", found.updated),
        ("unchanged", found.unchanged),
        ("deleted", found.deleted),
        ("made manual", found.made_manual),
        ("rejected", found.rejected),
        ("banned", found.banned),
        ("duplicate", found.duplicate),
        ("skipped", found.skipped),
        ("stale", found.stale),
        ("errors", found.errors),
        ("warnings", found.warnings),
    ];
    let dry = if load.dry_run { " (dry run)" } else { "" };
    let mut lines = vec![format!("load {}: {}{dry}", load.task_id, load.status)];
    for (name, number) in numbers.iter().filter(|(name, number)| *number != 0 || *name == "offers") {
        lines.push(format!("  {name:<12} {number:>10}"));
    }
    for (kind, number) in &found.by_type {
        lines.push(format!("    of type {kind:<12} {number:>5}"));
    }
    for sample in &load.samples {
        for difference in &sample.differences {
            let (path, from, to) = (&difference.path, &difference.from, &difference.to);
            lines.push(format!("  {} «{}»: {path}: {from} → {to}", sample.external_id, sample.title));
        }
    }
    lines.join("\n")
}
