//! Locks for work that is longer than a transaction: a row beside what it protects.
//!
//! A lock is worth as much as its holder's heartbeat, and never longer than the age its takers allow. Whoever lost it
//! without noticing is refused at the end, when it commits: every taking has its own nonce.

use std::time::Duration;

use kit::Timestamp;
use store::{Read as _, Tx};
use tokio::time::Instant;

use crate::tables::{LOCKS, LockRow};
use crate::{Cluster, Error, Kind, Result};

/// A lock as taken once. It is held from the commit of the transaction that took it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    context: String,
    key: String,
    nonce: u64,
}

impl Cluster {
    /// Takes the lock in this transaction if it is free, its holder is gone, or it is older than `max_age`; `None` when
    /// another holds it (this process too, under another nonce).
    pub async fn try_lock(
        &self,
        tx: &mut Tx,
        context: &str,
        key: &str,
        max_age: Duration,
    ) -> Result<Option<Lock>> {
        let now = self.inner.clock.now();
        if let Some(row) = tx.get(&LOCKS, (context, key)).await? {
            let gone = self.inner.state().observer.member_gone(&row.owner, Instant::now());
            if !gone && now.since(Timestamp(row.since)) < max_age {
                return Ok(None);
            }
            tracing::info!(
                context,
                key,
                holder = row.owner,
                taker = self.member_id(),
                gone,
                "a lock is taken over"
            );
        }
        let nonce = u64::from_le_bytes(kit::random_bytes());
        tx.put(&LOCKS, (context, key), &LockRow { owner: self.member_id().to_owned(), nonce, since: now.0 })?;
        Ok(Some(Lock { context: context.to_owned(), key: key.to_owned(), nonce }))
    }
}

impl Lock {
    /// Fencing: fails unless this very taking of the lock still holds. What the transaction writes is written under
    /// the lock, or not at all.
    pub async fn check(&self, tx: &mut Tx) -> Result<()> {
        let row = tx.get(&LOCKS, (self.context.as_str(), self.key.as_str())).await?;
        if row.is_some_and(|row| row.nonce == self.nonce) {
            return Ok(());
        }
        let text = format!("the lock {}/{} is not held any more", self.context, self.key);
        Err(Error::new(Kind::Fenced, text))
    }

    /// Gives the lock back with this transaction; nothing happens when another has it by now.
    pub async fn release(&self, tx: &mut Tx) -> Result<()> {
        match self.check(tx).await {
            Ok(()) => Ok(tx.delete(&LOCKS, (self.context.as_str(), self.key.as_str()))?),
            Err(error) if error.is_fenced() => Ok(()),
            Err(error) => Err(error),
        }
    }
}
