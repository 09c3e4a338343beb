//! The files of schemas, which refer to each other by address.

use std::borrow::Cow;
use std::sync::Arc;

use jsonschema::{Retrieve, Uri, uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

use super::drafts::Draft;
use super::schema_errors::words;
use super::{draft03, keywords};
use crate::config::Assets;
use crate::json::parse_json;

/// Files of a schema name each other under this address.
const BASE: &str = "snippets:///";

/// What has a meaning of its own in an address, but the slash.
const NOT_IN_PATHS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// The address of a file.
pub(super) fn address(file: &str) -> String {
    format!("{BASE}{}", utf8_percent_encode(file, NOT_IN_PATHS))
}

/// The file at an address.
pub(super) fn file_at(address: &str) -> Option<String> {
    let path = address.strip_prefix(BASE)?;
    percent_decode_str(path).decode_utf8().ok().map(Cow::into_owned)
}

/// The file and the place in it that a reference in a file leads to.
pub(super) fn target(file: &str, reference: &str) -> Result<(String, String), String> {
    let said = |error: jsonschema::ReferencingError| error.to_string();
    let base = uri::from_str(&address(file)).map_err(said)?;
    let full = uri::resolve_against(&base.borrow(), reference).map_err(said)?;
    let (address, fragment) = full.as_str().split_once('#').unwrap_or((full.as_str(), ""));
    let pointer = percent_decode_str(fragment).decode_utf8_lossy().into_owned();
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(format!("{reference:?} is not a JSON pointer"));
    }
    let file = file_at(address).ok_or_else(|| format!("{address} is not a file beside the configuration"))?;
    Ok((file, pointer))
}

/// What becomes of keywords that a draft does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// They mean nothing, as the drafts say.
    Allowed,
    /// A misspelt one would let everything through in silence.
    Refused,
}

/// A schema as it can be evaluated, with its draft named in it.
pub(super) fn read(assets: &Assets, file: &str, strictness: Strictness) -> Result<Value, String> {
    let (mut schema, draft) = read_as_written(assets, file, strictness)?;
    if draft == Draft::Draft03 {
        schema = draft03::translate(&schema, file, assets, strictness)?;
    }
    if let Value::Object(object) = &mut schema {
        object.insert("$schema".to_owned(), draft.evaluated_as().into());
    }
    jsonschema::meta::validate(&schema).map_err(|error| words(&error, &schema))?;
    Ok(schema)
}

/// A schema before it is translated.
pub(super) fn read_as_written(
    assets: &Assets,
    file: &str,
    strictness: Strictness,
) -> Result<(Value, Draft), String> {
    let mut schema = parse_json(&assets.read(file)?).map_err(|invalid| match invalid.pointer.as_str() {
        "" => invalid.message,
        pointer => format!("{pointer}: {}", invalid.message),
    })?;
    let draft = Draft::of(&schema)?;
    if strictness == Strictness::Refused {
        keywords::check(&mut schema, draft)?;
    }
    keywords::encode_references(&mut schema)?;
    Ok((schema, draft))
}

/// Finds files for the library.
pub(super) struct Files(pub(super) Arc<Assets>, pub(super) Strictness);

impl Retrieve for Files {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        let file = file_at(uri.as_str()).ok_or("this is not a file beside the configuration")?;
        Ok(read(&self.0, &file, self.1)?)
    }
}
