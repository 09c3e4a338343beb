//! What the role `offers-scheduler` does.

use cluster::work;
use kit::Tasks;
use topics::consume::{self, Handler};

use crate::autoload::sweep::Sweeps;
use crate::autoload::{Batches, DeadFeedRows, Decisions};
use crate::drafts::sweep::DraftMoves;
use crate::due::DueOffers;
use crate::erase::SellerErasures;
use crate::follow::{FollowerWalks, Follows};
use crate::forget::Forgotten;
use crate::history::OldEvents;
use crate::moderation::Opinions;
use crate::photos::PhotoResults;
use crate::{GROUP, Offers, TOPICS};

impl Offers {
    /// What happens to offers without a call: loads of feeds and their sweeps, opinions, photos, the passing of time, the
    /// archive, and drafts that were left behind.
    pub async fn start(&self, tasks: &Tasks) -> topics::Result<()> {
        self.topics.ensure_all(&TOPICS).await?;
        self.read(tasks, model::topics::FEED_OFFERS, Batches(self.clone()));
        self.read(tasks, model::topics::FEED_DECISIONS, Decisions(self.clone()));
        self.read(tasks, model::topics::MODERATION_OPINIONS, Opinions(self.clone()));
        self.read(tasks, model::topics::PHOTOS_RESULTS, PhotoResults(self.clone()));
        self.read(tasks, model::topics::OFFERS_FOLLOW, Follows);
        work::start(tasks, &self.cluster, Sweeps(self.clone()));
        work::start(tasks, &self.cluster, DeadFeedRows(self.clone()));
        work::start(tasks, &self.cluster, DraftMoves(self.clone()));
        work::start(tasks, &self.cluster, Forgotten(self.clone()));
        work::start(tasks, &self.cluster, DueOffers(self.clone()));
        work::start(tasks, &self.cluster, SellerErasures(self.clone()));
        work::start(tasks, &self.cluster, FollowerWalks(self.clone()));
        work::start(tasks, &self.cluster, OldEvents(self.clone()));
        Ok(())
    }

    fn read(&self, tasks: &Tasks, topic: &'static str, handler: impl Handler + 'static) {
        consume::start(tasks, &self.topics, topic, GROUP, handler);
    }
}
