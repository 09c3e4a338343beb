//! The drafts of JSON Schema, and which keywords each of them knows.

use serde_json::Value;

use self::Draft::{Draft03, Draft04, Draft06, Draft07, Draft2019, Draft2020};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    Draft03,
    Draft04,
    Draft06,
    Draft07,
    Draft2019,
    Draft2020,
}

/// What `$schema` has in it, and its full text for the draft as which the schema is evaluated.
const NAMES: &[(Draft, &str, &str)] = &[
    (Draft03, "draft-03/", "http://json-schema.org/draft-04/schema#"),
    (Draft04, "draft-04/", "http://json-schema.org/draft-04/schema#"),
    (Draft06, "draft-06/", "http://json-schema.org/draft-06/schema#"),
    (Draft07, "draft-07/", "http://json-schema.org/draft-07/schema#"),
    (Draft2019, "draft/2019-09/", "https://json-schema.org/draft/2019-09/schema"),
    (Draft2020, "draft/2020-12/", "https://json-schema.org/draft/2020-12/schema"),
];

/// Each keyword with the first and the last draft that knows it.
const KEYWORDS: &[(&str, Draft, Draft)] = &[
    ("$schema", Draft03, Draft2020),
    ("$ref", Draft03, Draft2020),
    ("id", Draft03, Draft04),
    ("title", Draft03, Draft2020),
    ("description", Draft03, Draft2020),
    ("default", Draft03, Draft2020),
    ("format", Draft03, Draft2020),
    ("type", Draft03, Draft2020),
    ("enum", Draft03, Draft2020),
    ("maximum", Draft03, Draft2020),
    ("exclusiveMaximum", Draft03, Draft2020),
    ("minimum", Draft03, Draft2020),
    ("exclusiveMinimum", Draft03, Draft2020),
    ("maxLength", Draft03, Draft2020),
    ("minLength", Draft03, Draft2020),
    ("pattern", Draft03, Draft2020),
    ("items", Draft03, Draft2020),
    ("additionalItems", Draft03, Draft2019),
    ("maxItems", Draft03, Draft2020),
    ("minItems", Draft03, Draft2020),
    ("uniqueItems", Draft03, Draft2020),
    ("required", Draft03, Draft2020),
    ("properties", Draft03, Draft2020),
    ("patternProperties", Draft03, Draft2020),
    ("additionalProperties", Draft03, Draft2020),
    ("dependencies", Draft03, Draft07),
    // Demands nothing by itself; used as a place for schemas before it was one, and after.
    ("definitions", Draft03, Draft2020),
    ("extends", Draft03, Draft03),
    ("disallow", Draft03, Draft03),
    ("divisibleBy", Draft03, Draft03),
    ("allOf", Draft04, Draft2020),
    ("anyOf", Draft04, Draft2020),
    ("oneOf", Draft04, Draft2020),
    ("not", Draft04, Draft2020),
    ("multipleOf", Draft04, Draft2020),
    ("maxProperties", Draft04, Draft2020),
    ("minProperties", Draft04, Draft2020),
    ("$id", Draft06, Draft2020),
    ("const", Draft06, Draft2020),
    ("contains", Draft06, Draft2020),
    ("propertyNames", Draft06, Draft2020),
    ("examples", Draft06, Draft2020),
    ("$comment", Draft07, Draft2020),
    ("if", Draft07, Draft2020),
    ("then", Draft07, Draft2020),
    ("else", Draft07, Draft2020),
    ("readOnly", Draft07, Draft2020),
    ("writeOnly", Draft07, Draft2020),
    ("contentMediaType", Draft07, Draft2020),
    ("contentEncoding", Draft07, Draft2020),
    ("$anchor", Draft2019, Draft2020),
    ("$defs", Draft2019, Draft2020),
    ("$vocabulary", Draft2019, Draft2020),
    ("$recursiveRef", Draft2019, Draft2019),
    ("$recursiveAnchor", Draft2019, Draft2019),
    ("dependentSchemas", Draft2019, Draft2020),
    ("dependentRequired", Draft2019, Draft2020),
    ("unevaluatedItems", Draft2019, Draft2020),
    ("unevaluatedProperties", Draft2019, Draft2020),
    ("maxContains", Draft2019, Draft2020),
    ("minContains", Draft2019, Draft2020),
    ("deprecated", Draft2019, Draft2020),
    ("contentSchema", Draft2019, Draft2020),
    ("$dynamicRef", Draft2020, Draft2020),
    ("$dynamicAnchor", Draft2020, Draft2020),
    ("prefixItems", Draft2020, Draft2020),
];

impl Draft {
    /// The draft that a schema says it is written in; draft-04 when it says nothing.
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        let Some(declared) = schema.get("$schema") else { return Ok(Draft04) };
        let text = declared.as_str().unwrap_or_default();
        let known = NAMES.iter().find(|(_, name, _)| text.contains(name));
        known.map(|(draft, ..)| *draft).ok_or_else(|| {
            format!("$schema {declared} is none of the drafts 03, 04, 06, 07, 2019-09, 2020-12")
        })
    }

    /// The `$schema` of what the schema is evaluated as.
    pub(super) fn evaluated_as(self) -> &'static str {
        NAMES.iter().find(|(draft, ..)| *draft == self).map_or("", |(.., text)| text)
    }

    pub(super) fn knows(self, keyword: &str) -> bool {
        KEYWORDS.iter().any(|(name, first, last)| *name == keyword && (*first..=*last).contains(&self))
    }
}
