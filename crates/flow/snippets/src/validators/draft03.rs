//! Draft-03 as draft-04: the same meaning in the newer words.

use serde_json::{Map, Value, json};

use super::drafts::Draft;
use super::schema_files::{Strictness, read_as_written, target};
use crate::config::Assets;
use crate::json::child;

/// References and bases that are followed to learn whether a property is required.
const MAX_HOPS: usize = 32;
/// Draft-03's time of day has no zone, which `time` has in the other drafts.
const TIME: &str = "^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$";

/// The schema of a file as draft-04.
pub(super) fn translate(
    schema: &Value,
    file: &str,
    assets: &Assets,
    strictness: Strictness,
) -> Result<Value, String> {
    let Value::Object(object) = schema else { return Err("a schema is a JSON object".to_owned()) };
    let document = Document { root: schema, file, assets, strictness };
    Ok(Value::Object(document.schema(object, "")?))
}

/// A file of draft-03. Functions get the JSON pointer of what they translate.
struct Document<'a> {
    root: &'a Value,
    file: &'a str,
    assets: &'a Assets,
    strictness: Strictness,
}

impl Document<'_> {
    fn schema(&self, old: &Map<String, Value>, pointer: &str) -> Result<Map<String, Value>, String> {
        let mut new = Map::new();
        let mut all_of = Vec::new();
        for (keyword, value) in old {
            let pointer = child(pointer, keyword);
            let mut put = |keyword: &str, value| drop(new.insert(keyword.to_owned(), value));
            match keyword.as_str() {
                // Whoever has the property says it.
                "required" if value.is_boolean() => {}
                "required" => return Err(format!("{pointer}: true or false is expected, not {value}")),
                "divisibleBy" => put("multipleOf", value.clone()),
                "extends" => all_of.extend(self.many(value, &pointer)?),
                "disallow" => put("not", self.types(value, &pointer)?),
                "type" => match self.types(value, &pointer)? {
                    Value::Object(any) if any.is_empty() => {}
                    Value::Object(simple) if simple.contains_key("type") => new.extend(simple),
                    union => all_of.push(union),
                },
                "format" => match value.as_str() {
                    Some("ip-address") => put("format", "ipv4".into()),
                    Some("host-name") => put("format", "hostname".into()),
                    Some("time") => all_of.push(json!({ "pattern": TIME })),
                    // They say what a value is for, and demand nothing that could be checked.
                    Some("color" | "phone" | "style" | "utc-millisec") => {}
                    _ => put("format", value.clone()),
                },
                "dependencies" => put(keyword, self.dependencies(value, &pointer)?),
                "properties" => {
                    put(keyword, self.named(value, &pointer)?);
                    let names = self.required(value, &pointer)?;
                    if !names.is_empty() {
                        put("required", names.into());
                    }
                }
                "patternProperties" | "definitions" => put(keyword, self.named(value, &pointer)?),
                "items" if value.is_array() => put(keyword, self.many(value, &pointer)?.into()),
                "items" | "additionalItems" | "additionalProperties" => {
                    put(keyword, self.one(value, &pointer)?);
                }
                _ => put(keyword, value.clone()),
            }
        }
        if !all_of.is_empty() {
            new.insert("allOf".to_owned(), all_of.into());
        }
        Ok(new)
    }

    /// A schema, or what else may stand in its place.
    fn one(&self, value: &Value, pointer: &str) -> Result<Value, String> {
        match value {
            Value::Object(object) => Ok(Value::Object(self.schema(object, pointer)?)),
            other => Ok(other.clone()),
        }
    }

    fn many(&self, value: &Value, pointer: &str) -> Result<Vec<Value>, String> {
        let Value::Array(values) = value else { return Ok(vec![self.one(value, pointer)?]) };
        let each = values.iter().enumerate();
        each.map(|(index, value)| self.one(value, &child(pointer, &index.to_string()))).collect()
    }

    fn named(&self, value: &Value, pointer: &str) -> Result<Value, String> {
        let mut new = Map::new();
        for (name, value) in members(value, pointer)? {
            let pointer = child(pointer, name);
            if !value.is_object() {
                return Err(format!("{pointer}: a schema is expected, not {value}"));
            }
            new.insert(name.clone(), self.one(value, &pointer)?);
        }
        Ok(Value::Object(new))
    }

    /// A type may be `any`, a list, and hold schemas.
    fn types(&self, value: &Value, pointer: &str) -> Result<Value, String> {
        let types = match value {
            Value::Array(types) => types.as_slice(),
            one => std::slice::from_ref(one),
        };
        if types.iter().any(|one| one == "any") {
            return Ok(json!({}));
        }
        if types.iter().all(Value::is_string) {
            return Ok(json!({ "type": value }));
        }
        let mut any_of = self.many(value, pointer)?;
        for one in &mut any_of {
            if one.is_string() {
                *one = json!({ "type": one });
            }
        }
        Ok(json!({ "anyOf": any_of }))
    }

    fn dependencies(&self, value: &Value, pointer: &str) -> Result<Value, String> {
        let mut new = Map::new();
        for (name, value) in members(value, pointer)? {
            let needed =
                if value.is_string() { json!([value]) } else { self.one(value, &child(pointer, name))? };
            new.insert(name.clone(), needed);
        }
        Ok(Value::Object(new))
    }

    /// The properties whose schemas say that they are required.
    fn required(&self, properties: &Value, pointer: &str) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        for (name, schema) in members(properties, pointer)? {
            let required = self.is_required(schema, 0).map_err(|reason| {
                format!("{}: whether it is required cannot be told: {reason}", child(pointer, name))
            })?;
            if required {
                names.push(name.clone());
            }
        }
        Ok(names)
    }

    /// Whether a schema, one that it extends, or the one that it refers to, says that it is required.
    fn is_required(&self, schema: &Value, hops: usize) -> Result<bool, String> {
        if hops > MAX_HOPS {
            return Err(format!("it refers further than {MAX_HOPS} times, perhaps in a circle"));
        }
        if schema.get("required") == Some(&Value::Bool(true)) {
            return Ok(true);
        }
        let extended = match schema.get("extends") {
            Some(Value::Array(bases)) => bases.as_slice(),
            Some(base) => std::slice::from_ref(base),
            None => &[],
        };
        for base in extended {
            if self.is_required(base, hops + 1)? {
                return Ok(true);
            }
        }
        match schema.get("$ref") {
            Some(Value::String(reference)) => self.is_required_behind(reference, hops + 1),
            _ => Ok(false),
        }
    }

    fn is_required_behind(&self, reference: &str, hops: usize) -> Result<bool, String> {
        // What is not there is refused when the schema is put together.
        let at = |document: &Document<'_>, pointer: &str| match document.root.pointer(pointer) {
            Some(schema) => document.is_required(schema, hops),
            None => Ok(false),
        };
        let (file, pointer) = target(self.file, reference)?;
        if reference.starts_with('#') {
            return at(self, &pointer);
        }
        let (root, draft) = read_as_written(self.assets, &file, self.strictness)
            .map_err(|reason| format!("$ref to {file:?}: {reason}"))?;
        // Elsewhere, `required` is not about the schema that has it.
        if draft != Draft::Draft03 {
            return Ok(false);
        }
        at(&Document { root: &root, file: &file, ..*self }, &pointer)
    }
}

