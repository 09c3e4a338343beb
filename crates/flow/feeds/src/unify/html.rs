//! Texts without markup. Descriptions come as HTML, in CDATA, escaped, and escaped twice.

use crate::formats::entity;

/// One line: no markup, single spaces, no control characters.
pub(super) fn line(text: &str) -> String {
    let plain = !text.contains(['<', '&']);
    let text = if plain { text.to_owned() } else { strip(text) };
    let clean = |c: char| c.is_whitespace() || c.is_control();
    if !text.chars().any(|c| clean(c) && c != ' ') && !text.contains("  ") {
        return text.trim().to_owned();
    }
    text.split(clean).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Paragraphs and list items become lines.
pub(super) fn text(text: &str) -> String {
    let stripped;
    let text = if text.contains(['<', '&']) {
        stripped = strip(text);
        stripped.as_str()
    } else {
        text
    };
    let mut lines = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|word| !word.is_empty())
            .collect();
        let line = words.join(" ");
        // One empty line between paragraphs is enough.
        if !line.is_empty() || lines.last().is_some_and(|last: &String| !last.is_empty()) {
            lines.push(line);
        }
    }
    lines.join("\n").trim().to_owned()
}

fn strip(text: &str) -> String {
    let once = without_tags(text);
    // `&lt;p&gt;` of a text that was escaped once too often is markup after all.
    if looks_like_markup(&once) { without_tags(&once) } else { once }
}

fn looks_like_markup(text: &str) -> bool {
    const TAGS: [&str; 12] =
        ["<p>", "<p ", "<br", "<li", "<ul", "<b>", "<div", "<span", "</p", "<h", "<strong", "&nbsp;"];
    text.contains(['<', '&']) && TAGS.iter().any(|tag| text.contains(tag))
}

fn without_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '&']) {
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
}
