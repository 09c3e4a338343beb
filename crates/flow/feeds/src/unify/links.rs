//! Addresses of pages, photos and videos.

use std::borrow::Cow;
use std::fmt::Write as _;

use memchr::memchr3;
use model::Issue;
use model::limits::MAX_URL_CHARS;

use crate::issue;

/// The address of a photo: one from the web, or one that the seller uploaded.
pub(super) fn image(text: &str, issues: &mut Vec<Issue>) -> String {
    let text = text.trim();
    if model::photo_url::is_upload(text) { text.to_owned() } else { link("images", text, issues) }
}

/// An http or https address in ASCII; empty if it is none.
pub(super) fn link(field: &str, text: &str, issues: &mut Vec<Issue>) -> String {
    let text = text.trim();
    if text.is_empty() {
        return String::new();
    }
    let whole =
        if text.starts_with("//") { Cow::Owned(format!("https:{text}")) } else { Cow::Borrowed(text) };
    let rest = after(&whole, "https://").or_else(|| after(&whole, "http://"));
    let host = rest.map(|rest| &rest[..memchr3(b'/', b'?', b'#', rest.as_bytes()).unwrap_or(rest.len())]);
    let strange = |byte: u8| matches!(byte, b' ' | b'<' | b'>' | b'"');
    let sane = host.is_some_and(|host| !host.is_empty() && !host.bytes().any(strange));
    // Without a way out the loop is done many bytes at a time.
    let legal = !whole.bytes().fold(false, |any, byte| any | is_illegal(byte));
    if !sane || (!legal && whole.chars().any(char::is_control)) {
        issues.push(issue::warning("bad_url", field, text));
        return String::new();
    }
    let encoded = if legal { whole.into_owned() } else { encoded(&whole) };
    if encoded.len() > MAX_URL_CHARS {
        issues.push(issue::warning("bad_url", field, text));
        return String::new();
    }
    if encoded != text {
        issues.push(issue::warning("url_mended", field, text));
    }
    encoded
}

/// What follows the scheme, in whatever case that is written.
fn after<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let (written, rest) = text.split_at_checked(scheme.len())?;
    written.eq_ignore_ascii_case(scheme).then_some(rest)
}

fn is_illegal(byte: u8) -> bool {
    matches!(byte, 0..=b' ' | 0x7F..=0xFF | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}')
}

/// Spaces and letters beyond ASCII are written as a browser would send them; the host stays as it is.
fn encoded(text: &str) -> String {
    let host_end = text.get(8..).and_then(|rest| rest.find(['/', '?', '#'])).map_or(text.len(), |at| at + 8);
    let mut out = text[..host_end].to_owned();
    for byte in text[host_end..].bytes() {
        if is_illegal(byte) {
            let _ = write!(out, "%{byte:02X}");
        } else {
            out.push(char::from(byte));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_uploaded_photo_is_named_by_its_address() {
        let mut issues = Vec::new();
        let upload = model::photo_url::of_upload(&"ab".repeat(32));
        assert_eq!(image(&format!(" {upload} "), &mut issues), upload);
        assert!(issues.is_empty());
        assert_eq!(image("/photos/ab/1600", &mut issues), "");
        assert_eq!((issues[0].code.as_str(), issues[0].field.as_str()), ("bad_url", "images"));
    }

    #[test]
    fn links_are_mended_or_refused() {
        for (text, expected, said) in [
            ("https://a.example/1.jpg", "https://a.example/1.jpg", None),
            ("https://a.example/my photo.jpg", "https://a.example/my%20photo.jpg", Some("url_mended")),
            (
                "https://a.example/фото.jpg",
                "https://a.example/%D1%84%D0%BE%D1%82%D0%BE.jpg",
                Some("url_mended"),
            ),
            ("//a.example/1.jpg", "https://a.example/1.jpg", Some("url_mended")),
            ("HTTP://a.example/x", "HTTP://a.example/x", None),
            ("javascript:alert(1)", "", Some("bad_url")),
            ("http://", "", Some("bad_url")),
            ("photo.jpg", "", Some("bad_url")),
            ("", "", None),
        ] {
            let mut issues = Vec::new();
            assert_eq!(link("url", text, &mut issues), expected, "{text}");
            assert_eq!(issues.first().map(|issue| issue.code.as_str()), said, "{text}");
        }
    }
}
