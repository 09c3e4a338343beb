//! XML formats without a schema of ours: a list of records, each read as a small tree and as far as it can be understood.

use std::collections::HashMap;

use model::Issue;

use super::cut::{Cut, Cutter};
use super::events::{self, Rigour};
use super::own::broken_issue;
use super::skeleton::{self, Token};
use super::tree::{self, Node};
use super::{Found, Source};
use crate::fatal::Fatal;
use crate::issue;
use crate::limits::Limits;
use crate::offer::FeedOffer;
use crate::window::Window;

/// What stands in the file before the records and is needed to read them.
#[derive(Default)]
pub(crate) struct Preface {
    /// Id → name and the parent's id.
    pub(crate) categories: HashMap<String, (String, String)>,
}

pub(crate) type Convert = fn(&Node, &Preface, &mut Vec<Issue>) -> FeedOffer;

pub(crate) struct Listed {
    cutter: Cutter,
    convert: Convert,
    preface: Preface,
    open: Vec<String>,
    /// The category that is being declared.
    category: Option<(String, String, String)>,
    /// Of all categories so far.
    category_bytes: usize,
    ended: bool,
}

impl Listed {
    pub(crate) fn new(record: &'static str, list: &'static str, convert: Convert) -> Self {
        Self {
            cutter: Cutter::new(record, list),
            convert,
            preface: Preface::default(),
            open: Vec::new(),
            category: None,
            category_bytes: 0,
            ended: false,
        }
    }

    /// One token outside of records. False: the end.
    fn around(&mut self, window: &mut Window, limits: &Limits) -> Result<bool, Fatal> {
        let len = match skeleton::token(window, limits)? {
            Token::Eof => {
                // Without its last end tag a file may have lost its tail.
                if self.open.is_empty() && self.ended {
                    return Ok(false);
                }
                return Err(Fatal::new("xml_truncated", &[]).at(window.place(0)));
            }
            Token::Other(len) | Token::Doctype(len) => len,
            Token::Text(len) | Token::CData(len) => {
                if let Some((_, _, name)) = &mut self.category
                    && name.len() + len < 4_096
                {
                    name.push_str(&plain(skeleton::text(&window.data()[..len])));
                }
                len
            }
            Token::Start { name, len, empty } => {
                if self.open.len() >= limits.depth {
                    return Err(Fatal::new("too_deep", &[&limits.depth.to_string()]).at(window.place(0)));
                }
                if name == "category" {
                    self.declare(skeleton::text(&window.data()[..len]), name.len(), limits);
                }
                if !empty {
                    self.open.push(name);
                }
                len
            }
            Token::End { name, len } => {
                self.close(&name, window, limits)?;
                len
            }
        };
        window.consume(len);
        Ok(true)
    }

    /// Tags that were never closed are closed by what is around them.
    fn close(&mut self, name: &str, window: &Window, limits: &Limits) -> Result<(), Fatal> {
        let Some(place) = self.open.iter().rposition(|open| open == name) else { return Ok(()) };
        self.open.truncate(place);
        self.ended = self.open.is_empty();
        if name == "category"
            && let Some((id, parent, name)) = self.category.take()
        {
            if self.preface.categories.len() >= limits.categories {
                let most = limits.categories.to_string();
                return Err(Fatal::new("categories_too_many", &[&most]).at(window.place(0)));
            }
            // A longer id is nobody's: offers that name it are told that it is not declared.
            if id.len().max(parent.len()) <= limits.category_id_bytes {
                let name = name.trim().to_owned();
                self.category_bytes += id.len() + name.len() + parent.len();
                if self.category_bytes > limits.category_bytes {
                    let most = limits.category_bytes.to_string();
                    return Err(Fatal::new("categories_too_long", &[&most]).at(window.place(0)));
                }
                self.preface.categories.insert(id, (name, parent));
            }
        }
        Ok(())
    }

    fn declare(&mut self, tag: &str, name_len: usize, limits: &Limits) {
        let mut attributes = Vec::new();
        let _ = events::parse_attributes(tag, 1 + name_len, Rigour::Lenient, limits, &mut attributes);
        let value = |wanted: &str| {
            let found = attributes.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
        };
        self.category = Some((value("id"), value("parentId"), String::new()));
    }

