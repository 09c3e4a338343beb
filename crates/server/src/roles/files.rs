use std::time::Duration;

use anyhow::Result;
use files::{Answer, Files};
use kit::{Shutdown, Tasks};

use crate::app::App;

const GROUP: &str = "files";
/// Deletions wait for writes that may still be under way, and owners for crashes that they must finish first: there is
/// no hurry.
const SWEEP_EVERY: Duration = Duration::from_secs(600);

/// Lets go of files that their owners have released, and deletes what nobody holds. Runs with the role `relay`, which
/// carries the releases.
pub async fn start(app: &App, tasks: &Tasks) -> Result<()> {
    app.topics.ensure(files::RELEASES, app.config.topic.partitions).await?;
    let (topics, releases) = (app.topics.clone(), app.files.releases());
    let shutdown = tasks.shutdown().clone();
    tasks.spawn("file releases", async move {
        topics::consume::run(topics, files::RELEASES, GROUP, releases, shutdown).await;
    });
    tasks.spawn("file sweep", sweep(app.files.clone(), tasks.shutdown().clone()));
    Ok(())
}

async fn sweep(files: Files, shutdown: Shutdown) {
    while shutdown.sleep(SWEEP_EVERY).await {
        // No system keeps files yet, so nobody can be asked about a reference that was begun and not finished.
        if let Err(error) = files.sweep(|_, _| async { Answer::Unknown }).await {
            tracing::warn!("files could not be swept: {error}");
        }
    }
}
