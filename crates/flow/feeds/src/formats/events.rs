//! The events of one piece of XML that is whole in memory, with what quick-xml leaves to its callers: references,
//! limits, characters that XML forbids, and elements that are still open at the end.

use std::borrow::Cow;

use memchr::memchr;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::entities;
use crate::limits::Limits;

/// What is wrong, and at which byte.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) code: &'static str,
    pub(crate) what: String,
    pub(crate) at: usize,
}

impl Broken {
    fn new(what: impl Into<String>, at: usize) -> Self {
        Self { code: "xml_broken", what: what.into(), at }
    }

    fn unknown(reference: &str, at: usize) -> Self {
        Self { code: "xml_entity_unknown", what: reference.to_owned(), at }
    }
}

/// Feeds are read as XML demands, or as far as they can be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rigour {
    Strict,
    Lenient,
}

pub(crate) type Attributes<'a> = Vec<(&'a str, Cow<'a, str>)>;

/// `at` is where the tag begins; `end` where it ends.
pub(crate) trait Visitor<'a> {
    fn start(&mut self, name: &'a str, attributes: &Attributes<'a>, at: usize, end: usize);
    fn text(&mut self, text: Cow<'a, str>);
    /// White space alone, the most common text of all; it may also come as text.
    fn blank(&mut self, text: &'a str) {
        self.text(Cow::Borrowed(text));
    }
    fn end(&mut self);
    /// Something was understood though it is wrong.
    fn guessed(&mut self, code: &'static str, value: &str);
}

pub(crate) fn read<'a>(
    text: &'a str,
    rigour: Rigour,
    limits: &Limits,
    visitor: &mut impl Visitor<'a>,
) -> Result<(), Broken> {
    check_characters(text, rigour, visitor)?;
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.allow_dangling_amp = rigour == Rigour::Lenient;
    config.check_comments = rigour == Rigour::Strict;
    let (mut from, mut depth) = (0, 0_usize);
    let mut attributes = Vec::new();
    loop {
        let event = reader.read_event().map_err(|error| {
            let at = usize::try_from(reader.error_position()).unwrap_or(0).min(text.len());
            Broken::new(error.to_string(), at)
        })?;
        let to = usize::try_from(reader.buffer_position()).unwrap_or(0).min(text.len());
        let slice = text.get(from..to).unwrap_or_default();
        match event {
            Event::Start(tag) => {
                depth += 1;
                if depth > limits.depth {
                    return Err(Broken { code: "too_deep", what: limits.depth.to_string(), at: from });
                }
                start(&tag, slice, rigour, limits, &mut attributes, from, visitor)?;
            }
            Event::Empty(tag) => {
                start(&tag, slice, rigour, limits, &mut attributes, from, visitor)?;
                visitor.end();
            }
            Event::End(_) => {
                depth = depth.saturating_sub(1);
                visitor.end();
            }
            Event::Text(_) => {
                if rigour == Rigour::Strict && slice.contains("]]>") {
                    return Err(Broken::new("]]> outside of CDATA", from));
                }
                visitor.text(line_ends(slice));
            }
            Event::CData(_) => {
                let inside = slice.strip_prefix("<![CDATA[").and_then(|rest| rest.strip_suffix("]]>"));
                visitor.text(line_ends(inside.unwrap_or_default()));
            }
            Event::GeneralRef(_) => {
                let text = reference(slice, rigour, visitor).ok_or_else(|| Broken::unknown(slice, from))?;
                visitor.text(text);
            }
            Event::Eof => break,
            Event::Decl(_) | Event::DocType(_) if from > 0 && rigour == Rigour::Strict => {
                return Err(Broken::new("a declaration inside of the file", from));
            }
            Event::Comment(_) | Event::PI(_) | Event::Decl(_) | Event::DocType(_) => {}
        }
        from = to;
    }
    if depth > 0 { Err(Broken::new("an element is not closed", text.len())) } else { Ok(()) }
}

fn check_characters<'a>(text: &str, rigour: Rigour, visitor: &mut impl Visitor<'a>) -> Result<(), Broken> {
    match forbidden_character(text.as_bytes()) {
        None => {}
        Some(at) if rigour == Rigour::Strict => {
            return Err(Broken { code: "control_character", what: String::new(), at });
        }
        Some(_) => visitor.guessed("control_character", ""),
    }
    Ok(())
}

fn start<'a>(
    tag: &BytesStart<'_>,
    slice: &'a str,
    rigour: Rigour,
    limits: &Limits,
    attributes: &mut Attributes<'a>,
    at: usize,
    visitor: &mut impl Visitor<'a>,
) -> Result<(), Broken> {
    attributes.clear();
    let name = slice.get(1..=tag.name().as_ref().len()).unwrap_or_default();
    if rigour == Rigour::Strict && !is_name(name) {
        return Err(Broken::new(format!("<{name}> is no name of an element"), at));
    }
    let inside = tag.attributes_raw();
    if !inside.trim_ascii().is_empty() {
        parse_attributes(slice, 1 + name.len(), rigour, limits, attributes)
            .map_err(|what| Broken::new(what, at))?;
    }
    visitor.start(name, attributes, at, at + slice.len());
    Ok(())
}

