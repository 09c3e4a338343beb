//! What the tests share: a store with the cluster's tables and one of fenced work, and members on it.

use std::time::Duration;

use cluster::{Cluster, Options};
use kit::{Clock, Shutdown, Tasks};
use store::{Read as _, Schema, Shard, Space, Store, Table, Tx};

pub(crate) const ROLE: &str = "relay";

/// What was done under a token: (role) → how often.
pub(crate) const WORK: Table<(String,), u64> = Table::new("test", "work", &["role"], Space::Small);

pub(crate) fn store() -> Store {
    Store::memory(Schema::new(cluster::tables().into_iter().chain([WORK.spec()])))
}

pub(crate) struct Member {
    pub(crate) cluster: Cluster,
    pub(crate) tasks: Tasks,
}

pub(crate) async fn join(store: &Store, id: &str) -> Member {
    let options = Options { id: Some(id.to_owned()), roles: vec![ROLE.to_owned()], ..Options::default() };
    join_with(store, options).await
}

pub(crate) async fn join_with(store: &Store, options: Options) -> Member {
    join_by(store, options, Clock::system()).await
}

pub(crate) async fn join_by(store: &Store, options: Options, clock: Clock) -> Member {
    let tasks = Tasks::new(Shutdown::new());
    let cluster = Cluster::join(store.clone(), clock, options, &tasks).await.unwrap();
    Member { cluster, tasks }
}

impl Member {
    pub(crate) fn held(&self) -> usize {
        self.cluster.held(ROLE).len()
    }

    /// Ends without a word, as a killed process does.
    pub(crate) async fn die(&self) {
        assert!(self.tasks.end(Duration::from_secs(1)).await);
    }

    /// Counts one piece of work under the token.
    pub(crate) async fn work(&self, store: &Store, role: &str, shard: Shard) -> cluster::Result<u64> {
        let cluster = self.cluster.clone();
        store.transact(shard, async |tx: &mut Tx| count(&cluster, tx, role).await).await
    }
}

async fn count(cluster: &Cluster, tx: &mut Tx, role: &str) -> cluster::Result<u64> {
    cluster.check(tx, role).await?;
    let done = tx.get(&WORK, (role,)).await?.unwrap_or_default() + 1;
    tx.put(&WORK, (role,), &done)?;
    Ok(done)
}

pub(crate) async fn sleep_ms(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
