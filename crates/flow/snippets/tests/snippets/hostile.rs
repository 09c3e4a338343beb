//! Names, keys and languages from those who mean no good: refused, or stored exactly, never somewhere else.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use store::{Range, Shard};

use crate::world::World;

const CONFIG: &str = r#"Body { InputSameAsOutput: true Output: JSON
  Section { Name: "a" }
  Section { Name: "a.b/c_1" }
  Section { Name: "org" Body { Recursive: "card" Section { Name: "card" } } } }"#;

/// The keys in the store, of all shards.
async fn keys(world: &World) -> Vec<String> {
    let table = world.store.schema().id("snippets", "documents").unwrap();
    let shards: Vec<_> = Shard::all().collect();
    let rows = world.store.engine().scan_shards(table, &shards, &Range::all(100)).await.unwrap();
    let spec = world.store.schema().table(table);
    rows.into_iter()
        .map(|(_, (key, _))| match &store::engine::parts(spec.types, key.as_slice()).unwrap()[2] {
            store::Part::Str(key) => key.clone(),
            part => panic!("{part:?}"),
        })
        .collect()
}

#[tokio::test]
async fn a_key_is_stored_exactly_or_refused() {
    let long = "x".repeat(1_024);
    let too_long = "x".repeat(10_240);
    let cases: &[(&str, Option<&str>)] = &[
        ("/a/1", Some("1")),
        ("/a/..", Some("..")),
        ("/a/%2e%2e", Some("..")),
        ("/a/%2E%2E%2Fetc%2Fpasswd", Some("../etc/passwd")),
        ("/a/b%2Fc", Some("b/c")),
        ("/a/%D0%BA%D0%BB%D1%8E%D1%87", Some("ключ")),
        ("/a/a+b%20c", Some("a+b c")),
        ("/a/%25", Some("%")),
        ("/a/%252F", Some("%2F")),
        ("/a/'%22%5C%0A", Some("'\"\\\n")),
        (&format!("/a/{long}"), Some(&long)),
        ("/a.b/c_1/k", Some("k")),
        ("/a/%3Fb=1", Some("?b=1")),
        ("/a/1?b=1", None),
        ("/a/1?", None),
        ("/a/%zz", None),
        ("/a/%", None),
        ("/a/%2", None),
        ("/a/100%&", None),
        ("/a/%00", None),
        ("/a/x%00y", None),
        ("/a/%ff", None),
        ("/a/", None),
        ("/a", None),
        ("/a//1", None),
        ("//a/1", None),
        ("/a/1/ru", None),
        ("/a/1/2/3", None),
        ("/../a/1", None),
        ("/./a/1", None),
        ("/a/../org/card/1", None),
        ("/A/1", None),
        ("/%D0%B0/1", None),
        ("/a%2F1", None),
        ("/a.b%2Fc_1/k", None),
        ("/a.b/1", None),
        ("/org/card", Some("card")),
        ("/b/1", None),
        (&format!("/a/{too_long}"), None),
        (&format!("/{too_long}/1"), None),
    ];
    for (path, key) in cases {
        let world = World::of(CONFIG, &[]).await;
        let answer = world.put(path, "1").await;
        match key {
            Some(key) => {
                answer.is(200);
                assert_eq!(keys(&world).await, [*key], "{path}");
                assert!(world.get(path).await.is(200).is_object(), "{path}");
            }
            None => {
                answer.is(400);
                assert!(keys(&world).await.is_empty(), "{path}");
            }
        }
    }
    let world = World::of(CONFIG, &[]).await;
    for wrong in ["RU", "..", "%00", "ru%2Fen", "русский", "xx-yy", &too_long] {
        let path = format!("/a/1/{}", wrong.replace("русский", "%D1%80%D1%83"));
        world.get(&path).await.is(400);
    }
}

#[tokio::test]
async fn deep_json_is_refused() {
    let world = World::of(CONFIG, &[]).await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let refused = world.put("/a/1", &deep).await.is(422);
    assert_eq!(refused["errors"][0]["field"], json!("a#"));
}

/// The entry functions of the fuzz targets, on seeded input: pieces of what is right, put together wrong.
#[test]
fn random_configurations_and_paths_are_read_or_refused() {
    let mut rng = StdRng::seed_from_u64(7);
    let words = [
        "Body",
        "{",
        "}",
        "<",
        ">",
        "[",
        "]",
        ":",
        ",",
        ";",
        "Section",
        "Name",
        "\"a\"",
        "\"a/b\"",
        "'x'",
        "\"\\",
        "Output",
        "JSON",
        "PB",
        "Input",
        "InputSameAsOutput",
        "true",
        "TtlMinutes",
        "5",
        "-",
        "99999999999",
        "#",
        "\n",
        "Recursive",
        "OutputLanguages",
        "\"ru\"",
        "SpecialConvertor",
        "\"jq:x\"",
        "я",
        "\0",
        " ",
        "InputTopic",
    ];
    for _ in 0..3_000 {
        let count = rng.random_range(1..40);
        let text: Vec<_> = (0..count).map(|_| words[rng.random_range(0..words.len())]).collect();
        snippets::fuzzing::config(text.join(" ").as_bytes());
        let right =
            "Body { Output: JSON InputSameAsOutput: true Section { Name: \"a\" Body { TtlMinutes: 5 } } }";
        let mut mutated = right.as_bytes().to_vec();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(0..mutated.len());
            mutated[at] = rng.random();
        }
        snippets::fuzzing::config(&mutated);
    }
    let parts = [
        "/", "a", "org", "card", "%2F", "%00", "%", "..", ".", "photos", "1.x", "ru", "pt-BR", "я", "%d1%8f",
        "k",
    ];
    for _ in 0..20_000 {
        let count = rng.random_range(1..12);
        let path: String = (0..count).map(|_| parts[rng.random_range(0..parts.len())]).collect();
        snippets::fuzzing::address(path.as_bytes());
    }
}
