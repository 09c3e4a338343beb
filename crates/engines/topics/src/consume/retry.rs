//! Dead letters that somebody wants to be tried again, by whoever reads their partition.

use store::{Range, Read as _, Shard};

use super::apply::Applier;
use super::{Failure, Handler};
use crate::dead_letters::{self, Id};
use crate::tables::{RETRIED, RETRIES};
use crate::{Record, Result};

/// Letters tried in one go.
const RETRIES_AT_ONCE: usize = 100;

impl<H: Handler> Applier<'_, H> {
    /// Tries the letters asked for in these partitions. One that fails again stays, with the new reason.
    pub(super) async fn retry(&self, partitions: &[u32]) -> Result<()> {
        let shards: Vec<_> = partitions.iter().map(|partition| dead_letters::shard(*partition)).collect();
        let range = Range::prefix((self.group, self.description.topic.as_str()), RETRIES_AT_ONCE)?;
        for (_, key, ()) in self.topics.store().scan_shards(&RETRIES, &shards, range).await? {
            let id = Id::from(key);
            if partitions.contains(&id.partition) {
                self.retry_one(&id).await?;
            }
        }
        Ok(())
    }

    async fn retry_one(&self, id: &Id) -> Result<()> {
        let Some(record) = dead_letters::record(self.topics, id).await? else {
            return dead_letters::discard(self.topics, id).await;
        };
        let shard = match self.handler.shard_of(&record) {
            Ok(shard) => shard,
            Err(reason) => return dead_letters::failed_again(self.topics, id, &reason.0).await,
        };
        match self.apply_letter(shard, id, record).await {
            Ok(()) => {}
            Err(Failure::Determinate(reason)) => {
                return dead_letters::failed_again(self.topics, id, &reason).await;
            }
            // Asked again at the next wake-up or safety poll.
            Err(Failure::Transient(reason)) => {
                tracing::warn!(?id, reason, "a dead letter is not tried yet");
                return Ok(());
            }
        }
        dead_letters::discard(self.topics, id).await?;
        tracing::info!(?id, "a dead letter was applied");
        let unmark = async |tx: &mut store::Tx| Ok(tx.delete(&RETRIED, id.key())?);
        self.topics.store().transact(shard, unmark).await
    }

    /// The letter and its effect may live in different shards, so the effect leaves a mark until the letter is gone.
    async fn apply_letter(&self, shard: Shard, id: &Id, record: Record) -> Result<(), Failure> {
        self.topics
            .store()
            .transact(shard, async |tx| {
                if tx.get(&RETRIED, id.key()).await?.is_none() {
                    self.handler.apply(tx, &[record]).await?;
                    tx.put(&RETRIED, id.key(), &())?;
                }
                Ok(())
            })
            .await
    }
}
