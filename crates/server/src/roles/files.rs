use std::time::Duration;

use anyhow::Result;
use files::{Answer, Hash, Referrer};
use kit::{Shutdown, Tasks};

use crate::app::App;

const GROUP: &str = "files";
/// Deletions wait for writes that may still be under way, and owners for crashes that they must finish first: there is
/// no hurry.
const SWEEP_EVERY: Duration = Duration::from_secs(600);

/// Lets go of files that their owners have released, and deletes what nobody holds. Runs with the role `relay`, which
/// carries the releases.
pub async fn start(app: &App, tasks: &Tasks) -> Result<()> {
    app.topics.ensure_all(&[files::RELEASES]).await?;
    topics::consume::start(tasks, &app.topics, files::RELEASES, GROUP, app.files.releases());
    tasks.spawn("file sweep", sweep(app.clone(), tasks.shutdown().clone()));
    Ok(())
}

async fn sweep(app: App, shutdown: Shutdown) {
    while shutdown.sleep(SWEEP_EVERY).await {
        let app = &app;
        let ask = |referrer, hash| async move { owner(app, &referrer, &hash).await };
        if let Err(error) = app.files.sweep(ask).await {
            tracing::warn!("files could not be swept: {error}");
        }
    }
}

/// What the system that a referrer names says of its reference.
async fn owner(app: &App, referrer: &Referrer, hash: &Hash) -> Answer {
    match referrer.system() {
        "photos" => photos::owns(&app.store, referrer, hash).await,
        "archive" => offers::archive::answer(&app.offers, referrer, hash).await,
        "feeds" => feeds::upload::file_is_used(&app.feeds, referrer).await,
        _ => Answer::Unknown,
    }
}
