//! How far a walk is, and how long it will take.
//!
//! Ids are random within a shard, so how far the walk's last id lies in the shard's range tells which share of the shard's
//! offers it has passed, and with it how many there are in all, without counting them.

use std::collections::BTreeSet;
use std::time::Duration;

use kit::Timestamp;
use model::offer_id::RANDOM_BITS;
use offers::stages::tables::STAGE_WALKS;
use store::{Range, Shard};
use wire::stages::{Walk, WalkRow};

use crate::directory::Entry;
use crate::{Result, Stages};

/// What a walk has done so far, over all shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub looked: i64,
    pub asked: i64,
    /// Shards with offers where it is not at the end.
    pub shards_left: usize,
    /// About how many offers there are to look at, with those that were; `None`: too early to tell.
    pub offers: Option<i64>,
}

impl Stages {
    /// How far the walk of a stage is.
    pub async fn progress(&self, entry: &Entry) -> Result<Option<Progress>> {
        let Some(walk) = entry.row.walk else { return Ok(None) };
        let all: Vec<_> = Shard::all().collect();
        let range = Range::prefix((entry.id.as_str(),), 1)?;
        let rows = self.offers.store.scan_shards(&STAGE_WALKS, &all, range).await?;
        let rows = rows.into_iter().filter(|(_, _, row)| row.generation == walk.generation);
        let rows: Vec<_> = rows.map(|(shard, _, row)| (shard, row)).collect();
        let unfinished = match walk.done_at {
            0 => self.unfinished(&entry.id, walk.generation, &all).await?,
            _ => Vec::new(),
        };
        Ok(Some(Progress {
            looked: rows.iter().map(|(_, row)| row.looked).sum(),
            asked: rows.iter().map(|(_, row)| row.asked).sum(),
            shards_left: unfinished.len(),
            offers: estimate(&rows, &unfinished),
        }))
    }
}

impl Progress {
    /// How long the walk still takes at the pace that it has had; `None`: it rests, is over, or it is too early to tell.
    pub fn time_left(&self, walk: &Walk, now: Timestamp) -> Option<Duration> {
        if walk.done_at != 0 || walk.paused {
            return None;
        }
        let left = (self.offers? - self.looked).max(0) as f64;
        let began = Timestamp(walk.ordered_at.max(walk.not_before) + walk.rested);
        let took = now.since(began).as_secs_f64();
        let pace = if took >= 1.0 { self.looked as f64 / took } else { f64::from(walk.per_second) };
        (pace > 0.0).then(|| Duration::from_secs_f64((left / pace).min(1e9)))
    }
}

/// About how many offers the walk looks at in all.
fn estimate(rows: &[(Shard, WalkRow)], unfinished: &[Shard]) -> Option<i64> {
    let mut sum = 0.0;
    for (_, row) in rows {
        let passed = row.last_offer & ((1 << RANDOM_BITS) - 1);
        let share = if row.done_at == 0 { (passed + 1) as f64 / (1_i64 << RANDOM_BITS) as f64 } else { 1.0 };
        sum += row.looked as f64 / share;
    }
    let begun: BTreeSet<_> = rows.iter().map(|(shard, _)| *shard).collect();
    let ahead = unfinished.iter().filter(|shard| !begun.contains(shard)).count();
    match rows.len() {
        0 if ahead > 0 => None,
        0 => Some(0),
        count => Some((sum * (count + ahead) as f64 / count as f64).round() as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(share: f64, looked: i64) -> WalkRow {
        let last_offer = (share * (1_i64 << RANDOM_BITS) as f64) as i64 - 1;
        WalkRow { generation: 1, last_offer, looked, asked: looked, done_at: 0 }
    }

    #[test]
    fn the_share_of_ids_passed_tells_how_many_offers_there_are() {
        let shard = |number: u64| Shard::wrapping(number);
        assert_eq!(estimate(&[], &[]), Some(0));
        assert_eq!(estimate(&[], &[shard(1)]), None);
        let half = [(shard(1), row(0.5, 500))];
        assert_eq!(estimate(&half, &[shard(1)]), Some(1_000));
        assert_eq!(estimate(&half, &[shard(1), shard(2), shard(3)]), Some(3_000));
        let ended = WalkRow { done_at: 9, ..row(0.9, 700) };
        assert_eq!(estimate(&[half[0], (shard(2), ended)], &[shard(1)]), Some(1_700));
    }

    #[test]
    fn the_time_left_follows_the_pace_without_rests() {
        let second = 1_000_000;
        let walk = Walk { ordered_at: 0, not_before: 10 * second, per_second: 100, ..Walk::default() };
        let progress = Progress { looked: 500, asked: 500, shards_left: 1, offers: Some(1_500) };
        let left = |walk: &Walk, now: i64| progress.time_left(walk, Timestamp(now * second));
        assert_eq!(left(&walk, 20), Some(Duration::from_secs(20)));
        assert_eq!(left(&Walk { rested: 5 * second, ..walk }, 20), Some(Duration::from_secs(10)));
        assert_eq!(
            left(&walk, 10),
            Some(Duration::from_secs(10)),
            "at first the pace is the one that was ordered"
        );
        assert_eq!(left(&Walk { paused: true, ..walk }, 20), None);
        assert_eq!(left(&Walk { done_at: 15 * second, ..walk }, 20), None);
        let early = Progress { offers: None, ..progress };
        assert_eq!(early.time_left(&walk, Timestamp(20 * second)), None);
    }
}
