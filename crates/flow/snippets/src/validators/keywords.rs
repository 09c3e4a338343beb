//! Unknown keywords, which `StrictSchema` refuses: a misspelt one lets everything through in silence, and so does one of
//! another draft.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Map, Value};

use super::drafts::Draft;
use crate::json::child;

/// Keywords that hold a schema, schemas by name, or a list of schemas (some hold either).
const ONE: &[&str] = &[
    "not",
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "propertyNames",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
    "extends",
    "disallow",
    "type",
];
const NAMED: &[&str] =
    &["definitions", "$defs", "properties", "patternProperties", "dependencies", "dependentSchemas"];
const LISTED: &[&str] = &["allOf", "anyOf", "oneOf", "items", "prefixItems", "extends", "disallow", "type"];

/// What cannot stand in a URI; the percent sign is left as it is, since who knows of it has used it.
const NOT_IN_URIS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

pub(super) fn check(schema: &mut Value, draft: Draft) -> Result<(), String> {
    each_schema(
        schema,
        "",
        &mut |object, pointer| match object.keys().find(|keyword| !draft.knows(keyword)) {
            Some(keyword) => {
                let place = if pointer.is_empty() { "the schema" } else { pointer };
                Err(format!("the keyword {keyword:?} in {place} is not known in this draft"))
            }
            None => Ok(()),
        },
    )
}

/// A file may be referred to by its name as it is, though a reference is a URI and has no letters but Latin ones.
pub(super) fn encode_references(schema: &mut Value) -> Result<(), String> {
    each_schema(schema, "", &mut |object, _| {
        if let Some(Value::String(reference)) = object.get_mut("$ref") {
            *reference = utf8_percent_encode(reference, NOT_IN_URIS).to_string();
        }
        Ok(())
    })
}

/// Shows the schema and those in it, each with its JSON pointer.
fn each_schema(
    schema: &mut Value,
    pointer: &str,
    look: &mut impl FnMut(&mut Map<String, Value>, &str) -> Result<(), String>,
) -> Result<(), String> {
    let Value::Object(object) = schema else { return Ok(()) };
    look(object, pointer)?;
    for (keyword, value) in object {
        let pointer = child(pointer, keyword);
        let keyword = keyword.as_str();
        match value {
            Value::Object(named) if NAMED.contains(&keyword) => {
                for (name, value) in named {
                    each_schema(value, &child(&pointer, name), look)?;
                }
            }
            Value::Object(_) if ONE.contains(&keyword) => each_schema(value, &pointer, look)?,
            Value::Array(listed) if LISTED.contains(&keyword) => {
                for (index, value) in listed.iter_mut().enumerate() {
                    each_schema(value, &child(&pointer, &index.to_string()), look)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}
