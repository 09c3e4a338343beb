use anyhow::Result;
use kit::Tasks;
use offers::autoload::{self, Batches, Decisions};
use offers::moderation::Opinions;
use offers::photos::PhotoResults;
use topics::consume::{self, Handler};

use crate::app::App;

const GROUP: &str = "offers";

/// What happens to offers without a call: loads of feeds and their sweeps, opinions, photos, the passing of time, the
/// archive, and drafts that were left behind.
pub async fn start(app: &App, tasks: &Tasks) -> Result<()> {
    for topic in offers::TOPICS {
        app.topics.ensure(topic, app.config.topic.partitions).await?;
    }
    let offers = &app.offers;
    read(app, tasks, offers::FEED_OFFERS_TOPIC, Batches(offers.clone()));
    read(app, tasks, offers::FEED_DECISIONS_TOPIC, Decisions(offers.clone()));
    read(app, tasks, offers::OPINIONS_TOPIC, Opinions(offers.clone()));
    read(app, tasks, offers::PHOTO_RESULTS_TOPIC, PhotoResults(offers.clone()));
    let shutdown = || tasks.shutdown().clone();
    let (offers, cluster) = (app.offers.clone(), app.cluster.clone());
    tasks.spawn("feed sweeps", autoload::sweep::run(offers.clone(), cluster.clone(), shutdown()));
    if let Some(cluster) = cluster.clone() {
        tasks.spawn("drafts", offers::drafts::sweep::run(offers.clone(), cluster, shutdown()));
    }
    let over = shutdown();
    tasks.spawn("due offers", async move { offers::due::run(&offers, cluster.as_ref(), &over).await });
    Ok(())
}

fn read(app: &App, tasks: &Tasks, topic: &'static str, handler: impl Handler + 'static) {
    let (topics, shutdown) = (app.topics.clone(), tasks.shutdown().clone());
    tasks.spawn(topic, async move { consume::run(topics, topic, GROUP, handler, shutdown).await });
}
