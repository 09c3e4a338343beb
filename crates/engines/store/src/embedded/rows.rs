//! Small rows in memory, as they are on disk: those that are read often cost no way through the tree.
//!
//! Commits have numbers. A reader notes the number of the last finished commit, and takes its snapshot after that; so the
//! snapshot has at least that commit. A commit puts its rows in here, under its own number, before it writes them. What is
//! known of a row since a commit that the reader knows to be finished is then what the reader's snapshot has, too: a later
//! write would have replaced it. What a reader found on disk it may leave here unless a later commit has come by since,
//! finished or not.

use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Buf as _, Bytes};
use byteview::ByteView;
use quick_cache::unsync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Weighter};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::disk::FullKey;

/// Each has a lock of its own.
const STRIPES: u64 = 64;
/// Rows of a stripe that share the number of their last write.
const SLOTS: u64 = 1_024;
/// A usual row, for what the cache sets aside.
const TYPICAL_BYTES: u64 = 512;
/// What a row costs besides its bytes, roughly.
const ROW_OVERHEAD: usize = 128;

/// What the memory gives at once.
const CACHE_LINE: usize = 64;
/// So much of a row is asked for before any is looked at: its head. The processor sees by itself how it goes on.
const TOUCHED_LINES: usize = 3;

pub(super) struct Rows {
    /// Seeded at random: nobody can make keys that meet.
    hasher: DefaultHashBuilder,
    stripes: Vec<Mutex<Stripe>>,
}

struct Stripe {
    /// The last commit that wrote to a slot, whether finished or not.
    written: Box<[u64]>,
    /// By the hash of the key; of two keys that meet after all, only one is known.
    known: Cache<u64, Known, Weight, FxBuildHasher>,
}

/// What is known of a row.
#[derive(Clone)]
struct Known {
    row: Row,
    since: u64,
}

/// A row in one piece, since each piece costs a reader a wait for the memory: its key, and then its value.
#[derive(Clone)]
pub(super) struct Row {
    bytes: ByteView,
    key_bytes: usize,
    /// `false`: there is no such row, or no longer.
    there: bool,
}

