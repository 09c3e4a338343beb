//! The part of the text that is being read, with its place in the file.

use memchr::{memchr_iter, memrchr};

use crate::fatal::Fatal;
use crate::text::Text;

/// Text from the first byte not yet consumed on. It grows only while a record or a token is not whole yet.
pub(crate) struct Window {
    source: Text,
    buffer: String,
    /// Of what is not consumed; perhaps inside of a character, where a record that is too long was passed over.
    start: usize,
    ended: bool,
    /// Of the first byte not consumed: its line, its offset in the text, and the offset where its line began.
    line: u64,
    offset: u64,
    line_start: u64,
}

impl Window {
    pub(crate) fn new(source: Text) -> Self {
        Self { source, buffer: String::new(), start: 0, ended: false, line: 1, offset: 0, line_start: 0 }
    }

    pub(crate) fn data(&self) -> &[u8] {
        &self.buffer.as_bytes()[self.start..]
    }

    /// The same as text; empty if it begins inside of a character.
    pub(crate) fn text(&self) -> &str {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    pub(crate) fn source(&self) -> &Text {
        &self.source
    }

    /// Reads on, about as much as there is already: what has to be searched again then costs no more than reading it.
    pub(crate) fn more(&mut self) -> Result<bool, Fatal> {
        if self.ended {
            return Ok(false);
        }
        let passed = self.buffer.floor_char_boundary(self.start);
        self.buffer.drain(..passed);
        self.start -= passed;
        let wanted = self.buffer.len();
        let before = self.buffer.len();
        loop {
            let read = self.source.read(&mut self.buffer).map_err(|fatal| self.placed(fatal))?;
            if read == 0 {
                self.ended = true;
                break;
            }
            if self.buffer.len() - before >= wanted {
                break;
            }
        }
        Ok(self.buffer.len() > before)
    }

    /// At least so many bytes, unless the text ends before.
    pub(crate) fn at_least(&mut self, bytes: usize) -> Result<&[u8], Fatal> {
        while self.data().len() < bytes && self.more()? {}
        Ok(self.data())
    }

    /// The beginning of what stands at a place, to show it: the same wherever the pieces of the file are cut. A file that
    /// breaks off shows what there is.
    pub(crate) fn excerpt(&mut self, at: usize, chars: usize) -> String {
        let _ = self.at_least(at + chars * 4);
        let rest = &self.data()[at.min(self.data().len())..];
        String::from_utf8_lossy(rest).chars().take(chars).collect()
    }

    pub(crate) fn consume(&mut self, bytes: usize) {
        let consumed = &self.buffer.as_bytes()[self.start..self.start + bytes];
        if let Some(last) = memrchr(b'\n', consumed) {
            self.line += memchr_iter(b'\n', consumed).count() as u64;
            self.line_start = self.offset + last as u64 + 1;
        }
        self.offset += bytes as u64;
        self.start += bytes;
    }

    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Bytes of text consumed so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Line and column of a byte of [`Self::data`].
    pub(crate) fn place(&self, at: usize) -> (u64, u64) {
        let before = &self.data()[..at.min(self.data().len())];
        let column = match memrchr(b'\n', before) {
            Some(last) => characters(&before[last + 1..]),
            None => self.offset - self.line_start + characters(before),
        };
        (self.line + memchr_iter(b'\n', before).count() as u64, column + 1)
    }

    fn placed(&self, fatal: Fatal) -> Fatal {
        if fatal.line == 0 && !fatal.transient { fatal.at((self.line, 0)) } else { fatal }
    }
}

fn characters(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| (**byte & 0xC0) != 0x80).count() as u64
}
