use std::ops::Bound;

use crate::Result;
use crate::key::{ColumnType, Encode, KeyBytes};

/// Which rows of a table to read, and in what order. Bounds are keys or their first columns: a bound of fewer columns
/// stands for all keys that begin with it, so `after(("a",))` begins behind every key whose first column is `a`.
#[derive(Clone, Debug)]
pub struct Range {
    pub from: Bound<KeyBytes>,
    pub to: Bound<KeyBytes>,
    pub reverse: bool,
    pub limit: usize,
    /// The column types of the longest bound given, to be checked against the table.
    pub(crate) types: &'static [ColumnType],
}

impl Range {
    /// Every row of the shard, at most `limit` of them.
    pub fn all(limit: usize) -> Self {
        Self { from: Bound::Unbounded, to: Bound::Unbounded, reverse: false, limit, types: &[] }
    }

    /// The rows whose key begins with these columns.
    pub fn prefix<Q: Encode>(prefix: Q, limit: usize) -> Result<Self> {
        Self::all(limit).from(&prefix)?.up_to(&prefix)
    }

    /// Only rows at or behind this key.
    pub fn from<Q: Encode>(mut self, key: Q) -> Result<Self> {
        self.from = bound(&key, Bound::Included)?;
        Ok(self.knowing(Q::TYPES))
    }

    /// Only rows behind this key.
    pub fn after<Q: Encode>(mut self, key: Q) -> Result<Self> {
        self.from = bound(&key, Bound::Excluded)?;
        Ok(self.knowing(Q::TYPES))
    }

    /// Only rows at or before this key.
    pub fn up_to<Q: Encode>(mut self, key: Q) -> Result<Self> {
        self.to = bound(&key, Bound::Included)?;
        Ok(self.knowing(Q::TYPES))
    }

    /// Only rows before this key.
    pub fn before<Q: Encode>(mut self, key: Q) -> Result<Self> {
        self.to = bound(&key, Bound::Excluded)?;
        Ok(self.knowing(Q::TYPES))
    }

    /// From the last row to the first.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.reverse = true;
        self
    }

    /// At most this many rows.
    #[must_use]
    pub fn limited(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Goes on behind a row already seen, in the range's direction.
    #[must_use]
    pub fn beyond(mut self, key: KeyBytes) -> Self {
        if self.reverse {
            self.to = Bound::Excluded(key);
        } else {
            self.from = Bound::Excluded(key);
        }
        self
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        let behind_from = match &self.from {
            Bound::Unbounded => true,
            Bound::Included(from) => key >= from.as_slice(),
            Bound::Excluded(from) => key > from.as_slice() && !key.starts_with(from.as_slice()),
        };
        behind_from
            && match &self.to {
                Bound::Unbounded => true,
                Bound::Included(to) => key <= to.as_slice() || key.starts_with(to.as_slice()),
                Bound::Excluded(to) => key < to.as_slice(),
            }
    }

    /// The range as plain bytes: from the first (inclusive) to the second (exclusive, `None`: to the end).
    pub fn byte_bounds(&self) -> (Vec<u8>, Option<Vec<u8>>) {
        let from = match &self.from {
            Bound::Unbounded => Vec::new(),
            Bound::Included(key) => key.0.clone(),
            // Behind every key that begins so; a prefix without a successor leaves nothing behind it.
            Bound::Excluded(key) => match successor(key.as_slice()) {
                Some(next) => next,
                None => return (vec![0xff], Some(Vec::new())),
            },
        };
        let to = match &self.to {
            Bound::Unbounded => None,
            Bound::Included(key) => successor(key.as_slice()),
            Bound::Excluded(key) => Some(key.0.clone()),
        };
        (from, to)
    }

    fn knowing(mut self, types: &'static [ColumnType]) -> Self {
        if types.len() > self.types.len() {
            self.types = types;
        }
        self
    }
}

/// A bound of no columns bounds nothing.
fn bound<Q: Encode>(key: &Q, kind: fn(KeyBytes) -> Bound<KeyBytes>) -> Result<Bound<KeyBytes>> {
    if Q::TYPES.is_empty() { Ok(Bound::Unbounded) } else { Ok(kind(key.encode()?)) }
}

/// The first byte string behind every one that begins with `prefix`.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_bounds_say_the_same_as_contains() {
        let keys: Vec<KeyBytes> = ["", "a", "ab", "b"]
            .iter()
            .flat_map(|word| [i64::MIN, -1, 0, i64::MAX].map(|number| (*word, number).encode().unwrap()))
            .collect();
        let all = || Range::all(9);
        let ranges = [
            all(),
            Range::prefix(("a",), 9).unwrap(),
            Range::prefix((), 9).unwrap(),
            all().from(("a", 0_i64)).unwrap().before(("b",)).unwrap(),
            all().after(("a",)).unwrap().up_to(("b",)).unwrap(),
            all().after(("a", -1_i64)).unwrap().up_to(("ab", 0_i64)).unwrap(),
            all().after(("b", i64::MAX)).unwrap(),
            all().before(("", i64::MIN)).unwrap(),
        ];
        for range in ranges {
            let (from, to) = range.byte_bounds();
            for key in &keys {
                let within = key.0 >= from && to.as_ref().is_none_or(|to| key.0 < *to);
                assert_eq!(range.contains(&key.0), within, "{key:?} in {range:?}");
            }
        }
    }
}
