//! What the roles `feed-loader` and `feed-processor` do.

use cluster::work;
use kit::Tasks;
use topics::consume;

use crate::cleanup::OldLoads;
use crate::erase::Erasures;
use crate::loader::DueFeeds;
use crate::processor::Loads;
use crate::results::{GROUP, Results};
use crate::timers::Timers;
use crate::webhooks::Webhooks;
use crate::{Feeds, TOPICS};

impl Feeds {
    /// Fetches the feeds that are due.
    pub fn start_loader(&self, tasks: &Tasks) {
        work::start(tasks, &self.cluster, DueFeeds(self.clone()));
    }

    /// Loads on their way to the offers and back: batches, results, timers, webhooks and forgetting.
    pub async fn start_processor(&self, tasks: &Tasks) -> topics::Result<()> {
        self.topics.ensure_all(&TOPICS).await?;
        let (topics, cluster) = (&self.topics, &self.cluster);
        consume::start(tasks, topics, model::topics::FEED_RESULTS, GROUP, Results(self.clone()));
        consume::start(tasks, topics, model::topics::OFFERS_ERASURES, GROUP, Erasures(self.clone()));
        work::start(tasks, cluster, Loads(self.clone()));
        work::start(tasks, cluster, Timers(self.clone()));
        work::start(tasks, cluster, OldLoads(self.clone()));
        work::start(tasks, cluster, Webhooks(self.clone()));
        Ok(())
    }
}
