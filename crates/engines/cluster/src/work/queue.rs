//! Pieces that wait for a slot, served in turn: shard by shard, and in a shard owner by owner. Pure.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

use store::Shard;

use super::Piece;

/// Pieces of one shard by owner.
struct Line<K> {
    owners: BTreeMap<String, VecDeque<Piece<K>>>,
    /// The owner served last.
    last: String,
}

impl<K> Default for Line<K> {
    fn default() -> Self {
        Self { owners: BTreeMap::new(), last: String::new() }
    }
}

pub(super) struct Queue<K> {
    at_once: usize,
    lines: BTreeMap<Shard, Line<K>>,
    /// The shard served last.
    last: Option<Shard>,
    busy: BTreeSet<(Shard, K)>,
    /// How many pieces of an owner run.
    running: BTreeMap<(Shard, String), usize>,
    long_running: usize,
}

impl<K: Ord + Clone> Queue<K> {
    pub(super) fn new(at_once: usize) -> Self {
        Self {
            at_once: at_once.max(1),
            lines: BTreeMap::new(),
            last: None,
            busy: BTreeSet::new(),
            running: BTreeMap::new(),
            long_running: 0,
        }
    }

    /// Puts what a look at these shards found in the place of what was known of them.
    pub(super) fn replace(&mut self, shards: &[Shard], pieces: Vec<Piece<K>>) {
        for shard in shards {
            if let Some(line) = self.lines.get_mut(shard) {
                line.owners.clear();
            }
        }
        for piece in pieces {
            if !self.busy.contains(&(piece.shard, piece.key.clone())) {
                self.push(piece);
            }
        }
        self.lines.retain(|_, line| !line.owners.is_empty());
    }

    fn push(&mut self, piece: Piece<K>) {
        let line = self.lines.entry(piece.shard).or_default();
        line.owners.entry(piece.owner.clone()).or_default().push_back(piece);
    }

    /// The next piece that may run; it counts as running until [`Self::ended`].
    pub(super) fn take(&mut self) -> Option<Piece<K>> {
        if self.busy.len() >= self.at_once {
            return None;
        }
        let cap = (self.at_once / 4).max(1);
        // An owner gets more than its part only when nobody with less than theirs waits.
        let (shard, owner) = self.next(cap).or_else(|| self.next(usize::MAX))?;
        let line = self.lines.get_mut(&shard)?;
        let long_may_run = self.at_once == 1 || self.long_running + 1 < self.at_once;
        let pieces = line.owners.get_mut(&owner)?;
        let place = pieces.iter().position(|piece| !piece.long || long_may_run)?;
        let piece = pieces.remove(place)?;
        if pieces.is_empty() {
            line.owners.remove(&owner);
        }
        line.last.clone_from(&owner);
        if line.owners.is_empty() {
            self.lines.remove(&shard);
        }
        self.last = Some(shard);
        self.busy.insert((shard, piece.key.clone()));
        *self.running.entry((shard, owner)).or_default() += 1;
        self.long_running += usize::from(piece.long);
        Some(piece)
    }

    /// The next shard and owner in turn of whom fewer than `cap` pieces run.
    fn next(&self, cap: usize) -> Option<(Shard, String)> {
        let long_may_run = self.at_once == 1 || self.long_running + 1 < self.at_once;
        let may_run = |shard: Shard, owner: &String, pieces: &VecDeque<Piece<K>>| {
            pieces.iter().any(|piece| !piece.long || long_may_run)
                && (cap == usize::MAX
                    || self.running.get(&(shard, owner.clone())).is_none_or(|count| *count < cap))
        };
        let behind = self.last.map_or(Unbounded, Excluded);
        let lines = self.lines.range((behind, Unbounded)).chain(&self.lines);
        for (shard, line) in lines {
            let owners =
                line.owners.range::<String, _>((Excluded(&line.last), Unbounded)).chain(&line.owners);
            for (owner, pieces) in owners {
                if may_run(*shard, owner, pieces) {
                    return Some((*shard, owner.clone()));
                }
            }
        }
        None
    }

    /// The piece does not run any more.
    pub(super) fn ended(&mut self, piece: &Piece<K>) {
        self.busy.remove(&(piece.shard, piece.key.clone()));
        let owner = (piece.shard, piece.owner.clone());
        if let Some(count) = self.running.get_mut(&owner) {
            *count -= 1;
            if *count == 0 {
                self.running.remove(&owner);
            }
        }
        self.long_running -= usize::from(piece.long);
    }

