//! Moves of drafts that were left in the middle.

use async_trait::async_trait;
use cluster::work::{Done, Due, Entry, Plan, Work, head_by_owner};
use kit::Timestamp;
use store::Shard;
use wire::offers::DraftIntent;

use super::Owner;
use crate::due::ROLE;
use crate::tables::DRAFT_INTENTS;
use crate::{Error, Offers, Result};

/// Nobody wakes it: whoever needs a move finished finishes it, and the rest is in no hurry.
const CHANNEL: &str = "offers.draft_moves";

/// Intents that nobody came back for.
pub struct DraftMoves(pub Offers);

#[async_trait]
impl Work for DraftMoves {
    /// Owner, source.
    type Key = (String, String);
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("draft moves", ROLE, CHANNEL, 1)
    }

    async fn due(&self, shards: &[Shard], _: Timestamp) -> Result<Due<(String, String)>> {
        let entry = |key: (String, String), intent: DraftIntent| {
            (!intent.landed).then(|| Entry { at: Timestamp(0), owner: key.0.clone(), key, long: false })
        };
        Ok(head_by_owner(&self.0.store, &DRAFT_INTENTS, shards, entry).await?)
    }

    async fn run(&self, _: Shard, (owner, source): &(String, String)) -> Result<Done> {
        self.0.finish_move(source, &Owner::parse(owner)).await?;
        Ok(Done::Finished)
    }
}
