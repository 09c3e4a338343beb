use anyhow::Result;
use cluster::work;
use kit::Tasks;
use offers::autoload::sweep::Sweeps;
use offers::autoload::{Batches, DeadFeedRows, Decisions};
use offers::drafts::sweep::DraftMoves;
use offers::due::DueOffers;
use offers::erase::SellerErasures;
use offers::follow::{FollowerWalks, Follows};
use offers::forget::Forgotten;
use offers::history::OldEvents;
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
    read(app, tasks, offers::FOLLOW_TOPIC, Follows);
    let (offers, cluster, shutdown) =
        (|| offers.clone(), || app.cluster.clone(), || tasks.shutdown().clone());
    tasks.spawn("feed sweeps", work::run(cluster(), Sweeps(offers()), shutdown()));
    tasks.spawn("dead feed rows", work::run(cluster(), DeadFeedRows(offers()), shutdown()));
    tasks.spawn("draft moves", work::run(cluster(), DraftMoves(offers()), shutdown()));
    tasks.spawn("forgotten rows", work::run(cluster(), Forgotten(offers()), shutdown()));
    tasks.spawn("due offers", work::run(cluster(), DueOffers(offers()), shutdown()));
    tasks.spawn("erasures", work::run(cluster(), SellerErasures(offers()), shutdown()));
    tasks.spawn("followers", work::run(cluster(), FollowerWalks(offers()), shutdown()));
    tasks.spawn("old events", work::run(cluster(), OldEvents(offers()), shutdown()));
    Ok(())
}

fn read(app: &App, tasks: &Tasks, topic: &'static str, handler: impl Handler + 'static) {
    let (topics, shutdown) = (app.topics.clone(), tasks.shutdown().clone());
    tasks.spawn(topic, async move { consume::run(topics, topic, GROUP, handler, shutdown).await });
}
