//! From topics: keys, retries, dead letters, and what is newer.

use kit::Clock;
use serde_json::json;
use topics::Message;

use crate::world::World;

const CONFIG: &str = r#"Body { InputSameAsOutput: true Output: JSON InputTopic: "news" InputForLB: JSON KeyExtractor: "json:/id"
  Section { Name: "item" Body { Recursive: ["full", "strict"] UploadOverLBRetryCount: 2
    Section { Name: "full" } Section { Name: "strict" Body { InputJsonSchema: "strict.json" } } } }
  Section { Name: "dead" Body { InputTopic: "dead" InputJsonSchema: "strict.json" } }
  Section { Name: "versioned" Body { InputTopic: "versions" VersionExtractor: "header:version" KeyExtractor: "key" } }
}"#;
const STRICT: &str = r#"{"properties": {"n": {"type": "integer"}}}"#;
const OPEN: &str = "{}";

async fn world() -> World {
    let world = World::at(CONFIG, &[("strict.json", STRICT)], Clock::system()).await;
    for topic in ["news", "dead", "versions"] {
        world.topics.ensure(topic, 4).await.unwrap();
    }
    world
}

async fn publish(world: &World, topic: &str, message: Message) {
    world.topics.publish(topic, vec![message]).await.unwrap();
}

fn message(id: &str, n: &serde_json::Value) -> Message {
    Message::new(id, json!({"id": id, "n": n}).to_string())
}

fn versioned(key: &str, version: i64, payload: &str) -> Message {
    Message::new(key, payload.to_owned()).header("version", version.to_string())
}

