//! What the holder of a shard's work token keeps in memory. Losing it costs a little fairness or a repeated call, never
//! a change.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kit::Timestamp;
use offers::stages::Lane;
use store::Shard;

use crate::turns::Turns;

/// Runs of one stage on one offer within [`LOOP_WINDOW`] and without an outside change, over which they are a loop.
pub const MAX_LOOP_RUNS: u32 = 20;
pub const LOOP_WINDOW: Duration = Duration::from_secs(600);
/// Pairs whose runs are counted, in each of two generations.
const MAX_COUNTED: usize = 200_000;
/// Every such batch serves a lower lane first.
const LOWER_EVERY: u32 = 16;

/// Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    shards: HashMap<Shard, ShardMemory>,
    runs: Runs,
    /// By stage: when the next page of its walk may begin.
    walks: HashMap<String, Timestamp>,
}

/// Runs of pairs, in two generations: when one is full or as old as the window, it takes the place of the one before.
#[derive(Default)]
struct Runs {
    young: Generation,
    old: Generation,
    /// When the young one began.
    since: Timestamp,
    count: usize,
}

/// By stage and offer: since when runs are counted, and how many there were.
type Generation = HashMap<String, HashMap<i64, (Timestamp, u32)>>;

impl Runs {
    fn forget(&mut self, stage: &str, offer: i64) {
        for generation in [&mut self.young, &mut self.old] {
            if let Some(runs) = generation.get_mut(stage) {
                runs.remove(&offer);
            }
        }
    }

    /// Counts a run; gives how many there were within the window.
    fn count(&mut self, stage: &str, offer: i64, now: Timestamp) -> u32 {
        if self.count >= MAX_COUNTED || now.since(self.since) >= LOOP_WINDOW {
            self.old = std::mem::take(&mut self.young);
            (self.since, self.count) = (now, 0);
        }
        if !self.young.contains_key(stage) {
            self.young.insert(stage.to_owned(), HashMap::new());
        }
        let before = self.old.get_mut(stage).and_then(|runs| runs.remove(&offer));
        let Some(runs) = self.young.get_mut(stage) else { return 0 };
        let (since, runs) = runs.entry(offer).or_insert_with(|| {
            self.count += 1;
            before.unwrap_or((now, 0))
        });
        if now.since(*since) >= LOOP_WINDOW {
            (*since, *runs) = (now, 0);
        }
        *runs += 1;
        *runs
    }
}

#[derive(Default)]
struct ShardMemory {
    /// Offers that some stage works on.
    busy: HashSet<i64>,
    turns: Turns,
    /// The seller that was served last, by lane.
    served: HashMap<Lane, String>,
    /// Batches so far, by piece of work.
    batches: HashMap<String, u32>,
    /// Batches of the lower lanes so far.
    lower: u32,
}

/// Offers that are worked on until this is dropped.
pub(crate) struct Busy {
    memory: Memory,
    shard: Shard,
    ids: Vec<i64>,
}

impl Memory {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks those that nobody works on, at most so many.
    pub(crate) fn take(&self, shard: Shard, ids: impl IntoIterator<Item = i64>, most: usize) -> Busy {
        let mut inner = self.inner();
        let busy = &mut inner.shards.entry(shard).or_default().busy;
        let mut taken = Vec::new();
        for id in ids {
            if taken.len() < most && busy.insert(id) {
                taken.push(id);
            }
        }
        Busy { memory: self.clone(), shard, ids: taken }
    }

    pub(crate) fn busy_count(&self, shard: Shard) -> usize {
        self.inner().shards.get(&shard).map_or(0, |memory| memory.busy.len())
    }

    pub(crate) fn turn(&self, shard: Shard, stage: &str, seller: &str, head: Option<i64>) -> i64 {
        self.inner().shards.entry(shard).or_default().turns.next(stage, seller, head)
    }

    pub(crate) fn served(&self, shard: Shard, lane: Lane) -> Option<String> {
        self.inner().shards.get(&shard)?.served.get(&lane).cloned()
    }

    pub(crate) fn serve(&self, shard: Shard, lane: Lane, seller: &str) {
        self.inner().shards.entry(shard).or_default().served.insert(lane, seller.to_owned());
    }

    /// Whether the next batch of this piece of work is one that serves a lower lane first.
    pub(crate) fn lower_first(&self, shard: Shard, piece: &str) -> bool {
        let mut inner = self.inner();
        let memory = inner.shards.entry(shard).or_default();
        let batches = memory.batches.entry(piece.to_owned()).or_default();
        *batches = batches.wrapping_add(1);
        batches.is_multiple_of(LOWER_EVERY)
    }

