use std::fmt::Write as _;

use rand::Rng as _;

pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

/// 128 random bits in hex: an identifier that nobody guesses and nothing else has.
pub fn random_id() -> String {
    random_bytes::<16>().iter().fold(String::with_capacity(32), |mut id, byte| {
        // Writing into a String cannot fail.
        let _ = write!(id, "{byte:02x}");
        id
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn ids_are_32_hex_digits_and_differ() {
        let (a, b) = (super::random_id(), super::random_id());
        assert!(a.len() == 32 && a.bytes().all(|b| b.is_ascii_hexdigit()));
        assert_ne!(a, b);
    }
}
