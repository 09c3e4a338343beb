use anyhow::Result;
use cluster::work;
use kit::Tasks;
use stages::api::PluginRequest;
use stages::builtin::price::{self, PriceChanges, PriceMoves};
use stages::{NoteCalls, PRICE_POINTS_TOPIC, SAVED_GROUP, SAVED_TOPIC, Scheduler};
use topics::consume::{self, Handler};

use crate::app::App;

/// Tells the stages of changes, and runs them.
pub async fn start(app: &App, tasks: &Tasks) -> Result<()> {
    for topic in stages::TOPICS.into_iter().chain([offers::CHANGES_TOPIC]) {
        app.topics.ensure(topic, app.config.topic.partitions).await?;
    }
    app.stages.register().await?;
    for (id, plugin) in &app.config.plugins {
        register(app, id, plugin.clone()).await?;
    }
    let (topics, notes) = (app.topics.clone(), NoteCalls(app.stages.clone()));
    let shutdown = tasks.shutdown().clone();
    tasks.spawn(
        "on saved",
        async move { consume::run(topics, SAVED_TOPIC, SAVED_GROUP, notes, shutdown).await },
    );
    let scheduler = Scheduler(app.stages.clone());
    tasks.spawn("stages", work::run(app.cluster.clone(), scheduler, tasks.shutdown().clone()));
    read(app, tasks, offers::CHANGES_TOPIC, PriceChanges(app.offers.catalog.clone()));
    read(app, tasks, PRICE_POINTS_TOPIC, PriceMoves);
    Ok(())
}

/// A plug-in need not run yet: one that does not say which fields it cares for keeps the masks that it has, or is told of
/// everything.
async fn register(app: &App, id: &str, plugin: PluginRequest) -> Result<()> {
    let kept = app.stages.entries().iter().find(|entry| entry.id == id).map(|entry| entry.row.masks.clone());
    let done = match app.stages.put_plugin(id, plugin.clone()).await {
        Err(stages::Error::Field("masks", reason)) if plugin.masks.is_none() => {
            tracing::warn!(stage = id, "{reason}");
            let masks = Some(kept.unwrap_or_default());
            app.stages.put_plugin(id, PluginRequest { masks, ..plugin }).await
        }
        done => done,
    };
    match done {
        // The id is free again in a moment; the next start registers it.
        Err(stages::Error::Conflict(reason)) => tracing::warn!(stage = id, "not registered: {reason}"),
        done => drop(done?),
    }
    Ok(())
}

/// Prices of like offers are kept by the offers' changes.
fn read(app: &App, tasks: &Tasks, topic: &'static str, handler: impl Handler + 'static) {
    let (topics, shutdown) = (app.topics.clone(), tasks.shutdown().clone());
    tasks.spawn(topic, async move { consume::run(topics, topic, price::GROUP, handler, shutdown).await });
}

/// Every process that can write offers keeps in mind what stages want to hear of, whatever its roles.
pub fn watch_registry(app: &App, tasks: &Tasks) {
    let (stages, shutdown) = (app.stages.clone(), tasks.shutdown().clone());
    tasks.spawn("stage registry", async move { stages.maintain(&shutdown).await });
}