impl Row {
    pub(super) fn new(key: &[u8], value: Option<&[u8]>) -> Self {
        let bytes = ByteView::fused(key, value.unwrap_or_default());
        Self { bytes, key_bytes: key.len(), there: value.is_some() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    fn key(&self) -> &[u8] {
        &self.bytes[..self.key_bytes]
    }

    /// Asks for the first of its bytes, and uses none.
    fn touch(&self) -> u8 {
        self.bytes.iter().step_by(CACHE_LINE).take(TOUCHED_LINES).fold(0, |sum, byte| sum ^ byte)
    }

    /// The key in the memory of the row.
    pub(super) fn key_view(&self) -> ByteView {
        self.bytes.slice(..self.key_bytes)
    }

    /// The value in the memory of the row.
    pub(super) fn value_view(&self) -> Option<ByteView> {
        self.there.then(|| self.bytes.slice(self.key_bytes..))
    }

    fn value(self) -> Option<Bytes> {
        let key_bytes = self.key_bytes;
        self.there.then(|| {
            let mut value = Bytes::from_owner(self);
            value.advance(key_bytes);
            value
        })
    }
}

impl AsRef<[u8]> for Row {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[derive(Clone)]
struct Weight;

impl Weighter<u64, Known> for Weight {
    fn weight(&self, _: &u64, known: &Known) -> u64 {
        (known.row.bytes.len() + ROW_OVERHEAD) as u64
    }
}

impl Rows {
    pub(super) fn new(bytes: u64) -> Self {
        let each = bytes / STRIPES;
        let stripe = || {
            let written = vec![0; SLOTS as usize].into();
            let items = (each / TYPICAL_BYTES) as usize;
            let known = Cache::with(items, each, Weight, FxBuildHasher, DefaultLifecycle::default());
            Mutex::new(Stripe { written, known })
        };
        let stripes = std::iter::repeat_with(stripe).take(STRIPES as usize).collect();
        Self { hasher: DefaultHashBuilder::default(), stripes }
    }

    /// What a reader who knows commit `at` to be finished finds at this key, if that is known here.
    pub(super) fn get(&self, at: u64, key: &[u8]) -> Option<Option<Bytes>> {
        let (stripe, hash) = self.stripe(key);
        let row = stripe.row(at, hash, key)?.clone();
        drop(stripe);
        Some(row.value())
    }

    /// The same for many keys, if all of them are known. Rows lie all over the memory; so those of a stripe are asked for
    /// side by side, and waited for once.
    pub(super) fn get_all(&self, at: u64, keys: &[FullKey]) -> Option<Vec<Option<Bytes>>> {
        let mut places: Vec<_> =
            keys.iter().enumerate().map(|(place, key)| (self.hasher.hash_one(&key[..]), place)).collect();
        places.sort_unstable_by_key(|(hash, _)| hash % STRIPES);
        let mut found = vec![None; keys.len()];
        for places in places.chunk_by(|(one, _), (other, _)| one % STRIPES == other % STRIPES) {
            let stripe = self.locked(places[0].0);
            let known: SmallVec<[&Known; 32]> =
                places.iter().map_while(|(hash, _)| stripe.known.get(hash)).collect();
            black_box(known.iter().map(|known| known.row.touch()).fold(0, u8::wrapping_add));
            for (hash, place) in places {
                found[*place] = stripe.row(at, *hash, &keys[*place])?.clone().value();
            }
        }
        Some(found)
    }

    /// Notes what a reader who knows commit `at` to be finished has found on disk. Gives it back as it is kept, since what
    /// was found holds a whole block.
    pub(super) fn learn(&self, at: u64, key: &[u8], found: Option<&[u8]>) -> Option<Bytes> {
        let row = Row::new(key, found);
        let (mut stripe, hash) = self.stripe(key);
        let since = stripe.written[slot(hash)];
        if since <= at {
            stripe.known.insert(hash, Known { row: row.clone(), since });
        }
        drop(stripe);
        row.value()
    }

    /// Notes what this commit is about to write; only rows that are known already are kept.
    pub(super) fn write(&self, commit: u64, row: &Row) {
        let (mut stripe, hash) = self.stripe(row.key());
        stripe.written[slot(hash)] = commit;
        if stripe.known.peek(&hash).is_some_and(|known| known.row.key() == row.key()) {
            stripe.known.insert(hash, Known { row: row.clone(), since: commit });
        }
    }

    fn stripe(&self, key: &[u8]) -> (MutexGuard<'_, Stripe>, u64) {
        let hash = self.hasher.hash_one(key);
        (self.locked(hash), hash)
    }

    fn locked(&self, hash: u64) -> MutexGuard<'_, Stripe> {
        self.stripes[(hash % STRIPES) as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stripe {
    fn row(&self, at: u64, hash: u64, key: &[u8]) -> Option<&Row> {
        let known = self.known.get(&hash).filter(|known| known.since <= at && known.row.key() == key)?;
        Some(&known.row)
    }
}

fn slot(hash: u64) -> usize {
    (hash / STRIPES % SLOTS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_no_commit_that_it_does_not_know_to_be_finished() {
        let rows = Rows::new(1 << 20);
        rows.learn(5, b"a", Some(b"old"));
        assert_eq!(rows.get(5, b"a"), Some(Some("old".into())));
        rows.write(6, &Row::new(b"a", Some(b"new")));
        assert_eq!(rows.get(5, b"a"), None, "neither the new value nor the old one for sure");
        assert_eq!(rows.get(6, b"a"), Some(Some("new".into())));
        rows.write(7, &Row::new(b"a", None));
        assert_eq!(rows.get(6, b"a"), None);
        assert_eq!(rows.get(7, b"a"), Some(None), "it is known that there is none");
    }

    #[test]
    fn what_was_read_before_a_commit_is_not_left_behind_it() {
        let rows = Rows::new(1 << 20);
        rows.write(6, &Row::new(b"a", Some(b"new")));
        assert_eq!(rows.learn(5, b"a", Some(b"old")).unwrap(), "old", "the reader has it all the same");
        assert_eq!((rows.get(5, b"a"), rows.get(6, b"a")), (None, None));
        rows.learn(6, b"a", Some(b"new"));
        assert_eq!(rows.get(6, b"a"), Some(Some("new".into())));
        assert_eq!(rows.get(5, b"a"), None);
    }

    #[test]
    fn it_stays_within_its_bytes() {
        let rows = Rows::new(1 << 20);
        let value = [7; 1_000];
        for number in 0..10_000_u32 {
            rows.learn(0, &number.to_be_bytes(), Some(&value));
        }
        let kept = (0..10_000_u32).filter(|number| rows.get(0, &number.to_be_bytes()).is_some()).count();
        assert!((100..=1_048).contains(&kept), "{kept}");
    }
}