    /// The order in which the lower lanes are served now: the first that has work is, and each is the first at times.
    pub(crate) fn lower_lanes(&self, shard: Shard) -> [Lane; 3] {
        let mut inner = self.inner();
        let lower = &mut inner.shards.entry(shard).or_default().lower;
        *lower = lower.wrapping_add(1);
        match *lower % 4 {
            0 => [Lane::Low, Lane::Timers, Lane::Bulk],
            2 => [Lane::Bulk, Lane::Timers, Lane::Low],
            _ => [Lane::Timers, Lane::Bulk, Lane::Low],
        }
    }

    pub(crate) fn walk_next(&self, stage: &str) -> Timestamp {
        self.inner().walks.get(stage).copied().unwrap_or_default()
    }

    /// A page of the stage's walk is done: the next one waits.
    pub(crate) fn pace_walk(&self, stage: &str, pause: Duration, now: Timestamp) {
        let mut inner = self.inner();
        let next = inner.walks.entry(stage.to_owned()).or_default();
        *next = (*next).max(now).plus(pause);
    }

    /// An outside change: runs that follow are no loop yet.
    pub(crate) fn changed_outside(&self, stage: &str, offer: i64) {
        self.inner().runs.forget(stage, offer);
    }

    /// Counts a run, and says whether it is one too many.
    pub(crate) fn is_loop(&self, stage: &str, offer: i64, now: Timestamp) -> bool {
        self.inner().runs.count(stage, offer, now) > MAX_LOOP_RUNS
    }
}

impl Busy {
    pub(crate) fn ids(&self) -> &[i64] {
        &self.ids
    }

    pub(crate) fn has(&self, id: i64) -> bool {
        self.ids.contains(&id)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut inner = self.memory.inner();
        if let Some(memory) = inner.shards.get_mut(&self.shard) {
            for id in &self.ids {
                memory.busy.remove(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_is_worked_on_by_one_at_a_time() {
        let (memory, shard) = (Memory::default(), Shard::wrapping(1));
        let first = memory.take(shard, [1, 2, 3], 2);
        assert_eq!(first.ids(), [1, 2]);
        assert_eq!(memory.busy_count(shard), 2);
        drop(first);
        assert_eq!(memory.busy_count(shard), 0);
        let first = memory.take(shard, [1], 9);
        assert!(memory.take(shard, [1], 9).ids().is_empty());
        assert!(first.has(1) && !first.has(2));
    }

    /// A loop is noticed among any number of others that run, and what is kept of them is bounded.
    #[test]
    fn a_loop_is_noticed_beside_a_million_runs() {
        let memory = Memory::default();
        let now = Timestamp(1_000_000_000);
        let mut noticed = false;
        for offer in 0..1_000_000 {
            assert!(!memory.is_loop("a", offer, now));
            if offer % 10_000 == 0 {
                noticed |= memory.is_loop("b", 7, now);
            }
        }
        assert!(noticed);
        let inner = memory.inner();
        let kept = |generation: &Generation| generation.values().map(HashMap::len).sum::<usize>();
        assert!(kept(&inner.runs.young) + kept(&inner.runs.old) <= 2 * MAX_COUNTED);
    }

    #[test]
    fn every_lower_lane_comes_first_at_times() {
        let (memory, shard) = (Memory::default(), Shard::wrapping(1));
        let first: HashSet<_> = (0..4).map(|_| memory.lower_lanes(shard)[0]).collect();
        assert_eq!(first, HashSet::from([Lane::Timers, Lane::Bulk, Lane::Low]));
    }

    #[test]
    fn many_runs_without_an_outside_change_are_a_loop() {
        let memory = Memory::default();
        let at = |seconds: u64| Timestamp(0).plus(Duration::from_secs(seconds));
        for run in 0..u64::from(MAX_LOOP_RUNS) {
            assert!(!memory.is_loop("a", 1, at(run)));
        }
        assert!(memory.is_loop("a", 1, at(30)) && !memory.is_loop("b", 1, at(30)));
        memory.changed_outside("a", 1);
        assert!(!memory.is_loop("a", 1, at(31)));
        for run in 0..100 {
            assert!(!memory.is_loop("slow", 1, at(run * 60)), "a run a minute is no loop");
        }
    }
}
