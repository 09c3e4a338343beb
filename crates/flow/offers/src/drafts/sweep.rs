//! What nobody comes back for: moves that were left in the middle, anonymous drafts past their time, traces and keys.

use std::time::Duration;

use cluster::Cluster;
use kit::Shutdown;
use store::{Range, Shard, Tx};

use super::Owner;
use crate::tables::DRAFT_INTENTS;
use crate::{Offers, Result, forget};

/// The role under whose work tokens the sweep runs.
pub const ROLE: &str = "offers-scheduler";
/// Nothing here is in a hurry: whoever needs a move finished finishes it himself.
const EVERY: Duration = Duration::from_secs(60);
const INTENTS_PER_SHARD: usize = 20;

/// Sweeps the shards that this process holds until the end.
pub async fn run(offers: Offers, cluster: Cluster, shutdown: Shutdown) {
    while shutdown.sleep(EVERY).await {
        let shards = cluster.held(ROLE);
        if let Err(error) = once(&offers, &shards).await {
            tracing::warn!("drafts could not be swept: {error}");
        }
    }
}

/// One round over these shards.
pub async fn once(offers: &Offers, shards: &[Shard]) -> Result<()> {
    let intents = offers.store.scan_shards(&DRAFT_INTENTS, shards, Range::all(INTENTS_PER_SHARD)).await?;
    for (_, (owner, source), _) in intents {
        offers.finish_move(&source, &Owner::parse(&owner)).await?;
    }
    for shard in forget::due(offers, shards).await? {
        let step = async |tx: &mut Tx| forget::step(tx, offers.clock.now()).await;
        while offers.store.transact(shard, step).await? > 0 {}
    }
    Ok(())
}
