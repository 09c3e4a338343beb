//! Content that means two things, or nothing, is refused with its place.

use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn a_name_that_stands_twice_does_not_pass_around_the_schema() {
    let config =
        r#"Body { Output: JSON InputSameAsOutput: true InputJsonSchema: "a.json" Section { Name: "a" } }"#;
    let schema = r#"{"properties": {"card": {"properties": {"title": {"maxLength": 3}}}}}"#;
    let world = World::of(config, &[("a.json", schema)]).await;
    let twice = r#"{"card": {"title": "much too long", "title": "abc"}}"#;
    let refused = world.put("/a/1", twice).await.is(422);
    assert_eq!(refused["detail"], "a: /card/title: the name \"title\" stands twice in one object");
    assert_eq!(refused["errors"][0]["field"], json!("a#/card/title"));
    world.get("/a/1").await.is(404);
    world.put("/a/1", r#"{"card": {"title": "abc"}, "title": "long enough"}"#).await.is(200);
}

#[tokio::test]
async fn a_field_that_does_not_fit_its_message_is_named() {
    let proto = "syntax = \"proto3\"; message Card { string title = 1; repeated Price prices = 2; map<string, Price> named = 3; } \
                 message Price { int64 amount = 1; }";
    let config = r#"Body { DescriptorSet: "card.proto" OutputMessage: "Card" Input: JSON Output: PB
      Section { Name: "a" Body { SpecialConvertor: "pb" } }
      Section { Name: "b" Body { SpecialConvertor: "jq:b.jq" } } }"#;
    let world = World::of(config, &[("card.proto", proto), ("b.jq", "{prices: [{amount: .}]}")]).await;
    for (content, pointer) in [
        (r#"{"title": 5}"#, "/title"),
        (r#"{"prices": [{"amount": 1}, {"amount": "much"}]}"#, "/prices/1/amount"),
        (r#"{"named": {"a/b": {"amount": []}}}"#, "/named/a~1b/amount"),
        (r#"{"prices": [{"sum": 1}]}"#, "/prices/0"),
        ("5", ""),
    ] {
        let refused = world.put("/a/1", content).await.is(422);
        assert_eq!(refused["errors"][0]["field"], json!(format!("a#{pointer}")), "{refused}");
    }
    world.put("/b/1", "5").await.is(200);
    let refused = world.put("/b/1", "\"much\"").await.is(422);
    assert_eq!(refused["errors"][0]["field"], "b#");
    let words = "b: the output of the jq program at /prices/0/amount: this is not a message Card: ";
    assert!(refused["detail"].as_str().unwrap().starts_with(words), "{refused}");
}