fn members<'v>(value: &'v Value, pointer: &str) -> Result<&'v Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{pointer}: an object is expected, not {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[(&str, &str)] = &[
        (
            "base.json",
            r##"{"$schema": "http://json-schema.org/draft-03/schema#", "required": true,
                 "definitions": {"id": {"extends": {"$ref": "#"}}, "free": {"type": "string"}}}"##,
        ),
        ("newer.json", r#"{"required": ["a"]}"#),
    ];

    fn translated(old: &Value) -> Result<Value, String> {
        translate(old, "a.json", &Assets::Embedded(FILES), Strictness::Refused)
    }

    #[test]
    fn the_meaning_is_kept_in_the_newer_words() {
        let check = |old: Value, new: Value| assert_eq!(translated(&old), Ok(new), "{old}");
        check(
            json!({"properties": {"a": {"type": "string", "required": true}, "b": {"type": "any"}}}),
            json!({"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}),
        );
        check(
            json!({"divisibleBy": 2, "disallow": "null"}),
            json!({"multipleOf": 2, "not": {"type": "null"}}),
        );
        check(json!({"extends": {"type": "object"}}), json!({"allOf": [{"type": "object"}]}));
        check(
            json!({"type": ["string", {"properties": {"x": {"required": true}}}]}),
            json!({"allOf": [{"anyOf": [{"type": "string"}, {"properties": {"x": {}}, "required": ["x"]}]}]}),
        );
        check(json!({"dependencies": {"a": "b"}}), json!({"dependencies": {"a": ["b"]}}));
        check(json!({"items": {"divisibleBy": 3}}), json!({"items": {"multipleOf": 3}}));
        check(json!({"format": "ip-address"}), json!({"format": "ipv4"}));
        check(json!({"format": "color"}), json!({}));
    }

    #[test]
    fn required_is_found_wherever_it_is_said() {
        let check = |schema: Value, expected: bool| {
            let old = json!({
                "properties": {"a": schema},
                "definitions": {"yes": {"required": true}, "no": {"required": false}, "round": {"$ref": "#/definitions/round"}},
            });
            let new = translated(&old).unwrap();
            assert_eq!(new.get("required"), expected.then(|| json!(["a"])).as_ref(), "{schema}");
        };
        check(json!({"$ref": "#/definitions/yes"}), true);
        check(json!({"$ref": "#/definitions/no"}), false);
        check(json!({"extends": {"required": true}}), true);
        check(json!({"extends": [{"type": "string"}, {"extends": {"$ref": "#/definitions/yes"}}]}), true);
        check(json!({"$ref": "base.json"}), true);
        check(json!({"$ref": "base.json#/definitions/id"}), true);
        check(json!({"$ref": "base.json#/definitions/free"}), false);
        check(json!({"$ref": "newer.json"}), false);
    }

    #[test]
    fn what_cannot_be_said_in_draft_04_is_refused_with_its_place() {
        let check = |schema: Value, words: &str| {
            let old = json!({"properties": {"a/b": schema}, "definitions": {"round": {"$ref": "#/definitions/round"}}});
            assert_eq!(translated(&old), Err(format!("/properties/a~1b{words}")));
        };
        let unknown = ": whether it is required cannot be told:";
        check(json!({"required": ["a"]}), "/required: true or false is expected, not [\"a\"]");
        check(
            json!({"items": {"required": "true"}}),
            "/items/required: true or false is expected, not \"true\"",
        );
        check(
            json!({"$ref": "http://example.org/x.json#"}),
            &format!("{unknown} http://example.org/x.json is not a file beside the configuration"),
        );
        check(
            json!({"$ref": "no.json"}),
            &format!("{unknown} $ref to \"no.json\": there is no file no.json"),
        );
        check(json!({"$ref": "#name"}), &format!("{unknown} \"#name\" is not a JSON pointer"));
        check(
            json!({"$ref": "#/definitions/round"}),
            &format!("{unknown} it refers further than 32 times, perhaps in a circle"),
        );
    }
}
