//! The examples of `docs/snippets.md` do what it says.

use std::sync::Arc;

use serde_json::json;
use snippets::Registry;

use crate::shout::Shout;
use crate::world::World;

const DOCS: &str = include_str!("../../../../../docs/snippets.md");

/// The block of code behind the line that begins so.
fn block(line: &str) -> &'static str {
    let (_, rest) = DOCS.split_once(&format!("\n{line}")).unwrap_or_else(|| panic!("no line {line:?}"));
    let (_, code) = rest.split_once("\n```\n").unwrap();
    code.split_once("```").unwrap().0
}

#[tokio::test]
async fn the_first_configuration_works() {
    let config = DOCS.split_once("`config.pb.txt`:\n\n```\n").unwrap().1.split_once("```").unwrap().0;
    let files = [("card.json", block("`card.json`")), ("title.jq", block("`title.jq`"))];
    let world = World::of(config, &files).await;
    world.put("/org/1124715036", r#"{"title": "Museum"}"#).await.is(200);
    assert_eq!(
        world.get("/org/1124715036").await.is(200),
        json!({"org/card": {"title": "Museum"}, "org/title": "MUSEUM"})
    );
    world.put("/org/1124715036", r#"{"title": 5}"#).await.is(422);
}

#[tokio::test]
async fn a_jq_file_alone_makes_a_convertor() {
    let config = format!("Body {{ Output: JSON InputSameAsOutput: true {} }}", block("`greeting` of"));
    let world = World::of(&config, &[("greeting.jq", block("`greeting.jq`"))]).await;
    world.put("/greeting/1", r#"{"name": "Anna"}"#).await.is(200);
    for (language, text) in [("ru", "Привет, Anna"), ("en", "Hello, Anna")] {
        assert_eq!(
            world.get(&format!("/greeting/1/{language}")).await.is(200),
            json!({"greeting": {"text": text}})
        );
    }
}

#[tokio::test]
async fn a_convertor_in_rust_is_a_trait_and_a_line() {
    let (_, code) = include_str!("shout.rs").split_once("impl Convertor").unwrap();
    assert!(DOCS.contains(code.trim_end()), "the example in the docs is not the one that is tested");
    assert!(DOCS.contains(r#".with_convertor("shout", |_| Ok(Arc::new(Shout)))"#));
    let registry = Registry::shipped().with_convertor("shout", |_| Ok(Arc::new(Shout)));
    let config =
        r#"Body { Output: TEXT InputSameAsOutput: true SpecialConvertor: "shout" Section { Name: "loud" } }"#;
    let world = World::with(config, registry).await;
    world.call("PUT", "/loud/1", &[], "тихо").await.is(200);
    assert_eq!(world.get("/loud/1").await.is(200), json!({"loud": "ТИХО"}));
    world.call("PUT", "/loud/1", &[], vec![0xff]).await.is(422);
}
