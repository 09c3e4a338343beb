//! Forgets the rows of what went long ago: a walk over a shard's feed rows, a bounded part at a time, once a day.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cluster::Cluster;
use kit::Timestamp;
use store::{Encode as _, KeyBytes, Range, Read as _, Shard, Tx};

use super::sweep::ROLE;
use crate::tables::{FEED, WALKS};
use crate::{Offers, Result};

/// The walk's name.
pub const WALK: &str = "dead_feed_rows";

const STEP: usize = 1_000;
/// Steps of one round, over all shards.
const STEPS_PER_ROUND: usize = 64;
const EVERY: Duration = Duration::from_secs(86_400);

/// Where a walk stands: not before this moment, behind this key.
#[derive(Debug, Default, PartialEq, Eq)]
struct Place {
    not_before: i64,
    behind: Vec<u8>,
}

impl Place {
    fn encode(&self) -> Vec<u8> {
        [self.not_before.to_be_bytes().as_slice(), &self.behind].concat()
    }

    /// A place that cannot be read is the beginning.
    fn decode(bytes: &[u8]) -> Self {
        match bytes.split_first_chunk::<8>() {
            Some((moment, behind)) => {
                Self { not_before: i64::from_be_bytes(*moment), behind: behind.to_vec() }
            }
            None => Self::default(),
        }
    }
}

/// Goes on with the walks that are due.
pub(super) async fn round(offers: &Offers, cluster: Option<&Cluster>, shards: &[Shard]) -> Result<()> {
    let filled = offers.store.scan_shards(&FEED, shards, Range::all(1)).await?;
    let filled: BTreeSet<Shard> = filled.into_iter().map(|(shard, ..)| shard).collect();
    let places = offers.store.scan_shards(&WALKS, shards, Range::prefix((WALK,), 1)?).await?;
    let places: BTreeMap<Shard, Place> =
        places.into_iter().map(|(shard, _, place)| (shard, Place::decode(&place))).collect();
    let now = offers.clock.now();
    let is_due = |shard: &Shard| places.get(shard).is_none_or(|place| place.not_before <= now.0);
    let mut steps = STEPS_PER_ROUND;
    for shard in filled.into_iter().filter(is_due) {
        while steps > 0 {
            steps -= 1;
            if !offers.store.transact(shard, async |tx| step(tx, offers, cluster, now).await).await? {
                break;
            }
        }
    }
    Ok(())
}

/// One part of the walk; `false`: it came to the end of the shard.
async fn step(tx: &mut Tx, offers: &Offers, cluster: Option<&Cluster>, now: Timestamp) -> Result<bool> {
    if let Some(cluster) = cluster {
        cluster.check(tx, ROLE).await?;
    }
    let place = tx.get(&WALKS, (WALK,)).await?.map(|bytes| Place::decode(&bytes)).unwrap_or_default();
    let mut range = Range::all(STEP);
    if !place.behind.is_empty() {
        range = range.beyond(KeyBytes(place.behind));
    }
    let rows = tx.scan(&FEED, range).await?;
    let last = rows.last().filter(|_| rows.len() == STEP).map(|(key, _)| key.encode()).transpose()?;
    let before = now.minus(offers.settings.revive_within).0;
    for (key, _) in rows.iter().filter(|(_, row)| row.dead_at != 0 && row.dead_at <= before) {
        tx.delete(&FEED, (&*key.0, &*key.1, &*key.2))?;
    }
    let goes_on = last.is_some();
    let next = match last {
        Some(KeyBytes(behind)) => Place { not_before: 0, behind },
        None => Place { not_before: now.plus(EVERY).0, behind: Vec::new() },
    };
    tx.put(&WALKS, (WALK,), &next.encode())?;
    Ok(goes_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_back_and_nonsense_is_the_beginning() {
        let place = Place { not_before: 7, behind: vec![1, 0, 2] };
        assert_eq!(Place::decode(&place.encode()), place);
        assert_eq!(Place::decode(&[1, 2]), Place::default());
    }
}
