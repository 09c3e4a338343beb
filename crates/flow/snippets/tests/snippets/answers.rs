//! What callers are told: keys that are called like sections, unknown names, languages, deletions, outputs that do not fit.

use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn a_key_may_be_called_like_a_section() {
    let config = r#"Body { Output: JSON InputSameAsOutput: true
      Section { Name: "tp" Body { ChildrenOnly: false Section { Name: "kid" } } }
      Section { Name: "group" Body { Section { Name: "kid" } } } }"#;
    let world = World::of(config, &[]).await;
    world.put("/tp/kid", "1").await.is(200);
    assert_eq!(world.get("/tp/kid").await.is(200), json!({"tp": 1}));
    world.put("/tp/kid/kid", "2").await.is(200);
    assert_eq!(world.get("/tp/kid/kid").await.is(200), json!({"tp/kid": 2}));
    assert_eq!(world.get("/tp/kid").await.is(200), json!({"tp": 1}));
    world.delete("/tp/kid").await.is(200);
    world.get("/tp/kid").await.is(404);
    world.get("/tp/kid/kid").await.is(200);
    // A group that keeps nothing has no keys either.
    let refused = world.get("/group/kid").await.is(400);
    assert!(refused["detail"].as_str().unwrap().contains("has no key: /group/kid"), "{refused}");
}

#[tokio::test]
async fn an_unknown_name_does_not_fail_a_lookup() {
    let config = r#"Body { Output: JSON InputSameAsOutput: true
      Section { Name: "a" } Section { Name: "group" Body { Section { Name: "x" } } } }"#;
    let world = World::of(config, &[]).await;
    world.put("/a/1", "1").await.is(200);
    let question = r#"{"names": ["a", "new", "group"], "keys": ["1"]}"#;
    let found = world.call("POST", "/-/lookup", &[], question).await.is(200);
    assert_eq!(
        (found["items"][0]["content"].clone(), found["unknown_names"].clone()),
        (json!(1), json!(["new", "group"]))
    );
    let found = world.call("POST", "/-/lookup", &[], r#"{"names": ["a"], "keys": ["1"]}"#).await.is(200);
    assert_eq!(found.get("unknown_names"), None);
}

#[tokio::test]
async fn the_languages_of_a_key_are_listed_and_deleted_together() {
    let config = r#"Body { Output: JSON Input: JSON
      Section { Name: "plain" }
      Section { Name: "made" Body { SpecialConvertor: "jq:made.jq" OutputLanguages: "ru" OutputLanguages: "en" } } }"#;
    let world = World::of(config, &[("made.jq", ".")]).await;
    let json = ("content-type", "json");
    world.put("/plain/1", "0").await.is(200);
    for language in ["ru", "en", "pt-BR"] {
        world.call("PUT", "/plain/1", &[json, ("content-language", language)], "1").await.is(200);
    }
    let languages = async |name: &str| {
        let listed = world.get(&format!("/-/languages?name={name}&key=1")).await.is(200);
        let items = listed["items"].as_array().unwrap().clone();
        items.into_iter().map(|item| item["lang"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(languages("plain").await, [json!(null), json!("en"), json!("pt-BR"), json!("ru")]);
    world.call("DELETE", "/plain/1", &[("content-language", "en")], "").await.is(200);
    assert_eq!(languages("plain").await, [json!(null), json!("pt-BR"), json!("ru")]);
    world.call("DELETE", "/plain/1", &[("content-language", "*")], "").await.is(200);
    assert_eq!(languages("plain").await, Vec::<serde_json::Value>::new());
    // One that makes its languages itself ignores that of the request, in a DELETE as in a PUT.
    world.call("PUT", "/made/1", &[json, ("content-language", "fr")], "1").await.is(200);
    assert_eq!(languages("made").await, [json!("en"), json!("ru")]);
    world.call("DELETE", "/made/1", &[("content-language", "ru")], "").await.is(200);
    assert_eq!(languages("made").await, Vec::<serde_json::Value>::new());
}

#[tokio::test]
async fn a_put_that_deleted_says_so() {
    let config = r#"Body { Output: JSON Input: JSON
      Section { Name: "org" Body { Recursive: "all" Recursive: "some"
        Section { Name: "all" Body { SpecialConvertor: "jq:all.jq" } }
        Section { Name: "some" Body { SpecialConvertor: "jq:some.jq" } } } } }"#;
    let world = World::of(config, &[("all.jq", "."), ("some.jq", "if .hidden then empty else . end")]).await;
    let answer = world.put("/org/1", r#"{"a": 1}"#).await.is(200);
    assert_eq!(answer, json!({"key": "1", "snippets": ["org/all", "org/some"]}));
    let answer = world.put("/org/1", r#"{"hidden": true}"#).await.is(200);
    assert_eq!(answer["deleted"], json!(["org/some"]), "{answer}");
    world.get("/org/some/1").await.is(404);
}

#[tokio::test]
async fn an_output_that_does_not_fit_is_told_from_an_input() {
    let config = r#"Body { Output: JSON Input: JSON InputJsonSchema: "in.json"
      Section { Name: "a" Body { SpecialConvertor: "jq:a.jq" OutputJsonSchema: "out.json" } } }"#;
    let number = r#"{"properties": {"n": {"type": "number"}}}"#;
    let files = [("a.jq", "{n: .m}"), ("in.json", number), ("out.json", number)];
    let world = World::of(config, &files).await;
    let of_input = world.put("/a/1", r#"{"n": "x", "m": 1}"#).await.is(422);
    assert_eq!(of_input["errors"][0]["field"], "a#/n");
    assert!(!of_input["detail"].as_str().unwrap().contains("output"), "{of_input}");
    let of_output = world.put("/a/1", r#"{"n": 1, "m": "x"}"#).await.is(422);
    let words = "a: the output of the convertor at /n does not fit OutputJsonSchema: ";
    assert!(of_output["detail"].as_str().unwrap().starts_with(words), "{of_output}");
    assert_eq!(of_output["errors"][0]["field"], "a#");
}
