use anyhow::Result;
use kit::Tasks;
use photos::{ERASURES_TOPIC, Erasures, GROUP, REQUESTS_TOPIC, RESULTS_TOPIC, Requests};

use crate::app::App;

/// Reads the requests of offers and answers them.
pub async fn start(app: &App, tasks: &Tasks) -> Result<()> {
    for topic in [REQUESTS_TOPIC, RESULTS_TOPIC, ERASURES_TOPIC] {
        app.topics.ensure(topic, app.config.topic.partitions).await?;
    }
    let (topics, requests) = (app.topics.clone(), Requests { clock: app.clock.clone() });
    let shutdown = tasks.shutdown().clone();
    tasks.spawn("photo requests", async move {
        topics::consume::run(topics, REQUESTS_TOPIC, GROUP, requests, shutdown).await;
    });
    let (topics, shutdown) = (app.topics.clone(), tasks.shutdown().clone());
    tasks.spawn("photo erasures", async move {
        topics::consume::run(topics, ERASURES_TOPIC, GROUP, Erasures, shutdown).await;
    });
    tasks.spawn("photos", photos::run(app.photos.clone(), tasks.shutdown().clone()));
    Ok(())
}
