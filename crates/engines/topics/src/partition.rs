//! Which partition a key belongs to: the default partitioner of Kafka's Java client, so that records of Dvor, of Java
//! producers and of librdkafka with `partitioner=murmur2_random` lie together.

use rand::RngExt as _;

/// The partition of a key among `partitions`. An empty key stands for none: any partition will do.
pub fn of(key: &[u8], partitions: u32) -> u32 {
    if key.is_empty() {
        return rand::rng().random_range(0..partitions.max(1));
    }
    of_hash(murmur2(key), partitions)
}

fn of_hash(hash: u32, partitions: u32) -> u32 {
    // Java's `toPositive`: the sign bit is cut off, not turned.
    (hash & 0x7fff_ffff) % partitions.max(1)
}

/// MurmurHash 2, 32 bits, as `org.apache.kafka.common.utils.Utils.murmur2` computes it.
pub fn murmur2(data: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;
    const R: u32 = 24;
    let mut hash = SEED ^ data.len() as u32;
    let (words, tail) = data.as_chunks::<4>();
    for word in words {
        let mut mixed = u32::from_le_bytes(*word).wrapping_mul(M);
        mixed ^= mixed >> R;
        hash = hash.wrapping_mul(M) ^ mixed.wrapping_mul(M);
    }
    if !tail.is_empty() {
        for (index, byte) in tail.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * index);
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by `org.apache.kafka.common.utils.Utils.murmur2`; the first five are in Kafka's own tests too.
    #[test]
    fn the_hash_is_that_of_the_java_client() {
        let golden: [(&[u8], i32); 10] = [
            (b"21", -973_932_308),
            (b"foobar", -790_332_482),
            (b"a-little-bit-long-string", -985_981_536),
            (b"a-little-bit-longer-string", -1_486_304_829),
            (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            (b"", 275_646_681),
            (b"a", -1_563_381_124),
            (b"a\0c", 298_410_162),
            (b"\xff\x80\0\xfe\x99", -1_640_300_639),
            ("Гостиный двор".as_bytes(), -548_697_781),
        ];
        for (key, hash) in golden {
            assert_eq!(murmur2(key).cast_signed(), hash, "{}", key.escape_ascii());
        }
    }

    /// As the Java client places them among 16.
    #[test]
    fn partitions_of_keys_are_fixed_for_ever() {
        let golden = [("seller-1", 12), ("seller-2", 1), ("Гостиный двор", 11), ("21", 12), ("abc", 11)];
        let found = golden.map(|(key, _)| (key, of(key.as_bytes(), 16)));
        assert_eq!(found, golden);
    }

    #[test]
    fn a_message_without_a_key_goes_anywhere_within_the_topic() {
        assert!((0..100).all(|_| of(b"", 3) < 3));
        assert_eq!(of(b"x", 1), 0);
    }
}
