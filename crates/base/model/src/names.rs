//! Which texts may name things.

pub const MAX_SELLER_BYTES: usize = 128;
pub const DEFAULT_NAMESPACE: &str = "default";
/// Namespaces of feeds that services collected begin so.
pub const PARSED: &str = "parsed:";
pub const MAX_EXTERNAL_ID_BYTES: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadName(&'static str);

/// A seller's id is any short text without control characters.
pub fn check_seller(text: &str) -> Result<(), BadName> {
    let sane = !text.is_empty() && text.len() <= MAX_SELLER_BYTES && !text.chars().any(char::is_control);
    sane.then_some(()).ok_or(BadName("a seller's id has 1 to 128 bytes and no control characters"))
}

/// `[a-z0-9_-]{1,64}`, also after `parsed:`.
pub fn check_namespace(text: &str) -> Result<(), BadName> {
    let name = text.strip_prefix(PARSED).unwrap_or(text);
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    let sane = (1..=64).contains(&name.len()) && name.bytes().all(legal);
    sane.then_some(()).ok_or(BadName("a namespace has 1 to 64 of the characters a-z, 0-9, _ and -"))
}

/// The seller's own id of an offer.
pub fn check_external_id(text: &str) -> Result<(), BadName> {
    let sane = !text.is_empty() && text.len() <= MAX_EXTERNAL_ID_BYTES && !text.chars().any(char::is_control);
    sane.then_some(()).ok_or(BadName("an external id has 1 to 256 bytes and no control characters"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_plain() {
        for good in ["default", "a", "spring_2026-b", "parsed:avito", &"x".repeat(64)] {
            assert!(check_namespace(good).is_ok(), "{good}");
        }
        for bad in ["", "A", "a b", "parsed:", "parsed:parsed:x", "тест", "a/b", &"x".repeat(65)] {
            assert!(check_namespace(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_seller_may_be_called_almost_anything() {
        for good in ["s", "продавец 1", "a:b/c"] {
            assert!(check_seller(good).is_ok(), "{good}");
        }
        for bad in ["", "a\n", "\0", &"x".repeat(129)] {
            assert!(check_seller(bad).is_err(), "{bad:?}");
        }
    }
}
