use anyhow::Result;
use cluster::work;
use feeds::cleanup::OldLoads;
use feeds::erase::Erasures;
use feeds::processor::Loads;
use feeds::results::{GROUP, Results};
use feeds::timers::Timers;
use feeds::webhooks::Webhooks;
use feeds::{ERASURES_TOPIC, FEED_DECISIONS_TOPIC, FEED_OFFERS_TOPIC, FEED_RESULTS_TOPIC};
use kit::Tasks;

use crate::app::App;

/// Loads on their way to the offers and back: batches, results, timers, webhooks and forgetting.
pub async fn start(app: &App, tasks: &Tasks) -> Result<()> {
    for topic in [FEED_OFFERS_TOPIC, FEED_RESULTS_TOPIC, FEED_DECISIONS_TOPIC, ERASURES_TOPIC] {
        app.topics.ensure(topic, app.config.topic.partitions).await?;
    }
    let (topics, results) = (app.topics.clone(), Results(app.feeds.clone()));
    let shutdown = || tasks.shutdown().clone();
    let over = shutdown();
    tasks.spawn("feed results", async move {
        topics::consume::run(topics, FEED_RESULTS_TOPIC, GROUP, results, over).await;
    });
    let (topics, erasures, over) = (app.topics.clone(), Erasures(app.feeds.clone()), shutdown());
    tasks.spawn("feed erasures", async move {
        topics::consume::run(topics, ERASURES_TOPIC, GROUP, erasures, over).await;
    });
    let (feeds, cluster) = (|| app.feeds.clone(), || app.cluster.clone());
    let loads = Loads { feeds: feeds(), cluster: cluster() };
    tasks.spawn("feed processor", work::run(cluster(), loads, shutdown()));
    tasks.spawn("feed timers", work::run(cluster(), Timers(feeds()), shutdown()));
    tasks.spawn("feed clean-up", work::run(cluster(), OldLoads(feeds()), shutdown()));
    tasks.spawn("feed webhooks", work::run(cluster(), Webhooks(feeds()), shutdown()));
    Ok(())
}
