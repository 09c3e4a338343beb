//! The bytes as UTF-8, whatever encoding they came in.
//!
//! A byte order mark decides, then what the XML declaration says, unless the bytes contradict it. Without either a file
//! is UTF-8 until a byte says otherwise, and then windows-1251, the encoding of feeds that do not name one.

use std::io::Read;

use encoding_rs::{Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1251};

use crate::fatal::Fatal;

const CHUNK: usize = 128 << 10;
/// So much of the file is looked at before deciding.
const LOOK: usize = 64 << 10;

pub(crate) struct Text {
    source: Box<dyn Read + Send>,
    bytes: Vec<u8>,
    piece_bytes: usize,
    decoding: Decoding,
    encoding: &'static Encoding,
    /// What the file says of itself and is not.
    contradicted: Option<String>,
    replaced: bool,
    ended: bool,
}

enum Decoding {
    /// Passed through; `only_ascii` while every byte so far means the same in windows-1251.
    Utf8 {
        only_ascii: bool,
    },
    Other(Decoder),
}

impl Text {
    pub(crate) fn open(mut source: Box<dyn Read + Send>, piece_bytes: usize) -> Result<Self, Fatal> {
        let mut bytes = Vec::new();
        source.by_ref().take(LOOK as u64).read_to_end(&mut bytes).map_err(|error| Fatal::from_io(&error))?;
        let (encoding, skip, contradicted) = guess(&bytes)?;
        bytes.drain(..skip);
        let decoding = if encoding == UTF_8 {
            Decoding::Utf8 { only_ascii: true }
        } else {
            Decoding::Other(encoding.new_decoder_without_bom_handling())
        };
        let piece_bytes = piece_bytes.max(4);
        Ok(Self {
            source,
            bytes,
            piece_bytes,
            decoding,
            encoding,
            contradicted,
            replaced: false,
            ended: false,
        })
    }

    pub(crate) fn encoding(&self) -> &'static str {
        self.encoding.name()
    }

    /// The encoding that the file names, when the bytes are in another.
    pub(crate) fn contradicted(&self) -> Option<&str> {
        self.contradicted.as_deref()
    }

    /// Some bytes were no characters, and U+FFFD stands for them.
    pub(crate) fn replaced(&self) -> bool {
        self.replaced
    }

    /// Appends some text; 0: the end.
    pub(crate) fn read(&mut self, text: &mut String) -> Result<usize, Fatal> {
        let before = text.len();
        while text.len() == before {
            if self.bytes.len() < CHUNK / 2 && !self.ended {
                self.fill()?;
            }
            if self.bytes.is_empty() && self.ended {
                return Ok(self.flush(text));
            }
            self.decode(text);
        }
        Ok(text.len() - before)
    }

    fn fill(&mut self) -> Result<(), Fatal> {
        let kept = self.bytes.len();
        self.bytes.resize(kept + CHUNK, 0);
        let read = self.source.read(&mut self.bytes[kept..]).map_err(|error| Fatal::from_io(&error));
        self.bytes.truncate(kept + *read.as_ref().unwrap_or(&0));
        self.ended = read? == 0;
        Ok(())
    }

    fn decode(&mut self, text: &mut String) {
        let piece = &self.bytes[..self.bytes.len().min(self.piece_bytes)];
        let last = self.ended && piece.len() == self.bytes.len();
        match &mut self.decoding {
            Decoding::Utf8 { only_ascii } => match simdutf8::compat::from_utf8(piece) {
                Ok(whole) => {
                    *only_ascii = *only_ascii && whole.is_ascii();
                    text.push_str(whole);
                    let read = piece.len();
                    self.bytes.drain(..read);
                }
                Err(error) => {
                    let good = error.valid_up_to();
                    *only_ascii = *only_ascii && piece[..good].is_ascii();
                    text.push_str(simdutf8::basic::from_utf8(&piece[..good]).unwrap_or_default());
                    self.bytes.drain(..good);
                    match error.error_len() {
                        None if !last => {}
                        _ if *only_ascii => self.turn_to_windows(),
                        bad => {
                            self.bytes.drain(..bad.unwrap_or(self.bytes.len()));
                            text.push('\u{FFFD}');
                            self.replaced = true;
                        }
                    }
                }
            },
            Decoding::Other(decoder) => {
                let most = decoder.max_utf8_buffer_length(piece.len()).unwrap_or(CHUNK * 4);
                text.reserve(most);
                let (_, read, replaced) = decoder.decode_to_string(piece, text, false);
                self.bytes.drain(..read);
                self.replaced |= replaced;
            }
        }
    }

    /// The first byte beyond ASCII is no UTF-8.
    fn turn_to_windows(&mut self) {
        if self.contradicted.is_none() {
            self.contradicted = Some("UTF-8".into());
        }
        self.encoding = WINDOWS_1251;
        self.decoding = Decoding::Other(WINDOWS_1251.new_decoder_without_bom_handling());
    }

    fn flush(&mut self, text: &mut String) -> usize {
        if let Decoding::Other(decoder) = &mut self.decoding {
            let start = text.len();
            text.reserve(16);
            let (_, _, replaced) = decoder.decode_to_string(&[], text, true);
            self.replaced |= replaced;
            self.decoding = Decoding::Utf8 { only_ascii: false };
            return text.len() - start;
        }
        0
    }
}

/// The encoding, the length of its mark, and what the declaration says if that is not true.
fn guess(head: &[u8]) -> Result<(&'static Encoding, usize, Option<String>), Fatal> {
    if let Some((encoding, mark)) = Encoding::for_bom(head) {
        return Ok((encoding, mark, None));
    }
    match head {
        [b'<' | b'{' | b'[', 0, _, 0, ..] => return Ok((UTF_16LE, 0, None)),
        [0, b'<' | b'{' | b'[', 0, _, ..] => return Ok((UTF_16BE, 0, None)),
        _ => {}
    }
    let whole = match simdutf8::compat::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    let Some(label) = declared(head) else {
        return Ok((if whole { UTF_8 } else { WINDOWS_1251 }, 0, None));
    };
    let Some(named) = Encoding::for_label(label.as_bytes()) else {
        return Err(Fatal::new("encoding_unknown", &[&label]).at((1, 1)));
    };
    // A declaration that could be read byte by byte is not in UTF-16.
    let wide = named == UTF_16LE || named == UTF_16BE;
    let evidence = whole && !head.is_ascii();
    Ok(match named {
        _ if wide => (if whole { UTF_8 } else { WINDOWS_1251 }, 0, Some(label)),
        _ if named == UTF_8 && !whole && first_bad_is_first_foreign(head) => (WINDOWS_1251, 0, Some(label)),
        _ if named != UTF_8 && evidence => (UTF_8, 0, Some(label)),
        _ => (named, 0, None),
    })
}

fn first_bad_is_first_foreign(head: &[u8]) -> bool {
    simdutf8::compat::from_utf8(head).is_err_and(|error| head[..error.valid_up_to()].is_ascii())
}

/// `encoding="…"` of an XML declaration, also behind blank lines.
fn declared(head: &[u8]) -> Option<String> {
    let head = head.trim_ascii_start();
    let declaration = head.strip_prefix(b"<?xml")?;
    let end = memchr::memmem::find(declaration, b"?>")?;
    let declaration = String::from_utf8_lossy(&declaration[..end.min(500)]).into_owned();
    let (_, rest) = declaration.split_once("encoding")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| *c == '"' || *c == '\'')?;
    Some(rest[1..].split(quote).next()?.trim().to_owned())
}
