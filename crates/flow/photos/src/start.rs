//! What the role `photos` does.

use cluster::work;
use kit::Tasks;
use topics::consume;

use crate::{Erasures, GROUP, Photos, Requested, Requests, TOPICS, Unused};

impl Photos {
    /// Reads the requests of offers and answers them, and forgets the photos of erased sellers and those
    /// that nobody has named.
    pub async fn start(&self, tasks: &Tasks) -> topics::Result<()> {
        self.topics.ensure_all(&TOPICS).await?;
        let requests = Requests { clock: self.clock.clone() };
        consume::start(tasks, &self.topics, model::topics::PHOTOS_REQUESTS, GROUP, requests);
        consume::start(tasks, &self.topics, model::topics::OFFERS_ERASURES, GROUP, Erasures);
        work::start(tasks, &self.cluster, Requested(self.clone()));
        work::start(tasks, &self.cluster, Unused(self.clone()));
        Ok(())
    }
}
