//! Records are cut out of the text by their outer tags, before anything in them is looked at: whatever is broken inside
//! of one stays inside of it.

use memchr::memmem;

use crate::fatal::Fatal;
use crate::limits::Limits;
use crate::window::Window;

/// How the record that begins at the window's first byte ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// After its end tag.
    Whole(usize),
    /// Another record begins, or the list ends, before its end tag.
    Unclosed(usize),
    /// Longer than allowed; this much of it is passed over.
    TooLong(usize),
}

pub(crate) struct Cutter {
    open: Vec<u8>,
    close: Vec<u8>,
    list_close: Vec<u8>,
}

impl Cutter {
    /// `element` is the record, `list` what holds the records.
    pub(crate) fn new(element: &str, list: &str) -> Self {
        let tag = |mark: &str, name: &str| format!("{mark}{name}").into_bytes();
        Self { open: tag("<", element), close: tag("</", element), list_close: tag("</", list) }
    }

    /// Whether a record begins here.
    pub(crate) fn begins(&self, data: &[u8]) -> bool {
        starts_tag(data, &self.open)
    }

    pub(crate) fn cut(&self, window: &mut Window, limits: &Limits) -> Result<Cut, Fatal> {
        loop {
            let data = window.data();
            let searched = &data[..data.len().min(limits.record_bytes)];
            let full = searched.len() == limits.record_bytes;
            if let Some(cut) = self.find(searched) {
                return Ok(cut);
            }
            if full || !window.more()? {
                if !full && !window.ended() {
                    continue;
                }
                return self.give_up(window, limits, full);
            }
        }
    }

    fn find(&self, data: &[u8]) -> Option<Cut> {
        let tag = tag_end(data)?;
        if data[..tag].ends_with(b"/>") {
            return Some(Cut::Whole(tag));
        }
        let end = find_tag(data, tag, &self.close)?;
        let inside = &data[tag..end];
        let marked = memmem::find(inside, b"<![CDATA[").is_some() || memmem::find(inside, b"<!--").is_some();
        if marked {
            return self.find_carefully(data, tag);
        }
        match find_tag(data, tag, &self.open).filter(|next| *next < end) {
            Some(next) => Some(Cut::Unclosed(next)),
            None => close_end(data, end).map(Cut::Whole),
        }
    }

    /// With CDATA and comments, in which tags are only text.
    fn find_carefully(&self, data: &[u8], from: usize) -> Option<Cut> {
        let mut at = from;
        loop {
            at += memchr::memchr(b'<', &data[at..])?;
            let rest = &data[at..];
            if rest.starts_with(b"<![CDATA[") {
                at += memmem::find(rest, b"]]>")? + 3;
            } else if rest.starts_with(b"<!--") {
                at += memmem::find(&rest[4..], b"-->")? + 7;
            } else if starts_tag(rest, &self.close) {
                return close_end(data, at).map(Cut::Whole);
            } else if starts_tag(rest, &self.open) {
                return Some(Cut::Unclosed(at));
            } else {
                at += 1;
            }
        }
    }

    /// No end in sight: the text ended, or the record is too long.
    fn give_up(&self, window: &mut Window, limits: &Limits, full: bool) -> Result<Cut, Fatal> {
        let data = window.data();
        let searched = &data[..data.len().min(limits.record_bytes)];
        let next = find_tag(searched, 1, &self.open);
        let list = find_tag(searched, 1, &self.list_close);
        let end = match (next, list) {
            (Some(next), Some(list)) => Some(next.min(list)),
            (next, list) => next.or(list),
        };
        match end {
            Some(end) => Ok(Cut::Unclosed(end)),
            None if full => Ok(Cut::TooLong(searched.len())),
            None => Err(Fatal::new("xml_truncated", &[]).at(window.place(data.len()))),
        }
    }

    /// After a record that was too long: goes on to its end or to the next one.
    pub(crate) fn skip(&self, window: &mut Window) -> Result<(), Fatal> {
        loop {
            let data = window.data();
            let close = find_tag(data, 0, &self.close).and_then(|at| close_end(data, at));
            let open = find_tag(data, 0, &self.open);
            let end = match (close, open) {
                (Some(close), Some(open)) => Some(close.min(open)),
                (close, open) => close.or(open),
            };
            if let Some(end) = end {
                window.consume(end);
                return Ok(());
            }
            // A tag may be cut by the window's end.
            let kept = 64.min(data.len());
            let passed = data.len() - kept;
            window.consume(passed);
            if !window.more()? {
                return Err(Fatal::new("xml_truncated", &[]).at(window.place(kept)));
            }
        }
    }
}

/// The byte after `>` of the tag that begins the data; quotes may hold a `>`.
pub(crate) fn tag_end(data: &[u8]) -> Option<usize> {
    let mut quote = 0;
    for (at, byte) in data.iter().enumerate() {
        match byte {
            b'"' | b'\'' if quote == 0 => quote = *byte,
            byte if *byte == quote => quote = 0,
            b'>' if quote == 0 => return Some(at + 1),
            // A quote that was never closed; the tag is broken, and its record too.
            b'<' if at > 0 => return Some(at),
            _ => {}
        }
    }
    None
}

fn close_end(data: &[u8], at: usize) -> Option<usize> {
    memchr::memchr(b'>', &data[at..]).map(|end| at + end + 1)
}

/// `<offer` is not in `<offers`.
fn starts_tag(data: &[u8], tag: &[u8]) -> bool {
    let next = data.strip_prefix(tag).and_then(|rest| rest.first());
    matches!(next, Some(b' ' | b'\t' | b'\r' | b'\n' | b'>' | b'/'))
}

fn find_tag(data: &[u8], from: usize, tag: &[u8]) -> Option<usize> {
    let found = memmem::find_iter(data.get(from..)?, tag).map(|at| from + at);
    found.into_iter().find(|at| starts_tag(&data[*at..], tag))
}
