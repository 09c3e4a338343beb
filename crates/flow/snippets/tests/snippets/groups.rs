//! Names, groups, languages and formats over HTTP.

use serde_json::json;

use crate::world::World;

const ORG: &str = r#"Body { ChildrenOnly: true InputSameAsOutput: true Output: JSON Service: "main"
  Section { Name: "org" Body { Recursive: ["card", "short", "third"]
    Section { Name: "card" Body { InputJsonSchema: "open.json" } }
    Section { Name: "short" Body { Output: TEXT Input: JSON SpecialConvertor: "jq:title.jq" } }
    Section { Name: "third" Body { InputJsonSchema: "priced.json" } }
    Section { Name: "alone" } } }
  Section { Name: "both" Body { ChildrenOnly: false Recursive: "child" Section { Name: "child" } } }
  Section { Name: "bare" Body { Section { Name: "inner" } } }
  Section { Name: "text" Body { Output: TEXT } }
  Section { Name: "bin" Body { Output: BINARY } }
  Section { Name: "spoken" Body { SpecialConvertor: "jq:spoken.jq" OutputLanguages: ["ru", "en"] } }
}"#;
const FILES: &[(&str, &str)] = &[
    ("open.json", "{}"),
    ("priced.json", r#"{"properties": {"offer": {"properties": {"price": {"type": "number"}}}}}"#),
    ("title.jq", ".title"),
    ("spoken.jq", "if .names[$lang] then {name: .names[$lang]} else empty end"),
];

async fn world() -> World {
    World::of(ORG, FILES).await
}

#[tokio::test]
async fn a_put_is_what_the_next_get_gives() {
    let world = world().await;
    world.get("/org/alone/7").await.is(404);
    let done = world.put("/org/alone/7", "{\"a\": [1, 2.50]}").await.is(200);
    assert_eq!(done, json!({"key": "7", "snippets": ["org/alone"]}));
    let answer = world.get("/org/alone/7").await;
    // Stored exactly: not a byte of it is written anew.
    assert_eq!(String::from_utf8_lossy(&answer.bytes), "{\"org/alone\":{\"a\": [1, 2.50]}}");
    let tag = answer.headers["etag"].to_str().unwrap();
    let same = world.call("GET", "/org/alone/7", &[("if-none-match", tag)], "").await;
    assert_eq!((same.status, same.bytes.len()), (304, 0));
    world.put("/org/alone/7", "2").await.is(200);
    assert_eq!(
        world.call("GET", "/org/alone/7", &[("if-none-match", tag)], "").await.is(200),
        json!({"org/alone": 2})
    );
    world.delete("/org/alone/7").await.is(200);
    world.get("/org/alone/7").await.is(404);
    world.delete("/org/alone/7").await.is(200);
}

#[tokio::test]
async fn one_put_to_a_group_makes_all_its_snippets_or_none() {
    let world = world().await;
    world.put("/org/1", r#"{"title": "Lamp", "offer": {"price": 5}}"#).await.is(200);
    let whole = json!({"title": "Lamp", "offer": {"price": 5}});
    assert_eq!(
        world.get("/org/1").await.is(200),
        json!({"org/card": whole, "org/short": "Lamp", "org/third": whole})
    );
    assert_eq!(world.get("/org/short/1").await.is(200), json!({"org/short": "Lamp"}));
    world.get("/org/alone/1").await.is(404);

    let refused = world.put("/org/2", r#"{"title": "Lamp", "offer": {"price": "five"}}"#).await.is(422);
    assert_eq!(refused["errors"][0]["field"], "org/third#/offer/price");
    assert_eq!(refused["detail"], "org/third: /offer/price: \"five\" is not of type \"number\"");
    for name in ["org", "org/card", "org/short", "org/third"] {
        world.get(&format!("/{name}/2")).await.is(404);
    }
    // A failed write leaves what was there.
    world.put("/org/1", r#"{"title": 3}"#).await.is(422);
    assert_eq!(world.get("/org/short/1").await.is(200), json!({"org/short": "Lamp"}));

    world.delete("/org/1").await.is(200);
    world.get("/org/1").await.is(404);
}

#[tokio::test]
async fn a_group_may_be_a_snippet_itself() {
    let world = world().await;
    world.put("/both/1", "1").await.is(200);
    assert_eq!(world.get("/both/1").await.is(200), json!({"both": 1, "both/child": 1}));
    let refused = world.put("/bare/1", "1").await.is(400);
    assert!(refused["detail"].as_str().unwrap().contains("neither a snippet itself"), "{refused}");
    world.put("/bare/inner/1", "1").await.is(200);
}

#[tokio::test]
async fn languages_are_the_requests_or_the_snippets_own() {
    let world = world().await;
    let put = async |language: &str, body: &str| {
        world
            .call(
                "PUT",
                "/org/alone/1",
                &[("content-type", "json"), ("content-language", language)],
                body.to_owned(),
            )
            .await
    };
    put("ru", "\"да\"").await.is(200);
    put("pt-BR", "\"sim\"").await.is(200);
    world.get("/org/alone/1").await.is(404);
    assert_eq!(world.get("/org/alone/1/ru").await.is(200), json!({"org/alone": "да"}));
    assert_eq!(world.get("/org/alone/1/pt-BR").await.is(200), json!({"org/alone": "sim"}));
    for wrong in ["RU", "r", "russ", "pt-br", "../x", "ru,en"] {
        put(wrong, "1").await.is(400);
    }
    world.delete("/org/alone/1").await.is(200);
    world.get("/org/alone/1/ru").await.is(200);
    world.call("DELETE", "/org/alone/1", &[("content-language", "ru")], "").await.is(200);
    world.get("/org/alone/1/ru").await.is(404);
    world.get("/org/alone/1/pt-BR").await.is(200);

    // The snippet has its own: the request's language is ignored.
    let both = r#"{"names": {"ru": "Лампа", "en": "Lamp"}}"#;
    world
        .call("PUT", "/spoken/1", &[("content-type", "json"), ("content-language", "fr")], both)
        .await
        .is(200);
    assert_eq!(world.get("/spoken/1/ru").await.is(200), json!({"spoken": {"name": "Лампа"}}));
    assert_eq!(world.get("/spoken/1/en").await.is(200), json!({"spoken": {"name": "Lamp"}}));
    world.get("/spoken/1/fr").await.is(404);
    // A language that the convertor leaves out goes.
    world.put("/spoken/1", r#"{"names": {"en": "Lamp"}}"#).await.is(200);
    world.get("/spoken/1/ru").await.is(404);
    world.put("/spoken/1", both).await.is(200);
    world.delete("/spoken/1").await.is(200);
    world.get("/spoken/1/ru").await.is(404);
    world.get("/spoken/1/en").await.is(404);
}

#[tokio::test]
async fn formats_are_named_by_content_type() {
    let world = world().await;
    let put = async |path: &str, kind: &str, body: &'static [u8]| {
        let headers = [("content-type", kind)];
        world.call("PUT", path, if kind.is_empty() { &[] } else { &headers[..] }, body).await
    };
    for kind in ["json", "application/json", "Application/JSON; charset=utf-8"] {
        put("/org/alone/1", kind, b"1").await.is(200);
    }
    put("/org/alone/1", "", b"1").await.is(400);
    put("/org/alone/1", "pb", b"1").await.is(400);
    put("/org/alone/1", "application/xml", b"1").await.is(400);
    put("/org/alone/1", "json", b"{\"a\": ").await.is(422);
    put("/text/1", "", "Привет \"мир\"\n".as_bytes()).await.is(200);
    assert_eq!(world.get("/text/1").await.is(200), json!({"text": "Привет \"мир\"\n"}));
    put("/text/1", "text/plain", b"\xff").await.is(422);
    put("/bin/1", "", b"\x00\xff").await.is(200);
    assert_eq!(world.get("/bin/1").await.is(200), json!({"bin": "AP8="}));
    let raw = world.call("GET", "/bin/1", &[("accept", "application/octet-stream")], "").await;
    assert_eq!((raw.status, raw.bytes.as_slice()), (200, &b"\x00\xff"[..]));
    assert_eq!(raw.headers["content-type"], "application/octet-stream");
}

#[tokio::test]
async fn a_lookup_answers_many_keys_and_names_at_once() {
    let world = world().await;
    for key in ["1", "2"] {
        world.put(&format!("/org/{key}"), &format!("{{\"title\": \"t{key}\"}}")).await.is(200);
    }
    world.put("/spoken/2", r#"{"names": {"ru": "два"}}"#).await.is(200);
    let look =
        async |question: serde_json::Value| world.call("POST", "/-/lookup", &[], question.to_string()).await;
    let answer =
        look(json!({"names": ["org/short", "spoken"], "keys": ["1", "2", "3"], "langs": ["", "ru"]})).await;
    let item = |name: &str, key: &str, lang: Option<&str>, content: serde_json::Value| json!({"name": name, "key": key, "lang": lang, "content": content, "expires_at": null});
    assert_eq!(
        answer.is(200)["items"],
        json!([
            item("org/short", "1", None, json!("t1")),
            item("org/short", "2", None, json!("t2")),
            item("spoken", "2", Some("ru"), json!({"name": "два"})),
        ])
    );
    assert_eq!(
        look(json!({"names": ["org"], "keys": ["1"]})).await.is(200)["items"].as_array().unwrap().len(),
        3
    );
    let unknown = json!({"items": [], "unknown_names": ["nothing"]});
    assert_eq!(look(json!({"names": ["nothing"], "keys": ["1"]})).await.is(200), unknown);
    look(json!({"names": ["org"], "keys": [""]})).await.is(400);
    look(json!({"names": ["org"], "keys": ["1"], "langs": ["RU"]})).await.is(400);
    look(json!({"names": ["org"], "key": ["1"]})).await.is(400);
    let many: Vec<_> = (0..4_000).map(|number| number.to_string()).collect();
    look(json!({"names": ["org"], "keys": many})).await.is(400);
}

/// A short question can mean more than any memory holds.
#[tokio::test]
async fn a_lookup_is_bounded_in_documents_and_in_bytes() {
    let world = world().await;
    let look =
        async |question: serde_json::Value| world.call("POST", "/-/lookup", &[], question.to_string()).await;
    let many = |text: &str, count: usize| vec![text.to_owned(); count];
    for keys in [vec![], many("k", 1)] {
        let refused = look(json!({"names": many("text", 30_000), "keys": keys, "langs": many("ru", 30_000)}));
        let detail = refused.await.is(400)["detail"].clone();
        assert_eq!(detail, "more than 10000 documents are asked for in one call");
    }
    look(json!({"names": many("org", 34), "keys": many("k", 100)})).await.is(400);
    look(json!({"names": many("org", 33), "keys": many("k", 100)})).await.is(200);

    let large = "x".repeat(1 << 20);
    world.call("PUT", "/text/large", &[("content-type", "text")], large).await.is(200);
    let of_large = async |count| look(json!({"names": ["text"], "keys": many("large", count)})).await.status;
    assert_eq!((of_large(2).await, of_large(65).await, of_large(10_000).await), (200, 413, 413));
}

/// It is read in several pieces, and some keys have nothing.
#[tokio::test]
async fn a_long_lookup_answers_in_the_order_of_its_keys() {
    let world = world().await;
    let keys: Vec<_> = (0..300).map(|number| format!("{}", number * 7 % 300)).collect();
    for key in keys.iter().filter(|key| !key.ends_with('3')) {
        let path = format!("/text/{key}");
        world.call("PUT", &path, &[("content-type", "text")], format!("about {key}")).await.is(200);
    }
    let question = json!({"names": ["text"], "keys": &keys}).to_string();
    let found = world.call("POST", "/-/lookup", &[], question).await.is(200)["items"].clone();
    let wanted: Vec<_> = keys
        .iter()
        .filter(|key| !key.ends_with('3'))
        .map(|key| json!({"name": "text", "key": key, "lang": null, "content": format!("about {key}"), "expires_at": null}))
        .collect();
    assert_eq!(found, json!(wanted));
}

/// `Output` holds for what is written from now on: what is there stays what it is.
#[tokio::test]
async fn a_document_is_answered_in_the_format_in_which_it_was_written() {
    let config = |output: &str| {
        format!("Body {{ InputSameAsOutput: true Output: {output} Section {{ Name: \"a\" }} }}")
    };
    let world = World::of(&config("TEXT"), &[]).await;
    let put = async |key: &str, kind: &str, body: &'static str| {
        let path = format!("/a/{key}");
        world.call("PUT", &path, &[("content-type", kind)], body).await.is(200)
    };
    put("text", "text", "1,\"evil\":true").await;
    for (key, output, body) in [("bytes", "BINARY", "\u{1}\u{2}"), ("json", "JSON", "[1]")] {
        std::fs::write(world.folder.path().join("config.pb.txt"), config(output)).unwrap();
        world.call("POST", "/-/reload", &[], "").await.is(204);
        put(key, &output.to_lowercase(), body).await;
    }
    let found = world.call(
        "POST",
        "/-/lookup",
        &[],
        json!({"names": ["a"], "keys": ["text", "bytes", "json"]}).to_string(),
    );
    let items = found.await.is(200)["items"].clone();
    for (place, (key, content)) in
        [("text", json!("1,\"evil\":true")), ("bytes", json!("AQI=")), ("json", json!([1]))]
            .iter()
            .enumerate()
    {
        assert_eq!(world.get(&format!("/a/{key}")).await.is(200), json!({"a": content}));
        assert_eq!(items[place]["content"], *content);
    }
    let bytes = [("accept", "text/html, application/octet-stream;q=0.5")];
    assert_eq!(world.call("GET", "/a/bytes", &bytes, "").await.bytes, [1, 2]);
    let no_bytes = [("accept", "application/octet-stream;q=0")];
    world.call("GET", "/a/bytes", &no_bytes, "").await.is(200)["a"].as_str().unwrap();
}

#[tokio::test]
async fn what_is_nowhere_is_not_found() {
    let world = world().await;
    for method in ["GET", "PUT", "DELETE", "POST"] {
        world.call(method, "/-/nothing", &[], "").await.is(404);
    }
    let missing = world.get("/text/1/ru").await.is(404);
    assert_eq!(missing["detail"], "there is no snippet text for \"1\" in ru");
}