#[tokio::test]
async fn messages_become_snippets_of_the_whole_group() {
    let world = world().await;
    world.start();
    publish(&world, "news", message("k1", &json!(1))).await;
    world.becomes("/item/k1", r#"{"item/full":{"id":"k1","n":1},"item/strict":{"id":"k1","n":1}}"#).await;
    world.letters(0, 0).await;
    // A message whose key cannot be found is the topic's dead letter.
    publish(&world, "news", Message::new("k2", "{\"n\": 1}")).await;
    let filter = topics::dead_letters::Filter::default();
    world
        .until(|| async {
            let letters = topics::dead_letters::list(&world.topics, &filter, None, 10).await.unwrap();
            match letters.as_slice() {
                [letter] if letter.reason == "the message has no /id" => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
}

#[tokio::test]
async fn a_failing_message_is_retried_and_ends_as_a_dead_letter_that_can_be_retried() {
    let world = world().await;
    world.start();
    publish(&world, "news", message("k", &json!("x"))).await;
    let letters = world.letters(1, 1).await;
    assert_eq!((letters[0]["attempts"].as_u64(), letters[0]["section"].as_str()), (Some(3), Some("item")));
    assert_eq!(letters[0]["reason"], "item/strict: /n: \"x\" is not of type \"integer\"");
    world.get("/item/k").await.is(404);

    let retry = format!("/-/dead-letters/{}/retry", letters[0]["id"].as_str().unwrap());
    let refused = world.call("POST", &retry, &[], "").await.is(422);
    assert_eq!(refused["errors"][0]["field"], "item/strict#/n");
    std::fs::write(world.folder.path().join("strict.json"), OPEN).unwrap();
    world.call("POST", "/-/reload", &[], "").await.is(204);
    world.call("POST", &retry, &[], "").await.is(204);
    assert_eq!(world.get("/item/full/k").await.is(200), json!({"item/full": {"id": "k", "n": "x"}}));
    world.letters(0, 0).await;
    world.call("POST", &retry, &[], "").await.is(404);
}

#[tokio::test]
async fn a_late_retry_never_overwrites_what_is_newer() {
    let world = world().await;
    world.start();
    publish(&world, "dead", message("k", &json!("old"))).await;
    let letters = world.letters(1, 1).await;
    world.put("/dead/k", "{\"n\": 2}").await.is(200);
    std::fs::write(world.folder.path().join("strict.json"), OPEN).unwrap();
    world.call("POST", "/-/reload", &[], "").await.is(204);
    let retry = format!("/-/dead-letters/{}/retry", letters[0]["id"].as_str().unwrap());
    let refused = world.call("POST", &retry, &[], "").await.is(409);
    assert_eq!(refused["type"], "urn:dvor:problem:superseded");
    assert_eq!(world.get("/dead/k").await.is(200), json!({"dead": {"n": 2}}));
    assert_eq!(world.letters(1, 1).await[0]["superseded"], true);
    let drop = format!("/-/dead-letters/{}", letters[0]["id"].as_str().unwrap());
    world.call("DELETE", &drop, &[], "").await.is(204);
    world.call("DELETE", &drop, &[], "").await.is(404);
    world.call("DELETE", "/-/dead-letters/nonsense", &[], "").await.is(422);
}

#[tokio::test]
async fn of_a_group_only_what_is_not_newer_is_written_late() {
    let world = world().await;
    world.start();
    publish(&world, "news", message("k", &json!("old"))).await;
    let letters = world.letters(1, 1).await;
    // A DELETE is newer too.
    world.delete("/item/full/k").await.is(200);
    std::fs::write(world.folder.path().join("strict.json"), OPEN).unwrap();
    world.call("POST", "/-/reload", &[], "").await.is(204);
    let retry = format!("/-/dead-letters/{}/retry", letters[0]["id"].as_str().unwrap());
    world.call("POST", &retry, &[], "").await.is(204);
    assert_eq!(world.get("/item/k").await.is(200), json!({"item/strict": {"id": "k", "n": "old"}}));
}

#[tokio::test]
async fn two_failed_messages_of_a_key_keep_their_order() {
    let world = world().await;
    world.start();
    for n in ["first", "second"] {
        publish(&world, "dead", message("k", &json!(n))).await;
    }
    let letters = world.letters(2, 2).await;
    std::fs::write(world.folder.path().join("strict.json"), OPEN).unwrap();
    world.call("POST", "/-/reload", &[], "").await.is(204);
    let retry = async |place: usize| {
        let path = format!("/-/dead-letters/{}/retry", letters[place]["id"].as_str().unwrap());
        world.call("POST", &path, &[], "").await.status
    };
    // The later one first: then the earlier one is late.
    assert_eq!((retry(1).await, retry(0).await), (204, 409));
    assert_eq!(world.get("/dead/k").await.is(200), json!({"dead": {"id": "k", "n": "second"}}));
}

#[tokio::test]
async fn a_lower_version_is_dropped_and_a_delete_leaves_a_grave() {
    let world = world().await;
    world.start();
    let send = async |message: Message| publish(&world, "versions", message).await;
    send(versioned("k", 5, "5")).await;
    world.becomes("/versioned/k", r#"{"versioned":5}"#).await;
    send(versioned("k", 4, "4")).await;
    send(versioned("mark", 1, "1")).await;
    send(versioned("k", 6, "")).await;
    world.becomes("/versioned/k", "404").await;
    // What is older than the grave stays dead, and so does a repeat of it; what is newer lives.
    send(versioned("k", 5, "5")).await;
    send(versioned("k", 6, "6")).await;
    send(versioned("k", 7, "7")).await;
    world.becomes("/versioned/k", r#"{"versioned":7}"#).await;
    // A repeat does not undo what a request has done since.
    world.put("/versioned/k", "\"mine\"").await.is(200);
    send(versioned("k", 7, "7")).await;
    send(versioned("k", 8, "8")).await;
    world.becomes("/versioned/k", r#"{"versioned":8}"#).await;
    world.delete("/versioned/k").await.is(200);
    send(versioned("k", 8, "8")).await;
    send(versioned("end", 1, "1")).await;
    world.becomes("/versioned/end", r#"{"versioned":1}"#).await;
    world.letters(0, 0).await;
}

/// Letters of a key are read in pages of a thousand; a write must reach those of the second page too.
#[tokio::test]
async fn a_write_is_newer_than_every_letter_of_its_key_however_many_there_are() {
    const LETTERS: usize = 1_203;
    let world = world().await;
    world.start();
    let messages = (0..LETTERS).map(|n| message("k", &json!(n.to_string()))).collect();
    world.topics.publish("dead", messages).await.unwrap();
    world
        .until(|| async {
            let count = world.snippets.letters(None, 2 * LETTERS).await.unwrap().len();
            if count == LETTERS { Ok(()) } else { Err(format!("{count} letters")) }
        })
        .await;
    world.put("/dead/k", "{\"n\": 2}").await.is(200);
    std::fs::write(world.folder.path().join("strict.json"), OPEN).unwrap();
    world.call("POST", "/-/reload", &[], "").await.is(204);
    let letters = world.snippets.letters(None, LETTERS).await.unwrap();
    for place in [0, 999, 1_000, 1_001, LETTERS - 1] {
        let late = world.snippets.retry_letter(&letters[place].id).await;
        assert!(matches!(late, Err(snippets::Error::Superseded(_))), "letter {place}: {late:?}");
    }
    assert_eq!(world.get("/dead/k").await.is(200), json!({"dead": {"n": 2}}));
}

/// A backlog is read in large polls by several readers at once; each key still ends with its last message.
#[tokio::test(flavor = "multi_thread")]
async fn a_backlog_keeps_the_order_of_every_key() {
    const KEYS: usize = 400;
    const ROUNDS: usize = 12;
    let world = world().await;
    for round in 0..ROUNDS {
        let value = |key: usize| if (key + round).is_multiple_of(50) { json!("bad") } else { json!(round) };
        let messages = (0..KEYS).map(|key| message(&format!("k{key}"), &value(key))).collect();
        world.topics.publish("dead", messages).await.unwrap();
    }
    world.start();
    world
        .until(|| async {
            let lag: i64 =
                world.topics.lag("dead", snippets::GROUP).await.unwrap().iter().map(|lag| lag.lag).sum();
            if lag == 0 { Ok(()) } else { Err(format!("{lag} messages are left")) }
        })
        .await;
    for key in 0..KEYS {
        let last = if (key + ROUNDS - 1).is_multiple_of(50) { ROUNDS - 2 } else { ROUNDS - 1 };
        let found = world.get(&format!("/dead/k{key}")).await.is(200);
        assert_eq!(found["dead"]["n"], json!(last), "k{key}");
    }
    let bad = (0..KEYS).flat_map(|key| (0..ROUNDS).map(move |round| key + round));
    let bad = bad.filter(|sum| sum.is_multiple_of(50)).count();
    assert_eq!(world.snippets.letters(None, 1_000).await.unwrap().len(), bad);
}
