//! Texts without markup. Descriptions come as HTML, in CDATA, escaped, and escaped twice.

use std::borrow::Cow;

use memchr::{memchr2, memchr2_iter};

use crate::formats::entity;

/// One line: no markup, single spaces, no control characters.
pub(super) fn line(text: &str) -> String {
    let text = plain(text);
    if is_clean(&text) {
        return text.into_owned();
    }
    let mut line = String::with_capacity(text.len());
    push_words(&text, &mut line);
    line
}

/// Paragraphs and list items become lines.
pub(super) fn text(text: &str) -> String {
    let text = plain(text);
    if is_clean(&text) {
        return text.into_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut ends = "";
    for line in text.lines() {
        let before = out.len();
        out.push_str(ends);
        let from = out.len();
        push_words(line, &mut out);
        if out.len() > from {
            ends = "\n";
        } else {
            // One empty line between paragraphs is enough, and none is needed before the first.
            out.truncate(before);
            ends = if out.is_empty() { "" } else { "\n\n" };
        }
    }
    out
}

/// The words of a text with one space between.
fn push_words(text: &str, out: &mut String) {
    if is_tidy(text) {
        return out.push_str(text.trim_matches(' '));
    }
    let mut space = "";
    for word in text.split(is_gap).filter(|word| !word.is_empty()) {
        out.push_str(space);
        out.push_str(word);
        space = " ";
    }
}

fn is_gap(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

/// One line that is as it should be.
fn is_clean(text: &str) -> bool {
    !text.starts_with(' ') && !text.ends_with(' ') && is_tidy(text)
}

/// Nothing between the words but single spaces.
fn is_tidy(text: &str) -> bool {
    // Beyond ASCII, gaps are in U+0080–U+00BF, U+1680, U+2000–U+206F and U+3000: these are the first bytes of such.
    let suspicious = |byte: u8| byte < b' ' || matches!(byte, 0x7F | 0xC2 | 0xE1..=0xE3);
    let double = |one: u8, next: u8| one == b' ' && next == b' ';
    // Without a way out the loops are done many bytes at a time.
    let bytes = text.as_bytes();
    let any = bytes.iter().fold(false, |any, byte| any | suspicious(*byte));
    let pairs = bytes.iter().zip(bytes.get(1..).unwrap_or_default());
    let wide = pairs.fold(false, |any, (one, next)| any | double(*one, *next));
    let gaps = any && text.chars().any(|c| c != ' ' && is_gap(c));
    !wide && !gaps
}

/// Without tags and references.
fn plain(text: &str) -> Cow<'_, str> {
    if memchr2(b'<', b'&', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let once = without_tags(text);
    // `&lt;p&gt;` of a text that was escaped once too often is markup after all.
    Cow::Owned(if looks_like_markup(&once) { without_tags(&once) } else { once })
}

fn looks_like_markup(text: &str) -> bool {
    const TAGS: [&str; 12] =
        ["<p>", "<p ", "<br", "<li", "<ul", "<b>", "<div", "<span", "</p", "<h", "<strong", "&nbsp;"];
    let begins = |at: usize| TAGS.iter().any(|tag| text.as_bytes()[at..].starts_with(tag.as_bytes()));
    memchr2_iter(b'<', b'&', text.as_bytes()).any(begins)
}

fn without_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr2(b'<', b'&', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = if rest.starts_with('<') { tag(rest, &mut out) } else { reference(rest, &mut out) };
    }
    out.push_str(rest);
    out
}

/// What follows the tag; a `<` that begins none stays.
fn tag<'a>(text: &'a str, out: &mut String) -> &'a str {
    let begins = text[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
    let Some(end) = text.find('>').filter(|_| begins) else {
        out.push('<');
        return &text[1..];
    };
    let name = text[1..end].trim_start_matches('/');
    let name =
        name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase();
    match name.as_str() {
        "br" | "p" | "div" | "li" | "ul" | "ol" | "tr" | "table" | "h1" | "h2" | "h3" | "h4" => {
            out.push('\n');
        }
        // What is inside is no text.
        "script" | "style" if !text.starts_with("</") => {
            let close = format!("</{name}");
            let end = text.to_ascii_lowercase().find(&close);
            return end.map_or("", |end| &text[end..]);
        }
        "td" | "th" => out.push(' '),
        _ => {}
    }
    &text[end + 1..]
}

fn reference<'a>(text: &'a str, out: &mut String) -> &'a str {
    let end = text.find(';').filter(|end| *end <= 10);
    match end.and_then(|end| Some((entity(&text[1..end])?, end))) {
        Some((character, end)) => {
            out.push_str(&character);
            &text[end + 1..]
        }
        None => {
            out.push('&');
            &text[1..]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_lines() {
        for (html, expected) in [
            ("plain  text", "plain text"),
            ("<p>one</p><p>two</p>", "one\n\ntwo"),
            ("a<br/>b<br>c", "a\nb\nc"),
            ("&lt;p&gt;once too often&lt;/p&gt;", "once too often"),
            ("5 < 6 & 7 > 6", "5 < 6 & 7 > 6"),
            ("a&nbsp;b &laquo;c&raquo;", "a b «c»"),
            ("<script>alert('x')</script>text", "text"),
            ("<ul><li>a</li><li>b</li></ul>", "a\n\nb"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
        assert_eq!(line("  a\n<b>b</b>\tc "), "a b c");
    }

    #[test]
    fn gaps_become_single_spaces() {
        for (written, expected) in [
            ("  a  ", "a"),
            ("а б", "а б"),
            ("а  б", "а б"),
            ("\n\n a\r\n \n\n\tb \n", "a\n\nb"),
            ("a\rb", "a b"),
            ("a\u{A0}b\u{2009}c\u{3000}d\u{85}e\u{7F}f\u{1680}g", "a b c d e f g"),
            ("«a» — °", "«a» — °"),
            (" \u{1}\n ", ""),
        ] {
            assert_eq!(text(written), expected, "{written:?}");
        }
        assert_eq!(line("a\n\n\u{A0}b "), "a b");
    }
}
