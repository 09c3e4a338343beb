//! The address of a photo that a seller uploaded: a reference to the seller's own photo, never fetched. Offers and feeds
//! name it like any photo's url; only the seller who uploaded the photo has it, whoever may look at the image itself. It is
//! that of the largest size that everybody may see.

const BEFORE: &str = "/photos/";
const AFTER: &str = "/1600";
const HASH_DIGITS: usize = 64;

/// The address under which the seller's offers name the photo of this hash.
pub fn of_upload(hash: &str) -> String {
    format!("{BEFORE}{hash}{AFTER}")
}

/// Whether this names an uploaded photo. There is one spelling only.
pub fn is_upload(url: &str) -> bool {
    let hash = url.strip_prefix(BEFORE).and_then(|rest| rest.strip_suffix(AFTER));
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    hash.is_some_and(|hash| hash.len() == HASH_DIGITS && hash.bytes().all(is_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_has_one_spelling() {
        let hash = "0a".repeat(32);
        assert!(is_upload(&of_upload(&hash)));
        for other in [
            of_upload(&hash.to_uppercase()),
            of_upload(&hash[1..]),
            of_upload("../1600"),
            format!("/photos/{hash}/400"),
            format!("/photos/{hash}/original"),
            format!("/photos/{hash}/1600/"),
            format!("//photos/{hash}/1600"),
            format!("https://a.example/photos/{hash}/1600"),
            String::new(),
        ] {
            assert!(!is_upload(&other), "{other}");
        }
    }
}
