//! What stands around the records of an XML file, token by token.

use memchr::{memchr, memmem};

use super::cut::tag_end;
use crate::fatal::Fatal;
use crate::limits::Limits;
use crate::window::Window;

/// The token at the window's first byte, and its length. It is not consumed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Text(usize),
    Start {
        name: String,
        len: usize,
        empty: bool,
    },
    End {
        name: String,
        len: usize,
    },
    CData(usize),
    /// Comments, instructions, the declaration.
    Other(usize),
    Doctype(usize),
    Eof,
}

pub(crate) fn token(window: &mut Window, limits: &Limits) -> Result<Token, Fatal> {
    loop {
        let data = window.data();
        if let Some(token) = find(data, window.ended()) {
            return Ok(token);
        }
        if data.len() > limits.token_bytes {
            // Text is nothing but text, in whatever pieces it is read.
            if data[0] != b'<' {
                return Ok(Token::Text(data.len()));
            }
            return Err(Fatal::new("token_too_long", &[&limits.token_bytes.to_string()]).at(window.place(0)));
        }
        if !window.more()? {
            // Now it is known that nothing follows, which text may have waited for.
            let last = find(window.data(), true);
            return match (last, window.data().len()) {
                (Some(token), _) => Ok(token),
                (None, 0) => Ok(Token::Eof),
                (None, len) => Err(Fatal::new("xml_truncated", &[]).at(window.place(len))),
            };
        }
    }
}

fn find(data: &[u8], ended: bool) -> Option<Token> {
    let first = *data.first()?;
    if first != b'<' {
        return match memchr(b'<', data) {
            Some(len) => Some(Token::Text(len)),
            None => ended.then_some(Token::Text(data.len())),
        };
    }
    let until =
        |mark: &[u8], skip: usize| memmem::find(data.get(skip..)?, mark).map(|at| skip + at + mark.len());
    match data.get(1)? {
        b'?' => until(b"?>", 2).map(Token::Other),
        b'!' => {
            if data.len() < 9 && !ended {
                return None;
            }
            if data.starts_with(b"<!--") {
                until(b"-->", 4).map(Token::Other)
            } else if data.starts_with(b"<![CDATA[") {
                until(b"]]>", 9).map(Token::CData)
            } else {
                doctype(data).map(Token::Doctype)
            }
        }
        b'/' => {
            let len = memchr(b'>', data)? + 1;
            Some(Token::End { name: text(&data[2..len - 1]).trim().to_owned(), len })
        }
        _ => {
            let len = tag_end(data)?;
            let tag = text(&data[1..len]);
            let end = tag.find(|c: char| c.is_whitespace() || c == '>' || c == '/').unwrap_or(tag.len());
            Some(Token::Start { name: tag[..end].to_owned(), len, empty: data[..len].ends_with(b"/>") })
        }
    }
}

/// `<!DOCTYPE … [ … ]>`: passed over, never read and never fetched.
fn doctype(data: &[u8]) -> Option<usize> {
    let mut quote = 0;
    let mut inside = false;
    for (at, byte) in data.iter().enumerate() {
        match byte {
            b'"' | b'\'' if quote == 0 => quote = *byte,
            byte if *byte == quote => quote = 0,
            _ if quote != 0 => {}
            b'[' => inside = true,
            b']' => inside = false,
            b'>' if !inside => return Some(at + 1),
            _ => {}
        }
    }
    None
}

pub(crate) fn text(data: &[u8]) -> &str {
    simdutf8::basic::from_utf8(data).unwrap_or_default()
}
