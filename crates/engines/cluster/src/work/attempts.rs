//! Tries of dangerous work, noted before they begin: what kills its worker cannot say so afterwards.
//!
//! Whatever ends a process (a deploy, a full disk, another piece) ends all of its pieces, so a try that never reported back
//! is only a suspicion. The first three tries follow each other at once; from then on a piece waits longer before each, and
//! only what is under way at every one of the ends is given up.

use std::fmt::Debug;
use std::time::Duration;

use kit::Timestamp;
use serde::Serialize;
use store::{Read as _, Shard, Space, Table, Tx};

use super::Plan;
use crate::{Cluster, Result};

/// (work, piece): how often it was begun without an end.
pub(crate) const ATTEMPTS: Table<(String, String), AttemptsRow> =
    Table::new("cluster", "attempts", &["work", "piece"], Space::Small);

#[derive(Clone, PartialEq, Eq, prost::Message, Serialize)]
pub(crate) struct AttemptsRow {
    #[prost(uint32, tag = "1")]
    pub(crate) tries: u32,
    /// When it was last begun, in microseconds.
    #[prost(int64, tag = "2")]
    pub(crate) at: i64,
}

/// Whether a piece may be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    Begun,
    /// It is suspected and waits until then.
    NotBefore(Timestamp),
    /// It was begun too often.
    Exhausted,
}

/// Tries that follow each other at once.
const FREE_TRIES: u32 = 3;
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// When a piece with these tries may be begun again.
fn not_before(row: &AttemptsRow) -> Timestamp {
    let Some(doublings) = row.tries.checked_sub(FREE_TRIES) else { return Timestamp(0) };
    let wait = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(doublings));
    Timestamp(row.at).plus(wait.min(LONGEST_WAIT))
}

fn piece_name<K: Debug>(key: &K) -> String {
    let name = format!("{key:?}");
    // A key may be longer than a key column; two that share their first kilobyte share their tries.
    name.chars().filter(|c| *c != '\0').take(1_000).collect()
}

/// T: notes the try under the token.
pub(super) async fn begin<K: Debug + Sync>(
    cluster: &Cluster,
    plan: &Plan,
    max_tries: u32,
    shard: Shard,
    key: &K,
) -> Result<Attempt> {
    let piece = piece_name(key);
    let note = async |tx: &mut Tx| {
        cluster.check(tx, plan.role).await?;
        let row = tx.get(&ATTEMPTS, (plan.name, &*piece)).await?.unwrap_or_default();
        if row.tries >= max_tries {
            return Ok(Attempt::Exhausted);
        }
        let (now, from) = (cluster.inner.clock.now(), not_before(&row));
        if now < from {
            return Ok(Attempt::NotBefore(from));
        }
        let row = AttemptsRow { tries: row.tries + 1, at: now.0 };
        tx.put(&ATTEMPTS, (plan.name, &*piece), &row)?;
        Ok(Attempt::Begun)
    };
    cluster.inner.store.transact(shard, note).await
}

/// T: the piece reported back, whatever it said.
pub(super) async fn end<K: Debug + Sync>(
    cluster: &Cluster,
    plan: &Plan,
    shard: Shard,
    key: &K,
) -> Result<()> {
    let piece = piece_name(key);
    let forget = async |tx: &mut Tx| Ok(tx.delete(&ATTEMPTS, (plan.name, &*piece))?);
    cluster.inner.store.transact(shard, forget).await
}
