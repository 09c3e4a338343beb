use std::fmt;

/// A constant for ever: offer ids carry the shard.
pub const SHARDS: u16 = 1_024;

/// One of the [`SHARDS`] worlds into which all rows are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(u16);

impl Shard {
    /// The shard of an owner's text: the first 8 bytes of its BLAKE3, little-endian, modulo 1,024.
    pub fn of(text: &str) -> Self {
        Self::of_bytes(text.as_bytes())
    }

    pub fn of_bytes(bytes: &[u8]) -> Self {
        let hash = blake3::hash(bytes);
        let mut first = [0; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        Self((u64::from_le_bytes(first) % u64::from(SHARDS)) as u16)
    }

    /// The shard of this number, if there is one.
    pub const fn new(number: u16) -> Option<Self> {
        if number < SHARDS { Some(Self(number)) } else { None }
    }

    /// The shard of a number of any size, wrapped around.
    pub const fn wrapping(number: u64) -> Self {
        Self((number % SHARDS as u64) as u16)
    }

    pub const fn number(self) -> u16 {
        self.0
    }

    pub const fn index(self) -> usize {
        self.0 as usize
    }

    pub fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (0..SHARDS).map(Self)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stored data depends on these numbers: they may never change.
    #[test]
    fn the_shard_of_a_text_is_fixed_for_ever() {
        let golden = [("", 943), ("seller-1", 178), ("seller-2", 363), ("Гостиный двор", 167), ("a", 535)];
        let found: Vec<_> = golden.iter().map(|(text, _)| (*text, Shard::of(text).number())).collect();
        assert_eq!(found, golden);
    }
}
