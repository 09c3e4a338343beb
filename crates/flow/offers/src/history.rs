//! The history of offers is forgotten when it is old, by a walk that goes on where it was.

use cluster::Cluster;
use store::{Range, Read as _, Shard, Tx};

use crate::tables::{EVENTS, WALKS};
use crate::{Offers, Result, due};

const WALK: &str = "events";
const ROWS_AT_ONCE: usize = 1_000;
/// Pages of a shard at a time; once an hour, that is a quarter of a million events a day.
const PAGES: usize = 10;

/// Walks on over a shard's events and removes those older than `events_kept`. Says how many.
pub async fn forget(offers: &Offers, cluster: Option<&Cluster>, shard: Shard) -> Result<usize> {
    let mut forgotten = 0;
    for _ in 0..PAGES {
        let page = async |tx: &mut Tx| page(tx, offers, cluster).await;
        let (removed, ended) = offers.store.transact(shard, page).await?;
        forgotten += removed;
        if ended {
            break;
        }
    }
    Ok(forgotten)
}

async fn page(tx: &mut Tx, offers: &Offers, cluster: Option<&Cluster>) -> Result<(usize, bool)> {
    due::check(tx, cluster).await?;
    let oldest = offers.clock.now().minus(offers.settings.events_kept).0;
    let stored = tx.get(&WALKS, (WALK,)).await?;
    let mut range = Range::all(ROWS_AT_ONCE);
    if let Some(place) = stored.as_deref().and_then(place) {
        range = range.after(place)?;
    }
    let rows = tx.scan(&EVENTS, range).await?;
    let old: Vec<_> = rows.iter().filter(|(_, row)| row.at < oldest).map(|(key, _)| *key).collect();
    for key in &old {
        tx.delete(&EVENTS, *key)?;
    }
    let ended = rows.len() < ROWS_AT_ONCE;
    match rows.last().filter(|_| !ended) {
        Some(((id, version), _)) => {
            tx.put(&WALKS, (WALK,), &[id.to_be_bytes(), version.to_be_bytes()].concat())?;
        }
        None if stored.is_some() => tx.delete(&WALKS, (WALK,))?,
        None => {}
    }
    Ok((old.len(), ended))
}

fn place(bytes: &[u8]) -> Option<(i64, i64)> {
    let (id, version) = bytes.split_at_checked(8)?;
    Some((i64::from_be_bytes(id.try_into().ok()?), i64::from_be_bytes(version.try_into().ok()?)))
}
