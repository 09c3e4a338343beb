//! Clears away what has expired. Nothing expired is ever served, so this only gives the space back, in small steps.

use std::time::Duration;

use async_trait::async_trait;
use cluster::work::{Done, Due, Piece, Plan, Work};
use kit::Timestamp;
use store::{Range, Read as _, Shard};
use tokio::time::Instant;

use crate::error::{Error, Result};
use crate::metrics;
use crate::put::replace;
use crate::snippets::{ROLE, Snippets};
use crate::tables::{DOCUMENTS, EXPIRIES};

/// Nobody wakes it: there is no hurry.
const CHANNEL: &str = "snippets_expiries";
/// What expires within this time goes together.
const GATHER: Duration = Duration::from_secs(30);
/// Documents removed in one transaction.
const BATCH: usize = 100;
/// The shortest pause after a transaction of a sweep. It is as long as the transaction took, so that a sweep takes at most
/// half of one processor from readers and writers, however slow that is.
const BREATH: Duration = Duration::from_millis(2);

/// Shards with documents that have expired.
pub(crate) struct Expired(pub(crate) Snippets);

#[async_trait]
impl Work for Expired {
    type Key = ();
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("snippets sweep", ROLE, CHANNEL, 1)
    }

    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<()>> {
        let mut due = Due::default();
        for (shard, (at, ..), ()) in self.0.store().scan_shards(&EXPIRIES, shards, Range::all(1)).await? {
            if at <= now {
                due.pieces.push(Piece { shard, owner: String::new(), key: (), long: false });
            } else {
                due.later.push((shard, at.plus(GATHER)));
            }
        }
        Ok(due)
    }

    async fn run(&self, shard: Shard, (): &()) -> Result<Done> {
        shard_sweep(&self.0, shard).await?;
        Ok(Done::Finished)
    }
}

/// Removes everything of a shard that has expired by now; says how much.
pub(crate) async fn shard_sweep(snippets: &Snippets, shard: Shard) -> Result<usize> {
    let now = snippets.clock().now();
    // What lies before the cursor is tombstones.
    let (mut swept, mut cursor) = (0, Timestamp(i64::MIN));
    loop {
        let began = Instant::now();
        let removed = sweep(snippets, shard, &mut cursor, now).await?;
        swept += removed;
        if removed < BATCH {
            break;
        }
        tokio::time::sleep(began.elapsed().max(BREATH)).await;
    }
    if swept > 0 {
        metrics::swept(swept);
        tracing::debug!(swept, "expired snippets were swept");
    }
    Ok(swept)
}

async fn sweep(snippets: &Snippets, shard: Shard, cursor: &mut Timestamp, now: Timestamp) -> Result<usize> {
    let range = Range::all(BATCH).from((*cursor,))?.up_to((now,))?;
    let (removed, last) = snippets
        .store()
        .transact(shard, async |tx| {
            let due = tx.scan(&EXPIRIES, range).await?;
            let keys: Vec<_> = due
                .iter()
                .map(|((_, service, prefix, key, language), ())| {
                    (service.as_str(), *prefix, key.as_str(), language.as_str())
                })
                .collect();
            let rows = tx.get_many(&DOCUMENTS, &keys).await?;
            for (((expiry, ()), key), row) in due.iter().zip(&keys).zip(rows) {
                tx.delete(&EXPIRIES, expiry)?;
                // A row that was written anew has an end of its own.
                if let Some(row) = row.filter(|row| row.expires_at == Some(expiry.0.0)) {
                    replace(tx, *key, Some(&row), None)?;
                }
            }
            Ok::<_, crate::Error>((due.len(), due.last().map(|((at, ..), ())| *at)))
        })
        .await?;
    if let Some(last) = last {
        *cursor = last;
    }
    Ok(removed)
}