    /// The piece has more to do: it waits behind the others of its owner.
    pub(super) fn again(&mut self, piece: Piece<K>) {
        self.push(piece);
    }

    /// What runs.
    pub(super) fn busy(&self) -> impl Iterator<Item = &(Shard, K)> {
        self.busy.iter()
    }

    /// Whether nothing of the shard waits.
    pub(super) fn is_drained(&self, shard: Shard) -> bool {
        !self.lines.contains_key(&shard)
    }

    pub(super) fn len(&self) -> usize {
        self.lines.values().flat_map(|line| line.owners.values()).map(VecDeque::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(shard: u16, owner: &str, key: u32, long: bool) -> Piece<u32> {
        Piece { shard: Shard::wrapping(u64::from(shard)), owner: owner.to_owned(), key, long }
    }

    fn of(owners: &[(u16, &str, u32)]) -> Vec<Piece<u32>> {
        let mut key = 0;
        let mut pieces = Vec::new();
        for (shard, owner, count) in owners {
            for _ in 0..*count {
                key += 1;
                pieces.push(piece(*shard, owner, key, false));
            }
        }
        pieces
    }

    fn fill(queue: &mut Queue<u32>, pieces: Vec<Piece<u32>>) {
        let shards: Vec<_> = Shard::all().collect();
        queue.replace(&shards, pieces);
    }

    fn owners(queue: &mut Queue<u32>) -> String {
        std::iter::from_fn(|| queue.take()).map(|piece| piece.owner).collect()
    }

    #[test]
    fn shards_and_their_owners_are_served_in_turn() {
        let mut queue = Queue::new(100);
        fill(&mut queue, of(&[(1, "a", 3), (1, "b", 2), (2, "c", 2), (3, "d", 1)]));
        assert_eq!(owners(&mut queue), "acdbcaba");
    }

    #[test]
    fn an_owner_has_a_quarter_of_the_slots_while_another_waits() {
        let mut queue = Queue::new(8);
        fill(&mut queue, of(&[(1, "a", 100), (1, "b", 1), (1, "c", 3)]));
        assert_eq!(owners(&mut queue), "abcacaca", "two of each first, then those who have more, in turn");
        assert!(queue.take().is_none(), "all slots are taken");
    }

    #[test]
    fn a_slot_that_comes_free_goes_to_those_with_less() {
        let mut queue = Queue::new(4);
        fill(&mut queue, of(&[(1, "a", 100)]));
        let running: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!(running.len(), 4, "nobody else waits");
        let mut pieces = of(&[(1, "a", 50)]);
        pieces.push(piece(1, "b", 1_000, false));
        fill(&mut queue, pieces);
        queue.ended(&running[0]);
        assert_eq!(queue.take().unwrap().owner, "b");
    }

    #[test]
    fn long_pieces_leave_a_slot() {
        let mut queue = Queue::new(3);
        fill(&mut queue, vec![piece(1, "a", 1, true), piece(2, "b", 2, true), piece(3, "c", 3, true)]);
        assert_eq!(owners(&mut queue), "ab");
        let shards = [Shard::wrapping(4)];
        queue.replace(&shards, vec![piece(4, "d", 4, false)]);
        assert_eq!(owners(&mut queue), "d");
    }

    #[test]
    fn an_owners_long_piece_does_not_stand_before_their_short_one() {
        let mut queue = Queue::new(2);
        fill(&mut queue, vec![piece(1, "a", 1, true), piece(1, "a", 2, true), piece(1, "a", 3, false)]);
        assert_eq!([queue.take().unwrap().key, queue.take().unwrap().key], [1, 3]);
    }

    #[test]
    fn what_runs_is_not_taken_twice_and_a_look_replaces_what_was_known() {
        let mut queue = Queue::new(10);
        fill(&mut queue, of(&[(1, "a", 2)]));
        let first = queue.take().unwrap();
        fill(&mut queue, of(&[(1, "a", 2)]));
        let second = queue.take().unwrap();
        assert!(first.key != second.key && queue.take().is_none() && queue.is_drained(first.shard));
        queue.ended(&first);
        queue.again(first.clone());
        assert_eq!(queue.take(), Some(first));
    }
}
