//! Clears away what has expired. Nothing expired is ever served, so this only gives the space back, in small steps.

use std::time::Duration;

use kit::{Shutdown, Timestamp};
use store::{Range, Read as _, Shard};
use tokio::time::Instant;

use crate::error::Result;
use crate::metrics;
use crate::put::replace;
use crate::snippets::Snippets;
use crate::tables::{DOCUMENTS, EXPIRIES};

/// How often expired documents are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// Documents removed in one transaction.
const BATCH: usize = 100;
/// The shortest pause after a transaction of a sweep. It is as long as the transaction took, so that a sweep takes at most
/// half of one processor from readers and writers, however slow that is.
const BREATH: Duration = Duration::from_millis(2);
/// Rows behind a shard's cursor can come only from a clock that was wrong; they are found after this many rounds.
const ROUNDS_FROM_START: u64 = 120;

/// Up to where each shard has been swept: what lies before is a desert of deleted rows.
pub(crate) struct Cursors(Vec<Timestamp>);

impl Default for Cursors {
    fn default() -> Self {
        Self(vec![Timestamp(i64::MIN); usize::from(store::SHARDS)])
    }
}

/// Sweeps until the shutdown is called.
pub(crate) async fn run(snippets: Snippets, shutdown: Shutdown) {
    let mut cursors = Cursors::default();
    let mut rounds = 0_u64;
    loop {
        if let Err(error) = round(&snippets, &mut cursors, &shutdown).await {
            tracing::warn!(%error, "expired snippets could not be swept");
        }
        rounds += 1;
        if rounds.is_multiple_of(ROUNDS_FROM_START) {
            cursors = Cursors::default();
        }
        if !shutdown.sleep(LOOK_EVERY).await {
            return;
        }
    }
}

/// Removes everything that has expired by now; says how much.
pub(crate) async fn round(snippets: &Snippets, cursors: &mut Cursors, shutdown: &Shutdown) -> Result<usize> {
    let now = snippets.clock().now();
    let shards: Vec<Shard> = snippets.held();
    // The first row of each shard tells whether there is anything to do.
    let first = snippets.store().scan_shards(&EXPIRIES, &shards, Range::all(1).up_to((now,))?);
    let due: Vec<Shard> = first.await?.into_iter().map(|(shard, ..)| shard).collect();
    let mut swept = 0;
    for shard in due {
        loop {
            let began = Instant::now();
            let removed = sweep(snippets, shard, &mut cursors.0[shard.index()], now).await?;
            swept += removed;
            if !shutdown.sleep(began.elapsed().max(BREATH)).await {
                return Ok(swept);
            }
            if removed < BATCH {
                break;
            }
        }
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
