//! A document, or several, as a reader gets them, and the tag by which a writer says which ones it has read.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::Format;

/// Documents by name: `{"name": content, …}`.
pub(crate) fn json<'d>(documents: impl Iterator<Item = (&'d str, Format, &'d [u8])>) -> Vec<u8> {
    let mut body = vec![b'{'];
    for (index, (name, format, content)) in documents.enumerate() {
        body.extend_from_slice(if index == 0 { b"\"" } else { b",\"" });
        // Names need no escapes.
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(b"\":");
        write_content(&mut body, format, content);
    }
    body.push(b'}');
    body
}

/// A document as a JSON value: JSON as it is, text as a string, bytes as base64. In the format in which it was written: what
/// the snippet's `Output` is now says nothing about it.
pub(crate) fn write_content(out: &mut Vec<u8>, format: Format, content: &[u8]) {
    match format {
        Format::Json => out.extend_from_slice(content),
        Format::Text => {
            let text = String::from_utf8_lossy(content);
            out.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
        }
        Format::Pb | Format::Binary => {
            out.push(b'"');
            out.extend_from_slice(BASE64_STANDARD.encode(content).as_bytes());
            out.push(b'"');
        }
    }
}

/// The entity tag of what a reader gets.
pub(crate) fn tag(body: &[u8]) -> String {
    format!("\"{}\"", &blake3::hash(body).to_hex()[..32])
}
