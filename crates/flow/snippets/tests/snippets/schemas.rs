//! Schemas of every draft: what a draft does not know is refused when the configuration is read, with its place.

use snippets::Registry;
use snippets::config::{Assets, Draft};

use crate::world::World;

const CONFIG: &str = "Body { Output: JSON InputSameAsOutput: true StrictSchema: true Section { Name: \"a\" Body { InputJsonSchema: \"a.json\" } } }";
const DRAFT_03: &str = "http://json-schema.org/draft-03/schema#";
const DRAFT_04: &str = "http://json-schema.org/draft-04/schema#";
const DRAFT_06: &str = "http://json-schema.org/draft-06/schema#";
const DRAFT_07: &str = "http://json-schema.org/draft-07/schema#";
const DRAFT_2019: &str = "https://json-schema.org/draft/2019-09/schema";
const DRAFT_2020: &str = "https://json-schema.org/draft/2020-12/schema";

fn of(draft: &str, rest: &str) -> String {
    format!("{{\"$schema\": \"{draft}\", {rest}}}")
}

/// Why a schema, with `b.json` beside it, is refused; empty when it is not.
fn refused(schema: &str, beside: &str) -> String {
    let files = vec![
        ("a.json", String::leak(schema.to_owned()) as &str),
        ("b.json", String::leak(beside.to_owned())),
    ];
    match Draft::read(CONFIG, Assets::Embedded(Vec::leak(files)), &Registry::shipped()) {
        Ok(_) => String::new(),
        Err(error) => {
            let start = "InputJsonSchema \"a.json\" of a: ";
            error.message.strip_prefix(start).expect("it is the schema that is refused").to_owned()
        }
    }
}

