//! Which ordinals a task's file had: a bit each, in rows of 4,096.

use std::collections::{BTreeMap, BTreeSet};

use store::{Read as _, Tx};

use super::Load;
use crate::Result;
use crate::tables::FEED_SEEN;

const CHUNK: i64 = 4_096;

pub(super) fn chunk_of(ordinal: i64) -> i64 {
    ordinal.div_euclid(CHUNK)
}

/// Whether the bit is set; the zeros at a row's end are not stored.
pub(super) fn is_set(bits: &[u8], ordinal: i64) -> bool {
    let (byte, bit) = place(ordinal);
    bits.get(byte).is_some_and(|byte| byte & bit != 0)
}

fn place(ordinal: i64) -> (usize, u8) {
    let within = ordinal.rem_euclid(CHUNK) as usize;
    (within / 8, 1 << (within % 8))
}

/// The bits of one task, as far as a transaction needs them.
#[derive(Default)]
pub(super) struct Seen {
    chunks: BTreeMap<i64, Chunk>,
}

#[derive(Default)]
struct Chunk {
    bits: Vec<u8>,
    changed: bool,
}

impl Seen {
    /// Reads the rows that hold these ordinals.
    pub(super) async fn load(tx: &Tx, load: &Load, ordinals: impl Iterator<Item = i64>) -> Result<Self> {
        let wanted: BTreeSet<i64> = ordinals.map(chunk_of).collect();
        let (seller, namespace) = load.feed();
        let keys: Vec<_> = wanted.iter().map(|chunk| (seller, namespace, load.key(), *chunk)).collect();
        let rows = tx.get_many(&FEED_SEEN, keys).await?;
        let chunk = |bits: Option<Vec<u8>>| Chunk { bits: bits.unwrap_or_default(), changed: false };
        Ok(Self { chunks: wanted.into_iter().zip(rows.into_iter().map(chunk)).collect() })
    }

    pub(super) fn has(&self, ordinal: i64) -> bool {
        self.chunks.get(&chunk_of(ordinal)).is_some_and(|chunk| is_set(&chunk.bits, ordinal))
    }

    /// Of an ordinal that was among those loaded.
    pub(super) fn set(&mut self, ordinal: i64) {
        let chunk = self.chunks.entry(chunk_of(ordinal)).or_default();
        let (byte, bit) = place(ordinal);
        if chunk.bits.len() <= byte {
            chunk.bits.resize(byte + 1, 0);
        }
        chunk.bits[byte] |= bit;
        chunk.changed = true;
    }

    pub(super) fn save(self, tx: &mut Tx, load: &Load) -> Result<()> {
        let (seller, namespace) = load.feed();
        for (number, chunk) in self.chunks.into_iter().filter(|(_, chunk)| chunk.changed) {
            tx.put(&FEED_SEEN, (seller, namespace, load.key(), number), &chunk.bits)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_stand_alone_at_the_edges_of_bytes_and_chunks() {
        let mut seen = Seen::default();
        let set = [0, 7, 8, 4_095, 4_096, 12_287];
        for ordinal in set {
            seen.set(ordinal);
        }
        let found: Vec<_> = (0..=3 * CHUNK).filter(|ordinal| seen.has(*ordinal)).collect();
        assert_eq!(found, set);
        assert_eq!(seen.chunks.len(), 3);
        assert!(!is_set(&[], 5));
    }
}
