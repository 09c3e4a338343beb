//! A record in which nothing is unusual, read in one pass from where it begins to its end tag.
//!
//! Nearly all records are: tags that match, texts with the references of XML, CDATA. Whatever else there is, right or
//! wrong (a comment, a broken tag, a record inside of the record, the window's end), makes the record none of these, and
//! then it is cut out ([`super::cut`]) and read by [`super::events`], which knows and tells what is wrong. What is read
//! here is read there just so.

use memchr::{memchr, memchr2, memmem};

use super::cut::tag_end;
use super::entities;
use super::events::{self, Rigour, Visitor};
use crate::limits::Limits;

/// References are shorter.
const REFERENCE_BYTES: usize = 16;

/// The length of the record that the text begins with; none: it is not plain, and what the visitor has seen means
/// nothing.
pub(super) fn read<'a>(text: &'a str, limits: &Limits, visitor: &mut impl Visitor<'a>) -> Option<usize> {
    let end = text.floor_char_boundary(limits.record_bytes);
    let mut plain = Plain { text: &text[..end], at: 0, open: Vec::with_capacity(8) };
    let mut attributes = Vec::new();
    loop {
        let rest = plain.rest();
        match rest.as_bytes().get(..2)? {
            b"</" => plain.end(visitor)?,
            b"<!" => plain.cdata(visitor)?,
            [b'<', _] => plain.start(limits, &mut attributes, visitor)?,
            [b'&', _] => plain.reference(visitor)?,
            _ => plain.characters(visitor)?,
        }
        if plain.open.is_empty() {
            break;
        }
    }
    let record = &text[..plain.at];
    events::forbidden_character(record.as_bytes()).is_none().then_some(plain.at)
}

struct Plain<'a> {
    text: &'a str,
    at: usize,
    /// The names of the elements that are open, the record's first.
    open: Vec<&'a str>,
}

impl<'a> Plain<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn start(
        &mut self,
        limits: &Limits,
        attributes: &mut events::Attributes<'a>,
        visitor: &mut impl Visitor<'a>,
    ) -> Option<()> {
        let rest = self.rest();
        let name = &rest[1..];
        let name = &name[..events::plain_name_length(name)?];
        // A record within a record is another one, after an end tag that is missing.
        if self.open.first() == Some(&name) {
            return None;
        }
        let after = &rest.as_bytes()[1 + name.len()..];
        attributes.clear();
        let length = match after {
            [b'>', ..] => name.len() + 2,
            [b'/', b'>', ..] => name.len() + 3,
            [b' ' | b'\t' | b'\n' | b'\r', ..] => {
                let length = tag_end(rest.as_bytes())?;
                let tag = &rest[..length];
                events::parse_attributes(tag, 1 + name.len(), Rigour::Strict, limits, attributes).ok()?;
                length
            }
            _ => return None,
        };
        let tag = &rest[..length];
        if !tag.ends_with('>') || self.open.len() >= limits.depth {
            return None;
        }
        visitor.start(name, attributes, self.at, self.at + length);
        if tag.ends_with("/>") {
            visitor.end();
        } else {
            self.open.push(name);
        }
        self.at += length;
        Some(())
    }

    fn end(&mut self, visitor: &mut impl Visitor<'a>) -> Option<()> {
        let name = self.open.pop()?;
        let after = self.rest()[2..].strip_prefix(name)?;
        if !after.starts_with('>') {
            return None;
        }
        visitor.end();
        self.at += name.len() + 3;
        Some(())
    }

    fn cdata(&mut self, visitor: &mut impl Visitor<'a>) -> Option<()> {
        let inside = self.rest().strip_prefix("<![CDATA[")?;
        let length = memmem::find(inside.as_bytes(), b"]]>")?;
        visitor.text(events::line_ends(&inside[..length]));
        self.at += "<![CDATA[]]>".len() + length;
        Some(())
    }

    fn reference(&mut self, visitor: &mut impl Visitor<'a>) -> Option<()> {
        let rest = self.rest();
        let length = memchr(b';', &rest.as_bytes()[..rest.len().min(REFERENCE_BYTES)])?;
        visitor.text(entities::resolve(&rest[1..length], Rigour::Strict)?);
        self.at += length + 1;
        Some(())
    }

    fn characters(&mut self, visitor: &mut impl Visitor<'a>) -> Option<()> {
        let rest = self.rest();
        // Most texts are the white space between two elements.
        let blank = rest.bytes().position(|byte| !matches!(byte, b' ' | b'\n' | b'\t'))?;
        if rest.as_bytes()[blank] == b'<' {
            visitor.blank(&rest[..blank]);
            self.at += blank;
            return Some(());
        }
        let length = memchr2(b'<', b'&', rest.as_bytes())?;
        let text = &rest[..length];
        let text = match memchr2(b']', b'\r', text.as_bytes()) {
            None => text.into(),
            Some(_) if text.contains("]]>") => return None,
            Some(_) => events::line_ends(text),
        };
        visitor.text(text);
        self.at += length;
        Some(())
    }
}
