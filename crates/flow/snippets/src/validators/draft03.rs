//! Draft-03 as draft-04: the same meaning in the newer words.

use serde_json::{Map, Value, json};

pub(super) fn translate(schema: Value) -> Result<Value, String> {
    let Value::Object(object) = schema else { return Err("a schema is a JSON object".to_owned()) };
    let mut translated = object_schema(object)?.0;
    translated.insert("$schema".to_owned(), "http://json-schema.org/draft-04/schema#".into());
    Ok(Value::Object(translated))
}

/// The schema, and whether its property is required, which draft-03 says inside.
fn object_schema(old: Map<String, Value>) -> Result<(Map<String, Value>, bool), String> {
    let mut new = Map::new();
    let mut required = false;
    let mut all_of = Vec::new();
    for (keyword, value) in old {
        match keyword.as_str() {
            "required" => required = value == Value::Bool(true),
            "divisibleBy" => drop(new.insert("multipleOf".to_owned(), value)),
            "extends" => all_of.extend(many(value)?),
            "disallow" => drop(new.insert("not".to_owned(), type_schema(value)?)),
            "type" => match type_schema(value)? {
                Value::Object(any) if any.is_empty() => {}
                Value::Object(simple) if simple.contains_key("type") => new.extend(simple),
                union => all_of.push(union),
            },
            "dependencies" => drop(new.insert(keyword, dependencies(value)?)),
            "properties" => {
                let (properties, names) = properties(value)?;
                new.insert(keyword, properties);
                if !names.is_empty() {
                    new.insert("required".to_owned(), Value::from(names));
                }
            }
            "patternProperties" | "definitions" => drop(new.insert(keyword, properties(value)?.0)),
            "items" | "additionalItems" | "additionalProperties" => {
                let value = if value.is_array() { Value::from(many(value)?) } else { one(value)? };
                new.insert(keyword, value);
            }
            _ => drop(new.insert(keyword, value)),
        }
    }
    if !all_of.is_empty() {
        new.insert("allOf".to_owned(), Value::from(all_of));
    }
    Ok((new, required))
}

/// A boolean or a schema.
fn one(value: Value) -> Result<Value, String> {
    match value {
        Value::Object(object) => Ok(Value::Object(object_schema(object)?.0)),
        other => Ok(other),
    }
}

fn many(value: Value) -> Result<Vec<Value>, String> {
    match value {
        Value::Array(values) => values.into_iter().map(one).collect(),
        other => Ok(vec![one(other)?]),
    }
}

fn properties(value: Value) -> Result<(Value, Vec<String>), String> {
    let Value::Object(object) = value else { return Err("properties are a JSON object".to_owned()) };
    let (mut new, mut names) = (Map::new(), Vec::new());
    for (name, value) in object {
        let Value::Object(schema) = value else { return Err(format!("property {name:?} has no schema")) };
        let (schema, required) = object_schema(schema)?;
        if required {
            names.push(name.clone());
        }
        new.insert(name, Value::Object(schema));
    }
    Ok((Value::Object(new), names))
}

/// A type may be `any`, a list, and hold schemas.
fn type_schema(value: Value) -> Result<Value, String> {
    let types = match value {
        Value::String(any) if any == "any" => return Ok(json!({})),
        Value::String(_) => return Ok(json!({ "type": value })),
        Value::Array(types) => types,
        other => vec![other],
    };
    if types.iter().any(|one| one == "any") {
        return Ok(json!({}));
    }
    if types.iter().all(Value::is_string) {
        return Ok(json!({ "type": types }));
    }
    let any_of: Result<Vec<_>, _> = types
        .into_iter()
        .map(|one_type| if one_type.is_string() { Ok(json!({ "type": one_type })) } else { one(one_type) })
        .collect();
    Ok(json!({ "anyOf": any_of? }))
}

fn dependencies(value: Value) -> Result<Value, String> {
    let Value::Object(object) = value else { return Err("dependencies are a JSON object".to_owned()) };
    let translated = object.into_iter().map(|(name, value)| {
        let value = if value.is_string() { json!([value]) } else { one(value)? };
        Ok((name, value))
    });
    Ok(Value::Object(translated.collect::<Result<_, String>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meaning_is_kept_in_the_newer_words() {
        let check = |old: Value, new: Value| {
            let Value::Object(mut found) = translate(old).unwrap() else { panic!("an object") };
            found.remove("$schema");
            assert_eq!(Value::Object(found), new);
        };
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
    }
}
