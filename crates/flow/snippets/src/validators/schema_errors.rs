//! What is wrong with a schema, and where in it.

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{ReferencingError, ValidationError};
use serde_json::Value;

use super::schema_files::file_at;

/// For who wrote the schema: the library's words are for programmers.
pub(super) fn words(error: &ValidationError<'_>, schema: &Value) -> String {
    if let Kind::Referencing(error) = error.kind() {
        return reference_words(error);
    }
    let error = deepest(error);
    let pointer = error.instance_path().as_str();
    let place = match pointer {
        "" => "the schema".to_owned(),
        // The library does not say in which file.
        _ if schema.pointer(pointer).is_none() => format!("{pointer} of a file that it refers to"),
        _ => pointer.to_owned(),
    };
    match (error.kind(), error.instance().as_str()) {
        (Kind::Custom { .. }, Some(format)) if pointer.ends_with("/format") => {
            format!("{place}: the format {format:?} is not known in this draft")
        }
        _ => format!("{place}: {}", shortened(&error.to_string())),
    }
}

fn reference_words(error: &ReferencingError) -> String {
    match error {
        ReferencingError::Unretrievable { uri, source } => {
            let file = file_at(uri).unwrap_or_else(|| uri.clone());
            format!("$ref to {file:?}: {source}")
        }
        ReferencingError::PointerToNowhere { pointer } => {
            format!("a $ref leads to {pointer}, where nothing is")
        }
        other => format!("a $ref leads nowhere: {other}"),
    }
}

/// Of a choice that nothing fits, the fault that is deepest inside: it is in the alternative that was meant.
fn deepest<'e, 'i>(error: &'e ValidationError<'i>) -> &'e ValidationError<'i> {
    let (Kind::AnyOf { context } | Kind::OneOfNotValid { context }) = error.kind() else { return error };
    let depth = |error: &ValidationError<'_>| error.instance_path().as_str().matches('/').count();
    context.iter().flatten().map(deepest).fold(error, |deepest, inner| {
        let is_choice = std::ptr::eq(deepest, error);
        if is_choice || depth(inner) > depth(deepest) { inner } else { deepest }
    })
}

/// The validator repeats the value, which may be large.
pub(super) fn shortened(message: &str) -> String {
    const MAX_CHARS: usize = 500;
    let count = message.chars().count();
    if count <= MAX_CHARS {
        return message.to_owned();
    }
    let head: String = message.chars().take(MAX_CHARS / 2).collect();
    let tail: String = message.chars().skip(count - MAX_CHARS / 2).collect();
    format!("{head} … {tail}")
}
