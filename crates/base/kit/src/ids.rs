use rand::Rng as _;

pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

/// 128 random bits in hex: an identifier that nobody guesses and nothing else has.
pub fn random_id() -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    random_bytes::<16>().into_iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
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
