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
