//! From topics: keys, retries, dead letters, and what is newer.

use kit::Clock;
use serde_json::json;
use store::{Range, Read as _, Shard, Store};
use testing::Counted;
use topics::Message;

use crate::world::{Answer, World, memory};

const CONFIG: &str = r#"Body { InputSameAsOutput: true Output: JSON InputTopic: "news" InputForLB: JSON KeyExtractor: "json:/id"
  Section { Name: "item" Body { Recursive: ["full", "strict"] UploadOverLBRetryCount: 2
    Section { Name: "full" } Section { Name: "strict" Body { InputJsonSchema: "strict.json" } } } }
  Section { Name: "dead" Body { InputTopic: "dead" InputJsonSchema: "strict.json" } }
  Section { Name: "versioned" Body { InputTopic: "versions" VersionExtractor: "header:version" KeyExtractor: "key" } }
}"#;
const STRICT: &str = r#"{"properties": {"n": {"type": "integer"}}}"#;
const OPEN: &str = "{}";

async fn world() -> World {
    world_on(memory()).await
}

async fn world_on(store: Store) -> World {
    let world = World::on(store, CONFIG, &[("strict.json", STRICT)], Clock::system()).await;
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

/// What a message says of itself does not become right by being tried again.
#[tokio::test]
async fn a_retry_looks_at_the_language_and_the_version_again() {
    let world = world().await;
    world.start();
    publish(&world, "news", message("k", &json!(1)).header("content-language", "RUSSIAN")).await;
    let letters = world.letters(1, 1).await;
    assert_eq!(letters[0]["attempts"], 3);
    assert_eq!(letters[0]["reason"], "\"RUSSIAN\" is not a language such as ru or pt-BR");
    world.get("/item/k").await.is(404);
    retry(&world, &letters[0]).await.is(422);
    world.call("DELETE", &letter_path(&letters[0]), &[], "").await.is(204);

    publish(&world, "versions", versioned("k", 5, "5")).await;
    publish(&world, "versions", Message::new("k", "6")).await;
    publish(&world, "versions", Message::new("k", "7").header("version", "seven")).await;
    let letters = world.letters(2, 2).await;
    for (letter, reason) in letters.iter().zip(["no header \"version\"", "the version \"seven\""]) {
        assert!(letter["reason"].as_str().unwrap().contains(reason), "{letter}");
        retry(&world, letter).await.is(422);
    }
    assert_eq!(world.get("/versioned/k").await.is(200), json!({"versioned": 5}));
}

/// A letter that can no longer do anything says so, whether its content is right or not.
#[tokio::test]
async fn a_letter_whose_documents_are_newer_is_superseded_though_it_is_still_wrong() {
    let world = world().await;
    world.start();
    publish(&world, "dead", message("k", &json!("wrong"))).await;
    assert_eq!(world.letters(1, 1).await[0]["superseded"], false);
    world.put("/dead/k", "{\"n\": 2}").await.is(200);
    let letters = world.letters(1, 1).await;
    assert_eq!(letters[0]["superseded"], true);
    retry(&world, &letters[0]).await.is(409);

    // Of a group, when all of it is newer.
    publish(&world, "news", message("g", &json!("wrong"))).await;
    let superseded = async || {
        let letters = world.letters(2, 2).await;
        let letter = letters.into_iter().find(|letter| letter["section"] == "item").unwrap();
        (letter["superseded"] == true, letter)
    };
    superseded().await;
    world.put("/item/full/g", "1").await.is(200);
    let (is_superseded, letter) = superseded().await;
    assert!(!is_superseded);
    retry(&world, &letter).await.is(422);
    world.put("/item/strict/g", "{}").await.is(200);
    let (is_superseded, letter) = superseded().await;
    assert!(is_superseded);
    retry(&world, &letter).await.is(409);
}

fn letter_path(letter: &serde_json::Value) -> String {
    format!("/-/dead-letters/{}", letter["id"].as_str().unwrap())
}

async fn retry(world: &World, letter: &serde_json::Value) -> Answer {
    world.call("POST", &format!("{}/retry", letter_path(letter)), &[], "").await
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
    // What is older than the tombstone is refused, and so is a repeat of it; what is newer is written.
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

#[tokio::test]
async fn a_write_is_newer_than_every_letter_of_its_key_however_many_there_are() {
    const LETTERS: usize = 1_203;
    let world = world().await;
    world.start();
    let messages = (0..LETTERS).map(|n| message("k", &json!(n.to_string()))).collect();
    world.topics.publish("dead", messages).await.unwrap();
    letters_are(&world, LETTERS).await;
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

/// Counted in rows, which transactions of the snippets read: with a thousand letters of the key as with the first ones.
#[tokio::test]
async fn a_message_costs_the_same_however_many_of_its_key_have_failed() {
    const ROUNDS: usize = 10;
    const EACH: usize = 100;
    let (counted, store) = Counted::over(&memory());
    let world = world_on(store).await;
    world.start();
    let rows = || counted.take(&world.store, "snippets");
    let mut failing = Vec::new();
    for round in 1..=ROUNDS {
        rows();
        let messages = (0..EACH).map(|n| message("k", &json!(n.to_string()))).collect();
        world.topics.publish("dead", messages).await.unwrap();
        letters_are(&world, round * EACH).await;
        failing.push(rows());
    }
    // For each message: is it there already, and what is known of its key.
    assert!(failing.iter().all(|rows| *rows <= 4 * EACH), "{failing:?}");

    world.put("/dead/k", "{\"n\": 2}").await.is(200);
    assert!(rows() <= 4, "a write looks at the key, at its document and at what is noted of that");
    std::fs::write(world.folder.path().join("strict.json"), OPEN).unwrap();
    world.call("POST", "/-/reload", &[], "").await.is(204);
    publish(&world, "dead", message("k", &json!("newer than all"))).await;
    world.becomes("/dead/k", r#"{"dead":{"id":"k","n":"newer than all"}}"#).await;
    let letters = world.snippets.letters(None, ROUNDS * EACH).await.unwrap();
    rows();
    for letter in letters {
        let late = world.snippets.retry_letter(&letter.id).await;
        assert!(matches!(late, Err(snippets::Error::Superseded(_))), "{late:?}");
        assert!(world.snippets.drop_letter(&letter.id).await.unwrap());
        let rows = rows();
        assert!(rows <= 5, "{rows} rows to try a letter and to drop it");
    }
    nothing_is_left(&world, "k").await;
}

/// A group that is set back brings a message again: it is one letter all the same.
#[tokio::test]
async fn a_message_that_comes_again_is_one_letter() {
    let world = world().await;
    world.start();
    publish(&world, "dead", message("k", &json!("old"))).await;
    letters_are(&world, 1).await;
    let letter = async || world.snippets.letters(None, 10).await.unwrap().remove(0);
    let first = letter().await;
    world.topics.rewind("dead", snippets::GROUP, topics::To::Start).await.unwrap();
    world
        .until(|| async {
            let again = letter().await.failed_at > first.failed_at;
            if again { Ok(()) } else { Err("the message has not come again".to_owned()) }
        })
        .await;
    letters_are(&world, 1).await;
    assert!(world.snippets.drop_letter(&first.id).await.unwrap());
    nothing_is_left(&world, "k").await;
}

async fn letters_are(world: &World, wanted: usize) {
    world
        .until(|| async {
            let count = world.snippets.letters(None, 2 * wanted).await.unwrap().len();
            if count == wanted { Ok(()) } else { Err(format!("{count} letters, not {wanted}")) }
        })
        .await;
}

/// No letter of the key's shard, and nothing that was noted for one.
async fn nothing_is_left(world: &World, key: &str) {
    let snapshot = world.store.snapshot(Shard::of(key)).await.unwrap();
    for table in ["letters", "letter_bodies", "letter_keys", "newer", "retries"] {
        let id = world.store.schema().id("snippets", table).unwrap();
        assert_eq!(snapshot.scan_raw(id, Range::all(10)).await.unwrap().len(), 0, "{table}");
    }
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

/// The same shape as for all that fails: one by one, or together.
#[tokio::test]
async fn failures_are_told_to_retry_or_to_drop_one_by_one_and_together() {
    let world = world().await;
    world.start();
    for key in ["a", "b", "c"] {
        publish(&world, "dead", message(key, &json!("x"))).await;
    }
    let letters = world.letters(3, 3).await;
    assert_eq!(world.get("/-/failures").await.is(200)["items"].as_array().unwrap(), &letters);
    let judge = async |path: String| world.call("POST", &format!("/-/failures/{path}"), &[], "").await;
    assert_eq!(judge("retry".to_owned()).await.is(200), json!({"done": 0, "failed": 3}));
    let none = json!({"done": 0, "failed": 0});
    assert_eq!(judge("drop?topic=news".to_owned()).await.is(200), none);
    assert_eq!(judge("drop?section=dead&reason=of%20another%20kind".to_owned()).await.is(200), none);
    let id = letters[0]["id"].as_str().unwrap();
    judge(format!("{id}/retry")).await.is(422);
    judge(format!("{id}/forget")).await.is(404);
    judge(format!("{id}/drop")).await.is(204);
    assert_eq!(judge("drop?section=dead".to_owned()).await.is(200), json!({"done": 2, "failed": 0}));
    world.letters(0, 0).await;
}
