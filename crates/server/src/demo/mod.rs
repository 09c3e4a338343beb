//! What `dvor demo` shows until the systems are there: sample sellers whose prices change, end to end.
//!
//! Every two seconds one transaction in a seller's shard writes a row of `demo.goods` and an event for topic
//! `demo.changes` into the outbox; the relay carries it; a consumer counts it in `demo.counts`, each change once; and
//! `/v1/demo/sellers` serves both.

mod count;
mod goods;
mod routes;
mod tables;

use std::time::Duration;

use anyhow::Result;
use kit::Tasks;

use crate::app::App;

pub use routes::routes;
pub use tables::tables;

pub const TOPIC: &str = "demo.changes";
const GROUP: &str = "demo.counts";
const EVERY: Duration = Duration::from_secs(2);

/// Puts the sample goods in and starts to change them.
pub async fn start(app: &App, tasks: &Tasks) -> Result<()> {
    app.topics.ensure(TOPIC, app.config.topic.partitions).await?;
    for seller in goods::SELLERS {
        goods::fill(&app.store, &app.clock, seller).await?;
    }
    let shutdown = tasks.shutdown().clone();
    let consumer = app.topics.clone();
    tasks.spawn("demo counts", async move {
        topics::consume::run(consumer, TOPIC, GROUP, count::Count, shutdown).await;
    });
    tasks.spawn("demo changes", change_prices(app.clone(), tasks.clone()));
    Ok(())
}

async fn change_prices(app: App, tasks: Tasks) {
    for turn in 0.. {
        if !tasks.shutdown().sleep(EVERY).await {
            return;
        }
        if let Err(error) = goods::change_one(&app.store, &app.clock, turn).await {
            tracing::warn!("a sample price could not be changed: {error}");
        }
    }
}
