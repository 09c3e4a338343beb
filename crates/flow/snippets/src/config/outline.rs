//! Where in the text each field stands, which prost-reflect does not tell of what it could read.

/// A place in a text, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

impl Place {
    /// The place of a byte.
    pub(super) fn of(text: &str, offset: usize) -> Self {
        let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
        let line = before.split(|byte| *byte == b'\n').count();
        let begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        Self { line, column: String::from_utf8_lossy(&before[begin..]).chars().count() + 1 }
    }
}

/// One value of a field; a field with several values gives several.
#[derive(Debug)]
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    pub(super) offset: usize,
    pub(super) fields: Vec<Field<'a>>,
}

/// Braces within braces; more would be a mistake, and the reader below us has no limit of its own.
const MAX_DEPTH: usize = 100;

/// The offset at which the text is nested too deeply.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, token) in Tokens::new(text) {
        match token {
            "{" | "<" | "[" => depth += 1,
            "}" | ">" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Some(offset);
        }
    }
    None
}

/// The fields of a text that prost-reflect has found right. Of any other text it gives what it can.
pub(super) fn outline(text: &str) -> Vec<Field<'_>> {
    let tokens: Vec<_> = Tokens::new(text).collect();
    fields(&tokens, &mut 0)
}

type Token<'a> = (usize, &'a str);

fn fields<'a>(tokens: &[Token<'a>], at: &mut usize) -> Vec<Field<'a>> {
    let mut found = Vec::new();
    while let Some((offset, name)) = tokens.get(*at).copied() {
        *at += 1;
        match name {
            "}" | ">" => break,
            "," | ";" => continue,
            _ => {}
        }
        if tokens.get(*at).is_some_and(|token| token.1 == ":") {
            *at += 1;
        }
        value(tokens, at, &mut |fields| found.push(Field { name, offset, fields }));
    }
    found
}

fn value<'a>(tokens: &[Token<'a>], at: &mut usize, found: &mut impl FnMut(Vec<Field<'a>>)) {
    let Some((_, token)) = tokens.get(*at).copied() else { return };
    *at += 1;
    match token {
        "{" | "<" => found(fields(tokens, at)),
        "[" => {
            while let Some((_, token)) = tokens.get(*at).copied() {
                match token {
                    "]" => {
                        *at += 1;
                        return;
                    }
                    "{" | "<" => {
                        *at += 1;
                        found(fields(tokens, at));
                    }
                    "," => *at += 1,
                    _ => {
                        *at += 1;
                        found(Vec::new());
                    }
                }
            }
        }
        _ => {
            // A sign stands before its number, and strings side by side are one.
            if token == "-" && tokens.get(*at).is_some_and(|next| !is_mark(next.1)) {
                *at += 1;
            }
            while is_string(token) && tokens.get(*at).is_some_and(|next| is_string(next.1)) {
                *at += 1;
            }
            found(Vec::new());
        }
    }
}

fn is_string(token: &str) -> bool {
    token.starts_with(['"', '\''])
}

fn is_mark(token: &str) -> bool {
    token.starts_with(['{', '}', '<', '>', '[', ']', ':', ',', ';'])
}

/// Words, strings and marks, with their offsets.
struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            if *byte == b'#' {
                let rest = &bytes[self.at..];
                self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            } else if byte.is_ascii_whitespace() || *byte == 0x0b {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    fn string_end(&self, quote: u8) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        while let Some(byte) = bytes.get(at) {
            match *byte {
                b'\\' => at += 2,
                // A string does not go over a line: here it was broken off.
                b'\n' => return at,
                byte if byte == quote => return at + 1,
                _ => at += 1,
            }
        }
        bytes.len()
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_blanks();
        let (start, bytes) = (self.at, self.text.as_bytes());
        let first = *bytes.get(start)?;
        let word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.+".contains(byte) || !byte.is_ascii();
        let mut end = match first {
            b'"' | b'\'' => self.string_end(first),
            first if word(&first) => {
                start + bytes[start..].iter().position(|byte| !word(byte)).unwrap_or(bytes.len() - start)
            }
            _ => start + 1,
        };
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        self.at = end;
        Some((start, &self.text[start..end]))
    }
}
