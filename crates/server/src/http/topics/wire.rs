use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use kit::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use topics::{Message, Record};

use web::{Problem, Result};

/// How a payload is written: as JSON itself, as text, in base64, or, of our own topics and for reading only, decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    #[default]
    Json,
    Text,
    Base64,
    Decoded,
}

/// A record to publish.
#[derive(Clone, Debug, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRecord {
    /// Records of one key stay in order.
    #[serde(default)]
    pub key: String,
    #[schema(value_type = Object)]
    pub payload: Value,
    #[serde(default)]
    pub encoding: Encoding,
    #[serde(default)]
    pub headers: Vec<HeaderItem>,
}

#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HeaderItem {
    pub name: String,
    pub value: String,
}

/// A record in its place.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RecordItem {
    pub partition: u32,
    pub offset: i64,
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Timestamp,
    /// Bytes that are not text are shown with replacement characters.
    pub key: String,
    #[schema(value_type = Object)]
    pub payload: Value,
    pub encoding: Encoding,
    pub headers: Vec<HeaderItem>,
}

impl RecordItem {
    /// Shows the payload as JSON if it is that, else as text, else in base64; or always in `only`, as far as it goes. What is
    /// no message of the topic cannot be decoded.
    pub fn new(topic: &str, record: Record, only: Option<Encoding>) -> Self {
        let decoded = only.filter(|only| *only == Encoding::Decoded);
        let decoded = decoded.and_then(|_| console::decode::message(topic, &record.payload));
        let (payload, encoding) = match decoded {
            Some(message) => (message, Encoding::Decoded),
            None => show(&record.payload, only.filter(|only| *only != Encoding::Decoded)),
        };
        let header = |(name, value): (String, Vec<u8>)| HeaderItem { name, value: lossy(&value) };
        Self {
            partition: record.partition,
            offset: record.offset,
            timestamp: record.timestamp,
            key: lossy(&record.key),
            payload,
            encoding,
            headers: record.headers.into_iter().map(header).collect(),
        }
    }
}

fn show(payload: &[u8], only: Option<Encoding>) -> (Value, Encoding) {
    if matches!(only, None | Some(Encoding::Json))
        && let Ok(json) = serde_json::from_slice(payload)
    {
        return (json, Encoding::Json);
    }
    match std::str::from_utf8(payload) {
        Ok(text) if only != Some(Encoding::Base64) => (Value::from(text), Encoding::Text),
        _ => (Value::from(BASE64_STANDARD.encode(payload)), Encoding::Base64),
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl TryFrom<NewRecord> for Message {
    type Error = Problem;

    fn try_from(record: NewRecord) -> Result<Self> {
        let wrong = |message: &str| Problem::field("payload", "bad_payload", message);
        let payload = match (record.encoding, record.payload) {
            (Encoding::Json, json) => json.to_string().into_bytes(),
            (Encoding::Text, Value::String(text)) => text.into_bytes(),
            (Encoding::Base64, Value::String(text)) => {
                BASE64_STANDARD.decode(text).map_err(|_| wrong("this is not base64"))?
            }
            (Encoding::Decoded, _) => return Err(wrong("a decoded message cannot be published")),
            (Encoding::Text | Encoding::Base64, _) => {
                return Err(wrong("in this encoding it must be a text"));
            }
        };
        let message = Self::new(record.key.into_bytes(), payload);
        Ok(record
            .headers
            .into_iter()
            .fold(message, |message, header| message.header(header.name, header.value)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn payloads_read_back_as_they_were_written() {
        let check = |payload: Value, encoding: Encoding, bytes: &[u8]| {
            let record = NewRecord { payload: payload.clone(), encoding, ..NewRecord::default() };
            let message = Message::try_from(record).unwrap();
            assert_eq!(message.payload, bytes, "{payload}");
            assert_eq!(show(bytes, Some(encoding)), (payload, encoding));
        };
        check(json!({"a": [1, null]}), Encoding::Json, b"{\"a\":[1,null]}");
        check(json!("text"), Encoding::Text, b"text");
        check(json!("AP8="), Encoding::Base64, &[0, 255]);
        assert_eq!(show(&[0, 255], None), (json!("AP8="), Encoding::Base64));
        assert_eq!(show(b"plain", None), (json!("plain"), Encoding::Text));
        assert!(
            Message::try_from(NewRecord {
                payload: json!(5),
                encoding: Encoding::Text,
                ..NewRecord::default()
            })
            .is_err()
        );
    }
}
