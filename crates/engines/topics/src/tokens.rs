use std::time::Duration;

use store::{Shard, Tx};
use tokio::sync::watch;

use crate::Result;

/// Which shards this process may work on in a role. A single process without a cluster holds everything.
#[derive(Clone, Default)]
pub struct Tokens {}

impl Tokens {
    /// A single process without a cluster.
    pub fn all() -> Self {
        Self {}
    }

    pub(crate) fn register(&self, _role: &str, _shards: u32) {}

    pub(crate) fn held(&self, _role: &str, shards: u32) -> Vec<Shard> {
        Shard::all().take(shards as usize).collect()
    }

    pub(crate) fn holds(&self, _role: &str, _shard: Shard) -> bool {
        true
    }

    /// Changes when the shards held do; `None`: they never do.
    pub(crate) fn watch(&self, _role: &str) -> Option<watch::Receiver<u64>> {
        None
    }

    pub(crate) fn lease_left(&self) -> Duration {
        Duration::MAX
    }

    /// Fails the transaction of a process that no longer holds its shard.
    pub(crate) async fn check(&self, _tx: &mut Tx, _role: &str) -> Result<()> {
        Ok(())
    }
}

/// Without a cluster, and when its channel is closed, nothing ever changes.
pub(crate) async fn changed(tokens: &mut Option<watch::Receiver<u64>>) {
    if let Some(receiver) = tokens
        && receiver.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}
