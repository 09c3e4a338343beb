//! What is made of content: schemas of every draft, protobuf, jq, and a convertor of one's own.

use std::sync::Arc;

use serde_json::json;
use snippets::config::{Assets, Draft};
use snippets::{Content, Convertor, Document, Format, Invalid, Refusal, Registry};

use crate::world::World;

const PROTO: &str =
    "syntax = \"proto3\"; message Card { string title = 1; int64 price = 2; repeated string tags = 3; }";

#[tokio::test]
async fn json_becomes_protobuf_and_back() {
    let config = r#"Body { DescriptorSet: "card.proto" SpecialConvertor: "pb"
      Section { Name: "to_pb" Body { Input: JSON Output: PB OutputMessage: "Card" } }
      Section { Name: "to_json" Body { Input: PB Output: JSON InputMessage: "Card" } } }"#;
    let world = World::of(config, &[("card.proto", PROTO)]).await;
    world.put("/to_pb/1", r#"{"title": "Lamp", "price": 5, "tags": ["a"]}"#).await.is(200);
    let pb = world.call("GET", "/to_pb/1", &[("accept", "application/octet-stream")], "").await.bytes;
    assert_eq!(pb, b"\x0a\x04Lamp\x10\x05\x1a\x01a");
    let refused = world.put("/to_pb/1", r#"{"titel": "Lamp"}"#).await.is(422);
    assert!(refused["detail"].as_str().unwrap().contains("this is not a message Card"), "{refused}");
    world.call("PUT", "/to_json/1", &[("content-type", "application/x-protobuf")], pb).await.is(200);
    assert_eq!(
        world.get("/to_json/1").await.is(200)["to_json"],
        json!({"title": "Lamp", "price": 5, "tags": ["a"]})
    );
    world.call("PUT", "/to_json/1", &[("content-type", "pb")], "\x0a\x7fxx").await.is(422);
}

#[tokio::test]
async fn a_jq_file_is_enough_for_a_new_snippet() {
    let config = r#"Body { Output: JSON InputSameAsOutput: true
      Section { Name: "a" Body { SpecialConvertor: "jq:a.jq" SpecialValidator: "jq:check.jq" OutputJsonSchema: "out.json" } } }"#;
    let files = [
        (
            "a.jq",
            "if .gone then empty elif .twice then 1, 2 elif .fail then error(\"no good\") else {n: .n, lang: $lang} end",
        ),
        ("check.jq", "if .n == 0 then {pointer: \"/n\", message: \"must not be zero\"} else empty end"),
        ("out.json", r#"{"properties": {"n": {"maximum": 10}}}"#),
    ];
    let world = World::of(config, &files).await;
    world.put("/a/1", "{\"n\": 1}").await.is(200);
    assert_eq!(world.get("/a/1").await.is(200), json!({"a": {"n": 1, "lang": ""}}));
    for (content, detail) in [
        ("{\"n\": 0}", "a: /n: must not be zero"),
        (
            "{\"n\": 11}",
            "a: the output of the convertor at /n does not fit OutputJsonSchema: 11 is greater than the maximum of 10",
        ),
        ("{\"twice\": true}", "a: the jq program gave several outputs, not one"),
        ("{\"fail\": true}", "a: no good"),
    ] {
        assert_eq!(world.put("/a/1", content).await.is(422)["detail"], detail, "{content}");
    }
    world.get("/a/1").await.is(200);
    world.put("/a/1", "{\"gone\": true}").await.is(200);
    world.get("/a/1").await.is(404);
}

#[tokio::test]
async fn schemas_of_all_drafts_hold() {
    let draft = |name: &str, rest: &str| format!("{{\"$schema\": \"{name}\", {rest}}}");
    let files = [
        (
            "d3.json",
            draft(
                "http://json-schema.org/draft-03/schema#",
                r#""properties": {"a": {"required": true, "divisibleBy": 2}}"#,
            ),
        ),
        (
            "d4.json",
            draft(
                "http://json-schema.org/draft-04/schema#",
                r#""required": ["a"], "properties": {"a": {"maximum": 4, "exclusiveMaximum": true, "multipleOf": 2}}"#,
            ),
        ),
        (
            "none.json",
            r#"{"required": ["a"], "properties": {"a": {"$ref": "other.json#/definitions/even"}}}"#
                .to_owned(),
        ),
        ("other.json", r#"{"definitions": {"even": {"multipleOf": 2}}}"#.to_owned()),
        (
            "d7.json",
            draft(
                "http://json-schema.org/draft-07/schema#",
                r#""if": {"required": ["a"]}, "then": {"properties": {"a": {"multipleOf": 2}}}, "else": false"#,
            ),
        ),
        (
            "d2020.json",
            draft(
                "https://json-schema.org/draft/2020-12/schema",
                r##""required": ["a"], "$defs": {"even": {"multipleOf": 2}}, "properties": {"a": {"$ref": "#/$defs/even"}}"##,
            ),
        ),
    ];
    let names = ["d3", "d4", "none", "d7", "d2020"];
    let sections: Vec<_> = names
        .iter()
        .map(|name| format!("Section {{ Name: \"{name}\" Body {{ InputJsonSchema: \"{name}.json\" }} }}"))
        .collect();
    let sections = sections.join("\n");
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let world =
        World::of(&format!("Body {{ Output: JSON InputSameAsOutput: true {sections} }}"), &files).await;
    for name in names {
        world.put(&format!("/{name}/1"), "{\"a\": 2}").await.is(200);
        world.put(&format!("/{name}/1"), "{\"a\": 3}").await.is(422);
        world.put(&format!("/{name}/1"), "{}").await.is(422);
    }
}

/// Says content backwards in two languages that nobody speaks.
struct Backwards;

impl Convertor for Backwards {
    fn supports(&self, input: Format, output: Format) -> bool {
        (input, output) == (Format::Text, Format::Text)
    }

    fn speaks(&self, language: &str) -> bool {
        ["qaa", "qab"].contains(&language)
    }

    fn convert(&self, content: &Content, _: Format, languages: &[&str]) -> Result<Vec<Document>, Refusal> {
        let text = std::str::from_utf8(&content.bytes).map_err(|_| Invalid::new("this is not UTF-8"))?;
        let backwards: String = text.chars().rev().collect();
        Ok(languages.iter().map(|language| Document::Put(format!("{language} {backwards}").into())).collect())
    }
}

#[tokio::test]
async fn a_convertor_of_ones_own_is_one_line_in_the_registry() {
    let registry = || Registry::shipped().with_convertor("backwards", |_| Ok(Arc::new(Backwards)));
    let of = |languages: &str| {
        let text = format!(
            "Body {{ Output: TEXT InputSameAsOutput: true SpecialConvertor: \"backwards\" Section {{ Name: \"a\" Body {{ OutputLanguages: {languages} }} }} }}"
        );
        Draft::read(&text, Assets::Embedded(&[]), &registry())
    };
    assert!(of("[\"qaa\", \"qab\"]").is_ok());
    let refused = of("[\"qaa\", \"ru\"]").err().unwrap();
    assert_eq!(refused.message, "convertor \"backwards\" of a does not support the language ru");
}
