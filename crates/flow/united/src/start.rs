//! What the role `united` does.

use cluster::work;
use kit::Tasks;
use topics::consume;

use crate::moves::{Moves, Requests};
use crate::receive::FollowedParts;
use crate::{Endings, ROLE, Retold, TOPICS, United};

impl United {
    /// Reads the offers of followed sellers and migrations, and ends what shops had.
    pub async fn start(&self, tasks: &Tasks) -> topics::Result<()> {
        self.topics.ensure_all(&TOPICS).await?;
        let topics = &self.topics;
        consume::start(tasks, topics, model::topics::UNITED_PARTS, ROLE, FollowedParts(self.clone()));
        consume::start(tasks, topics, model::topics::MIGRATIONS_REQUESTS, ROLE, Requests(self.clone()));
        consume::start(tasks, topics, model::topics::UNITED_MOVES, ROLE, Moves(self.clone()));
        work::start(tasks, &self.cluster, Endings(self.clone()));
        work::start(tasks, &self.cluster, Retold(self.clone()));
        Ok(())
    }
}
