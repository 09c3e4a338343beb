//! Unknown keywords are refused: a misspelt one would let everything through in silence.

use jsonschema::Draft;
use serde_json::Value;

const DRAFT_04: &[&str] = &[
    "$schema",
    "$ref",
    "id",
    "title",
    "description",
    "default",
    "format",
    "type",
    "enum",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "definitions",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "items",
    "additionalItems",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxProperties",
    "minProperties",
    "required",
    "properties",
    "patternProperties",
    "additionalProperties",
    "dependencies",
];
const DRAFT_06: &[&str] = &["$id", "const", "contains", "propertyNames", "examples"];
const DRAFT_07: &[&str] =
    &["$comment", "if", "then", "else", "readOnly", "writeOnly", "contentMediaType", "contentEncoding"];
const DRAFT_2019: &[&str] = &[
    "$anchor",
    "$defs",
    "$vocabulary",
    "$recursiveRef",
    "$recursiveAnchor",
    "dependentSchemas",
    "dependentRequired",
    "unevaluatedItems",
    "unevaluatedProperties",
    "maxContains",
    "minContains",
    "deprecated",
    "contentSchema",
];
const DRAFT_2020: &[&str] = &["$dynamicRef", "$dynamicAnchor", "prefixItems"];

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
];
const NAMED: &[&str] =
    &["definitions", "$defs", "properties", "patternProperties", "dependencies", "dependentSchemas"];
const LISTED: &[&str] = &["allOf", "anyOf", "oneOf", "items", "prefixItems"];

pub(super) fn check(schema: &Value, draft: Draft) -> Result<(), String> {
    let sets: &[&[&str]] = match draft {
        Draft::Draft4 => &[DRAFT_04],
        Draft::Draft6 => &[DRAFT_04, DRAFT_06],
        Draft::Draft7 => &[DRAFT_04, DRAFT_06, DRAFT_07],
        Draft::Draft201909 => &[DRAFT_04, DRAFT_06, DRAFT_07, DRAFT_2019],
        _ => &[DRAFT_04, DRAFT_06, DRAFT_07, DRAFT_2019, DRAFT_2020],
    };
    check_at(schema, "", &|keyword| sets.iter().any(|set| set.contains(&keyword)))
}

fn check_at(schema: &Value, pointer: &str, known: &impl Fn(&str) -> bool) -> Result<(), String> {
    let Some(object) = schema.as_object() else { return Ok(()) };
    for (keyword, value) in object {
        if !known(keyword) {
            let place = if pointer.is_empty() { "the schema" } else { pointer };
            return Err(format!("the keyword {keyword:?} in {place} is not known in this draft"));
        }
        let pointer = format!("{pointer}/{keyword}");
        let keyword = keyword.as_str();
        if ONE.contains(&keyword) && value.is_object() {
            check_at(value, &pointer, known)?;
        }
        if NAMED.contains(&keyword) {
            for (name, value) in value.as_object().into_iter().flatten() {
                check_at(value, &format!("{pointer}/{name}"), known)?;
            }
        }
        if LISTED.contains(&keyword) {
            for (index, value) in value.as_array().into_iter().flatten().enumerate() {
                check_at(value, &format!("{pointer}/{index}"), known)?;
            }
        }
    }
    Ok(())
}
