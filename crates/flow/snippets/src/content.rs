use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::Value;

use crate::Format;
use crate::error::Invalid;
use crate::json::parse_json;

/// What was sent, before anything is made of it. Parsed at most once, however many snippets come of it.
pub struct Content {
    pub bytes: Bytes,
    pub format: Format,
    json: OnceLock<Result<Value, Invalid>>,
}

impl Content {
    pub fn new(bytes: Bytes, format: Format) -> Self {
        Self { bytes, format, json: OnceLock::new() }
    }

    /// The parsed JSON of content in that format.
    pub fn json(&self) -> Result<&Value, Invalid> {
        self.json.get_or_init(|| parse_json(&self.bytes)).as_ref().map_err(Clone::clone)
    }

    /// Refuses content that is not in its format at all.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        match self.format {
            Format::Json => self.json().map(drop),
            Format::Text if std::str::from_utf8(&self.bytes).is_err() => {
                Err(Invalid::new("this is not UTF-8"))
            }
            Format::Text | Format::Pb | Format::Binary => Ok(()),
        }
    }
}
