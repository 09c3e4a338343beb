//! Rust source with its comments, strings and characters blanked out, so that a simple scanner is not misled by
//! a brace in a string. Length and line breaks stay.

pub(super) fn mask(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut masked = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let Some(end) = opaque_end(bytes, at) else {
            at += 1;
            continue;
        };
        let end = end.min(bytes.len());
        for byte in &mut masked[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    // Whole tokens were blanked, so what is left is whole characters.
    String::from_utf8(masked).unwrap_or_default()
}

/// Where the comment, string or character that starts at `at` ends; None if none starts here.
fn opaque_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    match rest {
        [b'/', b'/', ..] => Some(at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())),
        [b'/', b'*', ..] => Some(at + block_comment_length(rest)),
        [b'"', ..] => Some(at + quoted_length(rest, b'"')),
        [b'r', b'"' | b'#', ..] if !continues_a_word(bytes, at) => raw_length(rest).map(|length| at + length),
        [b'\'', ..] => character_length(rest).map(|length| at + length),
        _ => None,
    }
}

fn block_comment_length(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted_length(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `r"…"` and `r#"…"#`; None for a raw identifier like `r#type`.
fn raw_length(rest: &[u8]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return None;
    }
    let mut end = vec![b'"'];
    end.resize(1 + hashes, b'#');
    let start = hashes + 2;
    let found = rest[start..].windows(end.len()).position(|window| window == end);
    Some(found.map_or(rest.len(), |position| start + position + end.len()))
}

/// `'x'` and `'\n'`; None for a lifetime.
fn character_length(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        return Some(quoted_length(rest, b'\''));
    }
    let text = std::str::from_utf8(&rest[1..rest.len().min(6)]);
    let valid = text.map_or_else(|error| error.valid_up_to(), str::len);
    let first = std::str::from_utf8(&rest[1..=valid]).ok()?.chars().next()?;
    (rest.get(1 + first.len_utf8()) == Some(&b'\'')).then_some(first.len_utf8() + 2)
}

/// The `r` of `r"` may be the end of a word; `br"` and `cr"` are raw strings too.
fn continues_a_word(bytes: &[u8], at: usize) -> bool {
    let word = |at: usize| bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_';
    match at {
        0 => false,
        1 => word(0) && !matches!(bytes[0], b'b' | b'c'),
        _ => word(at - 1) && (!matches!(bytes[at - 1], b'b' | b'c') || word(at - 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &str) {
        assert_eq!(mask(input), expected);
        assert_eq!(mask(input).len(), input.len());
    }

    #[test]
    fn comments_strings_and_characters_go() {
        check("a // { b\nc", "a       \nc");
        check("a /* { /* } */ { */ b", "a                   b");
        check(r#"f("a\"{", b"}")"#, "f(      , b   )");
        check(r##"r#"{"{"# x br"\" y"##, "         x b     y");
        check("['{', '\\'', 'я']", "[   ,     ,     ]");
    }

    #[test]
    fn lifetimes_and_raw_identifiers_stay() {
        check("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
        check("r#type + r#fn", "r#type + r#fn");
        check("'label: loop { break 'label }", "'label: loop { break 'label }");
    }

    #[test]
    fn an_open_end_does_not_run_over() {
        check("x \"abc", "x     ");
        check("x /* abc", "x       ");
        check("x '\\", "x   ");
    }
}