    fn read(&self, text: &str, line: u64, limits: &Limits) -> (FeedOffer, Vec<Issue>) {
        // An element has at least one tag.
        if memchr::memchr_iter(b'<', text.as_bytes()).count() > 2 * limits.record_values {
            return (scraps(text, limits), vec![record_too_full(limits)]);
        }
        let mut issues = Vec::new();
        match tree::read(text, Rigour::Lenient, limits) {
            Ok((node, guesses)) => {
                for (code, value) in guesses {
                    issues.push(issue::warning(code, "", &value));
                }
                let offer = (self.convert)(&node, &self.preface, &mut issues);
                (offer, issues)
            }
            Err(broken) => {
                let before = &text.as_bytes()[..broken.at.min(text.len())];
                let lines = memchr::memchr_iter(b'\n', before).count() as i64;
                let at = if lines == 0 { 0 } else { line as i64 + lines };
                issues.push(broken_issue(broken.code, "", &broken.what, at));
                (scraps(text, limits), issues)
            }
        }
    }
}

impl Source for Listed {
    fn next(&mut self, window: &mut Window, limits: &Limits) -> Result<Option<Found>, Fatal> {
        loop {
            let data = window.at_least(16)?;
            if !self.open.is_empty() && self.cutter.begins(data) {
                break;
            }
            if !self.around(window, limits)? {
                return Ok(None);
            }
        }
        let line = window.line();
        Ok(Some(match self.cutter.cut(window, limits)? {
            Cut::Whole(len) | Cut::Unclosed(len) => {
                let (offer, issues) = self.read(skeleton::text(&window.data()[..len]), line, limits);
                Found { line, offer, issues, len }
            }
            Cut::TooLong(len) => {
                let (offer, issues) = too_long(&window.data()[..len], limits);
                window.consume(len);
                self.cutter.skip(window)?;
                Found { line, offer, issues, len: 0 }
            }
        }))
    }
}

/// A name with its references resolved.
fn plain(text: &str) -> String {
    let text = text.strip_prefix("<![CDATA[").and_then(|rest| rest.strip_suffix("]]>")).unwrap_or(text);
    let pairs =
        [("&amp;", "&"), ("&quot;", "\""), ("&apos;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&nbsp;", " ")];
    pairs.iter().fold(text.to_owned(), |text, (name, sign)| text.replace(name, sign))
}

/// Of a record that is longer than allowed: the id that its beginning says, so that its offer is not taken for one that
/// is gone.
pub(super) fn too_long(beginning: &[u8], limits: &Limits) -> (FeedOffer, Vec<Issue>) {
    // The end may be in the middle of a letter.
    (scraps(&String::from_utf8_lossy(beginning), limits), vec![record_too_long(limits)])
}

pub(super) fn record_too_long(limits: &Limits) -> Issue {
    issue::with(issue::error("record_too_long", "", ""), &[&limits.record_bytes.to_string()])
}

pub(super) fn record_too_full(limits: &Limits) -> Issue {
    issue::with(issue::error("record_too_full", "", ""), &[&limits.record_values.to_string()])
}

/// Of a record that cannot be read: its id, so that the offer it belongs to is known.
pub(super) fn scraps(text: &str, limits: &Limits) -> FeedOffer {
    let mut attributes = Vec::new();
    let name = text.find([' ', '>', '\n', '\t', '\r', '/']).unwrap_or(text.len());
    let tag = &text[..super::cut::tag_end(text.as_bytes()).unwrap_or(text.len())];
    let _ = events::parse_attributes(tag, name, Rigour::Lenient, limits, &mut attributes);
    let own = attributes.iter().find(|(name, _)| *name == "id").map(|(_, value)| value.to_string());
    let inner = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        let (value, _) = rest.split_once("</")?;
        Some(value.trim().to_owned()).filter(|value| value.len() <= 256 && !value.contains('<'))
    };
    let id = own.or_else(|| inner("Id")).or_else(|| inner("g:id")).or_else(|| inner("id"));
    FeedOffer { id: id.unwrap_or_default(), ..FeedOffer::default() }
}
