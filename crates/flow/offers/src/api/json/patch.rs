use model::Content;
use model::fields::FIELDS;
use serde_json::{Map, Value};

use super::{ContentJson, Reader};
use crate::{Error, Result, validate};

/// A JSON merge patch (RFC 7396): nulls take away, objects merge, all else replaces.
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(fields) = target else { return };
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Value::Null), change);
        }
    }
}

/// The content after a patch. Fields that the patch does not name stay exactly as they are stored.
pub fn patched(before: &Content, patch: &Map<String, Value>, reader: Reader<'_>) -> Result<Content> {
    let mut whole = serde_json::to_value(ContentJson::read(before, &[], reader)).unwrap_or_default();
    merge(&mut whole, &Value::Object(patch.clone()));
    let Value::Object(whole) = whole else { return Ok(before.clone()) };
    let written = ContentJson::parse(whole).map_err(|problem| Error::Refused(Box::new(problem)))?;
    let mut after = written.write().map_err(Error::Invalid)?;
    for field in FIELDS.iter().filter(|field| field.json.is_none_or(|name| !patch.contains_key(name))) {
        (field.copy)(&mut after, before);
    }
    // A category of an earlier catalog follows its successor when nobody speaks of it.
    if !patch.contains_key("category")
        && let Some(now) = reader.catalog.replaced_by(&after.category_id)
    {
        now.clone_into(&mut after.category_id);
    }
    let settled = validate::settle(reader.catalog, after.clone());
    let unchanged = crate::diff::diff_contents(before, &after).is_empty();
    Ok(if unchanged { before.clone() } else { settled })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn merge_is_that_of_the_standard() {
        // The cases of RFC 7396, appendix A.
        for (target, patch, expected) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a": "b"}), json!(["c"]), json!(["c"])),
            (json!({"a": "foo"}), json!(null), json!(null)),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            let mut found = target.clone();
            merge(&mut found, &patch);
            assert_eq!(found, expected, "{target} and {patch}");
        }
    }
}