#[test]
fn a_keyword_is_known_only_in_its_drafts() {
    let drafts = [DRAFT_03, DRAFT_04, DRAFT_06, DRAFT_07, DRAFT_2019, DRAFT_2020];
    let cases = [
        (r#""extends": {}"#, 0..1),
        (r#""disallow": "null""#, 0..1),
        (r#""divisibleBy": 2"#, 0..1),
        (r#""id": "http://example.org/a""#, 0..2),
        (r#""dependencies": {"a": ["b"]}"#, 0..4),
        (r#""additionalItems": false"#, 0..5),
        (r#""definitions": {}"#, 0..6),
        (r#""minProperties": 1"#, 1..6),
        (r#""maxProperties": 1"#, 1..6),
        (r#""allOf": [{}]"#, 1..6),
        (r#""anyOf": [{}]"#, 1..6),
        (r#""oneOf": [{}]"#, 1..6),
        (r#""not": {}"#, 1..6),
        (r#""multipleOf": 2"#, 1..6),
        (r#""const": 1"#, 2..6),
        (r#""if": {}"#, 3..6),
        (r##""$recursiveRef": "#""##, 4..5),
        (r#""$recursiveAnchor": true"#, 4..5),
        (r#""dependentRequired": {}"#, 4..6),
        (r#""prefixItems": [{}]"#, 5..6),
    ];
    for (rule, known) in cases {
        for (index, draft) in drafts.into_iter().enumerate() {
            let schema = of(draft, &format!("\"properties\": {{\"p\": {{{rule}}}}}"));
            let keyword = rule.split('"').nth(1).unwrap();
            let expected = if known.contains(&index) {
                String::new()
            } else {
                format!("the keyword {keyword:?} in /properties/p is not known in this draft")
            };
            assert_eq!(refused(&schema, "{}"), expected, "{schema}");
        }
    }
}

#[test]
fn unknown_keywords_are_found_wherever_draft_03_has_schemas() {
    for (rule, place) in [
        (r#""extends": [{}, {"minProperties": 1}]"#, "/extends/1"),
        (r#""type": ["null", {"minProperties": 1}]"#, "/type/1"),
        (r#""disallow": [{"minProperties": 1}]"#, "/disallow/0"),
        (r#""dependencies": {"a/b": {"minProperties": 1}}"#, "/dependencies/a~1b"),
    ] {
        let expected = format!("the keyword \"minProperties\" in {place} is not known in this draft");
        assert_eq!(refused(&of(DRAFT_03, rule), "{}"), expected);
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let check = |schema: &str, beside: &str, expected: &str| {
        let found = refused(schema, beside);
        assert!(found.starts_with(expected) && !expected.is_empty(), "{schema}: {found}");
    };
    check(r#"{"properties": {"a": {"minLength": -1}}}"#, "{}", "/properties/a/minLength: -1 is less than");
    check(r#"{"items": {"enum": 1}}"#, "{}", "/items/enum: 1 is not of type \"array\"");
    check(
        r#"{"properties": {"a": {"pattern": "("}}}"#,
        "{}",
        "/properties/a/pattern: \"(\" is not a \"regex\"",
    );
    check(r#"{"$schema": 5}"#, "{}", "$schema 5 is none of the drafts");
    check(
        r#"{"type": "string", "type": "null"}"#,
        "{}",
        "/type: the name \"type\" stands twice in one object",
    );
    check(
        r#"{"properties": {"a/b": {"format": "emial"}}}"#,
        "{}",
        "/properties/a~1b/format: the format \"emial\" is not known in this draft",
    );
    let to_b = r#"{"items": {"$ref": "b.json#/definitions/x"}}"#;
    check(
        to_b,
        r#"{"definitions": {"x": {"format": "emial"}}}"#,
        "/definitions/x/format of a file that it refers to: the format \"emial\" is not known in this draft",
    );
    check(
        to_b,
        r#"{"definitions": {"x": {"minLength": -1}}}"#,
        "$ref to \"b.json\": /definitions/x/minLength: -1 is less than",
    );
    check(
        to_b,
        r#"{"definitions": {"x": {"maxLenght": 1}}}"#,
        "$ref to \"b.json\": the keyword \"maxLenght\" in /definitions/x is not known in this draft",
    );
    check(to_b, "{}", "a $ref leads to /definitions/x, where nothing is");
    check(r#"{"$ref": "no.json"}"#, "{}", "$ref to \"no.json\": there is no file no.json");
    check(r#"{"$ref": "нет.json"}"#, "{}", "$ref to \"нет.json\": there is no file нет.json");
    check(
        r#"{"$ref": "http://example.org/x.json"}"#,
        "{}",
        "$ref to \"http://example.org/x.json\": this is not a file beside the configuration",
    );
}

#[tokio::test]
async fn draft_03_holds_behind_references_and_bases() {
    let schema = of(
        DRAFT_03,
        r##""properties": {
            "id": {"$ref": "base.json#/definitions/id"},
            "title": {"extends": {"$ref": "#/definitions/text"}},
            "address": {"type": "string", "format": "ip-address"},
            "host": {"format": "host-name"}, "color": {"format": "color"}, "phone": {"format": "phone"},
            "style": {"format": "style"}, "at": {"format": "utc-millisec"}, "time": {"format": "time"}},
          "definitions": {"text": {"type": "string", "required": true}}"##,
    );
    let base = of(DRAFT_03, r#""definitions": {"id": {"type": "integer", "required": true}}"#);
    let world = World::of(CONFIG, &[("a.json", &schema), ("base.json", &base)]).await;
    world.put("/a/1", r#"{"id": 1, "title": "x"}"#).await.is(200);
    let full = r#"{"id": 1, "title": "x", "address": "10.0.0.1", "host": "example.org", "color": "red", "phone": "1",
                   "style": "x", "at": 5, "time": "23:59:00"}"#;
    world.put("/a/1", full).await.is(200);
    for (wrong, words) in [
        (r#"{"title": "x"}"#, "a: \"id\" is a required property"),
        (r#"{"id": 1}"#, "a: \"title\" is a required property"),
        (r#"{"id": 1, "title": 5}"#, "a: /title: 5 is not of type \"string\""),
        (r#"{"id": 1, "title": "x", "address": "10.0.0"}"#, "a: /address: \"10.0.0\" is not a \"ipv4\""),
        (r#"{"id": 1, "title": "x", "host": "-"}"#, "a: /host: \"-\" is not a \"hostname\""),
        (r#"{"id": 1, "title": "x", "time": "25:00:00"}"#, "a: /time: \"25:00:00\" does not match"),
    ] {
        let refused = world.put("/a/1", wrong).await.is(422);
        assert!(refused["detail"].as_str().unwrap().starts_with(words), "{refused}");
    }
}

#[tokio::test]
async fn a_file_holds_by_its_own_draft_whoever_refers_to_it() {
    let schema = of(DRAFT_2020, r#""prefixItems": [{"$ref": "old.json"}]"#);
    let old = r#"{"items": [{"type": "integer"}], "additionalItems": false}"#;
    let world = World::of(CONFIG, &[("a.json", &schema), ("old.json", old)]).await;
    world.put("/a/1", "[[1]]").await.is(200);
    world.put("/a/1", "[[\"x\"]]").await.is(422);
    world.put("/a/1", "[[1, 2]]").await.is(422);
}

#[tokio::test]
async fn files_have_any_names() {
    let config = CONFIG.replace("a.json", "мой файл #1.json");
    for reference in
        ["другой файл.json#/definitions/к", "%D0%B4%D1%80%D1%83%D0%B3%D0%BE%D0%B9%20файл.json#/definitions/к"]
    {
        let schema = format!("{{\"properties\": {{\"a\": {{\"$ref\": \"{reference}\"}}}}}}");
        let other = r#"{"definitions": {"к": {"type": "integer"}}}"#;
        let world = World::of(&config, &[("мой файл #1.json", &schema), ("другой файл.json", other)]).await;
        world.put("/a/1", "{\"a\": 1}").await.is(200);
        world.put("/a/1", "{\"a\": \"x\"}").await.is(422);
    }
}
