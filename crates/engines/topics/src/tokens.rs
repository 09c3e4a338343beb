//! The right of this process to work on a shard in a role.

use std::time::Duration;

use cluster::{Cluster, Hold};
use store::{Shard, Tx};
use tokio::sync::watch;

use crate::{Error, Kind, Result};

/// Leave to make a call to the outside of at most this length.
pub(crate) fn hold(cluster: &Cluster, role: &str, shard: Shard, longest: Duration) -> Result<Hold> {
    let hold = cluster.hold(role, shard, longest);
    hold.ok_or_else(|| Error::new(Kind::NotAssigned, "the lease is too short to begin"))
}

/// Fails the transaction of a process that no longer holds its shard.
pub(crate) async fn check(cluster: &Cluster, tx: &mut Tx, role: &str) -> Result<()> {
    cluster.check(tx, role).await.map_err(|error| {
        if !error.is_fenced() {
            return error;
        }
        Error::with_source(Kind::NotAssigned, "the right to work here is gone", error)
    })
}

/// Returns when other tokens are held; never, when the channel is closed.
pub(crate) async fn changed(tokens: &mut watch::Receiver<u64>) {
    if tokens.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}