/// `name="value"` pairs of a tag, from the end of its name on.
pub(crate) fn parse_attributes<'a>(
    tag: &'a str,
    from: usize,
    rigour: Rigour,
    limits: &Limits,
    attributes: &mut Attributes<'a>,
) -> Result<(), String> {
    let mut rest = tag.get(from..).unwrap_or_default();
    loop {
        if let Some((name, value, after)) = plain_attribute(rest)
            && attributes.len() < limits.attributes
            && !attributes.iter().any(|(other, _)| *other == name)
        {
            attributes.push((name, Cow::Borrowed(value)));
            rest = after;
            continue;
        }
        let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if trimmed.is_empty() || trimmed.starts_with('>') || trimmed.starts_with("/>") || trimmed == "?>" {
            return Ok(());
        }
        if rigour == Rigour::Strict && trimmed.len() == rest.len() {
            return Err("no space between attributes".into());
        }
        let Some(equals) = memchr(b'=', trimmed.as_bytes()) else {
            return Err("an attribute has no value".into());
        };
        let (name, after) = (trimmed[..equals].trim_ascii_end(), trimmed[equals + 1..].trim_ascii_start());
        let quote = after.bytes().next().filter(|byte| matches!(byte, b'"' | b'\''));
        let Some(quote) = quote else { return Err(format!("the value of {name} has no quotes")) };
        let Some(length) = memchr(quote, &after.as_bytes()[1..]) else {
            return Err(format!("the value of {name} is not closed"));
        };
        let (value, after) = (&after[1..=length], &after[length + 2..]);
        if rigour == Rigour::Strict && (!is_name(name) || memchr(b'<', value.as_bytes()).is_some()) {
            return Err(format!("the attribute {name} is not well-formed"));
        }
        if attributes.len() >= limits.attributes {
            return Err(format!("more than {} attributes", limits.attributes));
        }
        if attributes.iter().any(|(other, _)| *other == name) {
            if rigour == Rigour::Strict {
                return Err(format!("the attribute {name} is given twice"));
            }
        } else {
            attributes.push((name, attribute_value(value, rigour)?));
        }
        rest = after;
    }
}

/// ` name="value"` in which nothing is unusual, as nearly all are: the name, the value, and what follows.
fn plain_attribute(text: &str) -> Option<(&str, &str, &str)> {
    let text = text.strip_prefix(' ')?;
    let (name, after) = text.split_at(plain_name_length(text)?);
    let after = after.strip_prefix("=\"")?;
    let end = after.bytes().position(|byte| byte < b' ' || matches!(byte, b'"' | b'&' | b'<'))?;
    let (value, after) = after.split_at(end);
    Some((name, value, after.strip_prefix('"')?))
}

fn attribute_value(raw: &str, rigour: Rigour) -> Result<Cow<'_, str>, String> {
    if !raw.bytes().any(|byte| matches!(byte, b'&' | b'\n' | b'\t' | b'\r')) {
        return Ok(Cow::Borrowed(raw));
    }
    let mut value = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('&') {
        value.push_str(&rest[..at]);
        let end = rest[at..].find(';').map(|end| at + end + 1);
        match end.and_then(|end| Some((entities::resolve(&rest[at + 1..end - 1], rigour)?, end))) {
            Some((text, end)) => {
                value.push_str(&text);
                rest = &rest[end..];
            }
            None if rigour == Rigour::Lenient => {
                value.push('&');
                rest = &rest[at + 1..];
            }
            None => return Err("& in an attribute is no reference".into()),
        }
    }
    value.push_str(rest);
    Ok(Cow::Owned(value.replace(['\n', '\t', '\r'], " ")))
}

/// `&amp;` and the like; some names of HTML too, where one is not strict.
fn reference<'a>(slice: &'a str, rigour: Rigour, visitor: &mut impl Visitor<'a>) -> Option<Cow<'a, str>> {
    let name = slice.strip_prefix('&')?.strip_suffix(';')?;
    if let Some(text) = entities::resolve(name, Rigour::Strict) {
        return Some(Cow::Owned(text.into_owned()));
    }
    if rigour == Rigour::Strict {
        return None;
    }
    visitor.guessed("xml_entity_guessed", slice);
    Some(match entities::resolve(name, rigour) {
        Some(text) => Cow::Owned(text.into_owned()),
        None => Cow::Borrowed(slice),
    })
}

pub(super) fn line_ends(text: &str) -> Cow<'_, str> {
    if memchr(b'\r', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
}

/// Control characters other than tab and line ends; U+FFFE and U+FFFF.
pub(super) fn forbidden_character(bytes: &[u8]) -> Option<usize> {
    let control = |byte: u8| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r');
    let any = bytes.iter().fold(false, |any, byte| any | control(*byte));
    if any {
        return bytes.iter().position(|byte| control(*byte));
    }
    memchr::memchr_iter(0xEF, bytes).find(|at| matches!(bytes[*at..], [_, 0xBF, 0xBE | 0xBF, ..]))
}

fn is_name(name: &str) -> bool {
    if plain_name_length(name) == Some(name.len()) {
        return true;
    }
    let first = |c: char| c.is_alphabetic() || c == '_' || c == ':';
    name.chars().next().is_some_and(first)
        && name.chars().all(|c| first(c) || c.is_alphanumeric() || matches!(c, '-' | '.' | '·'))
}

/// The length of the name that a text begins with, if it is in ASCII and without a prefix, as nearly all are.
pub(super) fn plain_name_length(text: &str) -> Option<usize> {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let length = text.bytes().position(|byte| !inside(byte)).unwrap_or(text.len());
    let begins = text.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_');
    begins.then_some(length)
}
