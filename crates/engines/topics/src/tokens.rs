use std::time::Duration;

use cluster::{Cluster, Hold};
use store::{Shard, Tx};
use tokio::sync::watch;

use crate::{Error, Kind, Result};

/// Which shards this process may work on in a role. A single process without a cluster holds everything.
#[derive(Clone, Default)]
pub struct Tokens(Option<Cluster>);

impl From<Cluster> for Tokens {
    fn from(cluster: Cluster) -> Self {
        Self(Some(cluster))
    }
}

impl From<Option<Cluster>> for Tokens {
    fn from(cluster: Option<Cluster>) -> Self {
        Self(cluster)
    }
}

impl Tokens {
    /// A single process without a cluster.
    pub fn all() -> Self {
        Self(None)
    }

    pub(crate) fn register(&self, role: &str, shards: u32) {
        if let Some(cluster) = &self.0 {
            cluster.register_role(role, shards as u16);
        }
    }

    pub(crate) fn withdraw(&self, role: &str) {
        if let Some(cluster) = &self.0 {
            cluster.withdraw_role(role);
        }
    }

    pub(crate) fn held(&self, role: &str, shards: u32) -> Vec<Shard> {
        match &self.0 {
            Some(cluster) => cluster.held(role),
            None => Shard::all().take(shards as usize).collect(),
        }
    }

    pub(crate) fn holds(&self, role: &str, shard: Shard) -> bool {
        self.0.as_ref().is_none_or(|cluster| cluster.holds(role, shard))
    }

    /// Changes when the shards held do; `None`: they never do.
    pub(crate) fn watch(&self, role: &str) -> Option<watch::Receiver<u64>> {
        self.0.as_ref().map(|cluster| cluster.watch(role))
    }

    /// Leave to make a call to the outside of at most this length.
    pub(crate) fn hold(&self, role: &str, shard: Shard, longest: Duration) -> Result<Option<Hold>> {
        let Some(cluster) = &self.0 else { return Ok(None) };
        match cluster.hold(role, shard, longest) {
            Some(hold) => Ok(Some(hold)),
            None => Err(Error::new(Kind::NotAssigned, "the lease is too short to begin")),
        }
    }

    /// Fails the transaction of a process that no longer holds its shard.
    pub(crate) async fn check(&self, tx: &mut Tx, role: &str) -> Result<()> {
        match &self.0 {
            Some(cluster) => Ok(cluster.check(tx, role).await?),
            None => Ok(()),
        }
    }
}

impl From<cluster::Error> for Error {
    fn from(error: cluster::Error) -> Self {
        match error {
            cluster::Error::Store(error) => error.into(),
            error => Self::with_source(Kind::NotAssigned, "the right to work here is gone", error),
        }
    }
}

/// Without a cluster, and when its channel is closed, nothing ever changes.
pub(crate) async fn changed(tokens: &mut Option<watch::Receiver<u64>>) {
    if let Some(receiver) = tokens
        && receiver.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}
