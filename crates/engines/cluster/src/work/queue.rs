//! Pieces that wait for a slot, served in turn: shard by shard, and in a shard owner by owner. Pure.
//!
//! While another owner waits, an owner has at most a quarter of the slots, over all shards. Long pieces leave one slot to
//! short ones, and those of one owner never have more than half of them, waits another or not: a slot that is taken for
//! long cannot be given to whoever comes next.

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
    /// Of those that run, the ones that a look found due meanwhile.
    due_again: BTreeSet<(Shard, K)>,
    /// Pieces by owner: those that wait, and those that run.
    waiting: BTreeMap<String, usize>,
    running: BTreeMap<String, Running>,
    long_running: usize,
}

/// Pieces of an owner that run.
#[derive(Clone, Copy, Default)]
struct Running {
    all: usize,
    long: usize,
}

impl<K: Ord + Clone> Queue<K> {
    pub(super) fn new(at_once: usize) -> Self {
        Self {
            at_once: at_once.max(1),
            lines: BTreeMap::new(),
            last: None,
            busy: BTreeSet::new(),
            due_again: BTreeSet::new(),
            waiting: BTreeMap::new(),
            running: BTreeMap::new(),
            long_running: 0,
        }
    }

    /// Puts what a look at these shards found in the place of what was known of them.
    pub(super) fn replace(&mut self, shards: &[Shard], pieces: Vec<Piece<K>>) {
        for shard in shards {
            if let Some(line) = self.lines.get_mut(shard) {
                for (owner, pieces) in std::mem::take(&mut line.owners) {
                    subtract(&mut self.waiting, &owner, pieces.len());
                }
            }
        }
        for piece in pieces {
            let place = (piece.shard, piece.key.clone());
            if self.busy.contains(&place) {
                self.due_again.insert(place);
            } else {
                self.push(piece);
            }
        }
        self.lines.retain(|_, line| !line.owners.is_empty());
    }

    fn push(&mut self, piece: Piece<K>) {
        *self.waiting.entry(piece.owner.clone()).or_default() += 1;
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
        let within = |owner: &String| self.running.get(owner).is_none_or(|running| running.all < cap);
        let capped = self.waiting.keys().any(within).then(|| self.next(within)).flatten();
        let (shard, owner) = capped.or_else(|| self.next(|_| true))?;
        let long_may_run = self.long_may_run(&owner);
        let line = self.lines.get_mut(&shard)?;
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
        subtract(&mut self.waiting, &owner, 1);
        let running = self.running.entry(owner).or_default();
        running.all += 1;
        running.long += usize::from(piece.long);
        self.long_running += usize::from(piece.long);
        Some(piece)
    }

    /// Whether a long piece of the owner may begin.
    fn long_may_run(&self, owner: &str) -> bool {
        let of_owner = self.running.get(owner).map_or(0, |running| running.long);
        self.at_once == 1 || (self.long_running + 1 < self.at_once && of_owner < self.at_once.div_ceil(2))
    }

    /// The next shard and owner in turn, of those who may.
    fn next(&self, may: impl Fn(&String) -> bool) -> Option<(Shard, String)> {
        let may_run = |owner: &String, pieces: &VecDeque<Piece<K>>| {
            may(owner) && (pieces.iter().any(|piece| !piece.long) || self.long_may_run(owner))
        };
        let behind = self.last.map_or(Unbounded, Excluded);
        let lines = self.lines.range((behind, Unbounded)).chain(&self.lines);
        for (shard, line) in lines {
            let owners =
                line.owners.range::<String, _>((Excluded(&line.last), Unbounded)).chain(&line.owners);
            for (owner, pieces) in owners {
                if may_run(owner, pieces) {
                    return Some((*shard, owner.clone()));
                }
            }
        }
        None
    }

    /// The piece does not run any more. Says whether it was found due while it ran: it may not have seen what is due.
    pub(super) fn ended(&mut self, piece: &Piece<K>) -> bool {
        let place = (piece.shard, piece.key.clone());
        self.busy.remove(&place);
        if let Some(running) = self.running.get_mut(&piece.owner) {
            running.all -= 1;
            running.long -= usize::from(piece.long);
            if running.all == 0 {
                self.running.remove(&piece.owner);
            }
        }
        self.long_running -= usize::from(piece.long);
        self.due_again.remove(&place)
    }

    /// Whether something of the shard runs.
    pub(super) fn runs_in(&self, shard: Shard) -> bool {
        self.busy.iter().any(|(of, _)| *of == shard)
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

fn subtract(counts: &mut BTreeMap<String, usize>, owner: &str, count: usize) {
    if let Some(left) = counts.get_mut(owner) {
        *left -= count;
        if *left == 0 {
            counts.remove(owner);
        }
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
    fn an_owner_has_its_part_over_all_shards() {
        let mut queue = Queue::new(8);
        let mut pieces = of(&[(1, "a", 2), (2, "a", 2), (3, "a", 2), (4, "a", 2), (5, "a", 2)]);
        pieces.push(piece(9, "b", 1_000, false));
        fill(&mut queue, pieces);
        let taken = owners(&mut queue);
        assert_eq!(&taken[..3], "aab", "a's pieces of other shards do not stand before b's");
    }

    #[test]
    fn long_pieces_of_one_owner_take_half_at_most() {
        let mut queue = Queue::new(8);
        let pieces = (0..20).map(|key| piece(key as u16, "slow", key, true)).collect();
        fill(&mut queue, pieces);
        assert_eq!(owners(&mut queue).len(), "slow".len() * 4, "nobody else waits yet");
    }

    #[test]
    fn what_is_due_again_while_it_runs_is_said_at_its_end() {
        let mut queue = Queue::new(2);
        fill(&mut queue, of(&[(1, "a", 1)]));
        let running = queue.take().unwrap();
        fill(&mut queue, of(&[(1, "a", 1)]));
        assert!(queue.take().is_none() && queue.ended(&running));
        fill(&mut queue, of(&[(1, "a", 1)]));
        let running = queue.take().unwrap();
        assert!(!queue.ended(&running));
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
