//! How the key (and the version) of a topic's message is found.

use serde_json::Value;
use topics::Record;

use crate::Format;
pub(crate) use protobuf::ProtobufField;

mod protobuf;

/// Takes a text out of a message.
pub trait Extractor: Send + Sync {
    fn extract(&self, record: &Record) -> Result<String, String>;

    /// Whether it can find anything in messages of this format; asked when the configuration is read.
    fn reads(&self, _: Format) -> bool {
        true
    }
}

/// The message's own key.
pub(crate) struct MessageKey;

impl Extractor for MessageKey {
    fn extract(&self, record: &Record) -> Result<String, String> {
        String::from_utf8(record.key.clone()).map_err(|_| "the message's key is not UTF-8".to_owned())
    }
}

/// A header of the message.
pub(crate) struct HeaderValue(String);

impl HeaderValue {
    pub(crate) fn new(name: &str) -> Result<Self, String> {
        if name.is_empty() {
            Err("it needs a name: header:NAME".to_owned())
        } else {
            Ok(Self(name.to_owned()))
        }
    }
}

impl Extractor for HeaderValue {
    fn extract(&self, record: &Record) -> Result<String, String> {
        let value =
            record.header(&self.0).ok_or_else(|| format!("the message has no header {:?}", self.0))?;
        String::from_utf8(value.to_vec()).map_err(|_| format!("the header {:?} is not UTF-8", self.0))
    }
}

/// A value of a JSON message.
pub(crate) struct JsonPointer(String);

impl JsonPointer {
    pub(crate) fn new(pointer: &str) -> Result<Self, String> {
        if pointer.starts_with('/') {
            Ok(Self(pointer.to_owned()))
        } else {
            Err("it needs a JSON pointer: json:/a/b".to_owned())
        }
    }
}

impl Extractor for JsonPointer {
    fn extract(&self, record: &Record) -> Result<String, String> {
        let json: Value = serde_json::from_slice(&record.payload)
            .map_err(|error| format!("the message is not JSON: {error}"))?;
        match json.pointer(&self.0) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(_) => Err(format!("{} of the message is neither a text nor a number", self.0)),
            None => Err(format!("the message has no {}", self.0)),
        }
    }

    fn reads(&self, format: Format) -> bool {
        format != Format::Pb
    }
}
