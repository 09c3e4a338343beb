//! How far a group has come in a shard.

use std::collections::BTreeMap;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use store::{Range, Read as _, Shard, Store};

use crate::tables::{APPLIED, AppliedRow};
use crate::{Error, Position, Result};

/// More partitions than a topic can have.
const MAX_PARTITIONS: usize = 2_000;
const SHARDS_AT_ONCE: usize = 16;

/// Sets `applied` back to the positions, in every shard where it is beyond them.
pub(crate) async fn forget(
    store: &Store,
    group: &str,
    incarnation: &str,
    positions: &[Position],
) -> Result<()> {
    let all: Vec<_> = Shard::all().collect();
    let range = Range::prefix((group, incarnation), MAX_PARTITIONS)?;
    let mut beyond: BTreeMap<Shard, Vec<Position>> = BTreeMap::new();
    for (shard, (_, _, partition), row) in store.scan_shards(&APPLIED, &all, range).await? {
        let to =
            positions.iter().find(|position| position.partition == partition && position.next < row.next);
        if let Some(to) = to {
            beyond.entry(shard).or_default().push(*to);
        }
    }
    let steps = beyond.into_iter().map(|(shard, positions)| async move {
        store
            .transact(shard, async |tx| {
                for Position { partition, next } in positions {
                    let key = (group, incarnation, partition);
                    if let Some(row) = tx.get(&APPLIED, key).await?.filter(|row| row.next > next) {
                        tx.put(&APPLIED, key, &AppliedRow { next, ..row })?;
                    }
                }
                Ok::<_, Error>(())
            })
            .await
    });
    stream::iter(steps).buffer_unordered(SHARDS_AT_ONCE).try_collect().await
}
