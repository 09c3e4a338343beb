//! TTL: exact on read, and the space comes back.

use std::time::Duration;

use serde_json::json;
use store::{Range, Shard};

use crate::world::World;

const CONFIG: &str = r#"Body { InputSameAsOutput: true Output: JSON
  Section { Name: "brief" Body { TtlMinutes: 1 } } Section { Name: "long" } }"#;

async fn rows(world: &World, table: &str) -> usize {
    let id = world.store.schema().id("snippets", table).unwrap();
    let shards: Vec<_> = Shard::all().collect();
    world.store.engine().scan_shards(id, &shards, &Range::all(1_000_000)).await.unwrap().len()
}

#[tokio::test]
async fn what_has_expired_is_not_there_to_the_microsecond() {
    let world = World::of(CONFIG, &[]).await;
    world.put("/brief/1", "1").await.is(200);
    let look = async || {
        world
            .call("POST", "/-/lookup", &[], json!({"names": ["brief"], "keys": ["1"]}).to_string())
            .await
            .is(200)["items"]
            .clone()
    };
    assert_eq!(look().await[0]["expires_at"], "2023-11-14T22:14:20Z");
    world.clock.advance(Duration::from_micros(59_999_999));
    world.get("/brief/1").await.is(200);
    world.clock.advance(Duration::from_micros(1));
    world.get("/brief/1").await.is(404);
    assert_eq!(look().await, json!([]));
    assert_eq!(rows(&world, "documents").await, 1, "the sweep has not come yet");
    assert_eq!(world.snippets.sweep().await.unwrap(), 1);
    assert_eq!((rows(&world, "documents").await, rows(&world, "expiries").await), (0, 0));
}

#[tokio::test]
async fn a_write_begins_a_new_life() {
    let world = World::of(CONFIG, &[]).await;
    world.put("/brief/1", "1").await.is(200);
    world.clock.advance(Duration::from_secs(50));
    world.put("/brief/1", "2").await.is(200);
    world.clock.advance(Duration::from_secs(50));
    assert_eq!(world.snippets.sweep().await.unwrap(), 0);
    assert_eq!(world.get("/brief/1").await.is(200), json!({"brief": 2}));
    world.delete("/brief/1").await.is(200);
    assert_eq!(rows(&world, "expiries").await, 0);
}

#[tokio::test]
async fn a_new_ttl_holds_for_new_writes() {
    let world = World::of(CONFIG, &[]).await;
    world.put("/brief/1", "1").await.is(200);
    world.put("/long/1", "1").await.is(200);
    let changed = CONFIG
        .replace("TtlMinutes: 1", "TtlMinutes: 0")
        .replace("\"long\"", "\"long\" Body { TtlMinutes: 2 }");
    crate::world::write_config(world.folder.path(), &changed, &[]);
    world.call("POST", "/-/reload", &[], "").await.is(204);
    world.put("/brief/2", "2").await.is(200);
    world.put("/long/2", "2").await.is(200);
    world.clock.advance(Duration::from_secs(3_600));
    for (path, status) in [("/brief/1", 404), ("/brief/2", 200), ("/long/1", 200), ("/long/2", 404)] {
        world.get(path).await.is(status);
    }
}

#[tokio::test]
async fn a_sweep_takes_many_and_leaves_the_living() {
    let world = World::of(CONFIG, &[]).await;
    for key in 0..1_500 {
        world.put(&format!("/brief/{key}"), "1").await.is(200);
    }
    world.clock.advance(Duration::from_secs(61));
    world.put("/brief/young", "1").await.is(200);
    assert_eq!(world.snippets.sweep().await.unwrap(), 1_500);
    assert_eq!((rows(&world, "documents").await, rows(&world, "expiries").await), (1, 1));
}

#[tokio::test]
async fn a_bad_configuration_is_refused_and_the_old_one_stays() {
    let world = World::of(CONFIG, &[]).await;
    let path = world.folder.path().join("config.pb.txt");
    std::fs::write(&path, CONFIG.replace("TtlMinutes", "TtlMinuts")).unwrap();
    let refused = world.call("POST", "/-/reload", &[], "").await.is(422);
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("config.pb.txt: line 2, column 34: field 'TtlMinuts' not found"), "{detail}");
    std::fs::write(&path, CONFIG.replace("\"long\"", "\"new\"")).unwrap();
    let refused = world.call("POST", "/-/reload", &[], "").await.is(422);
    assert!(refused["detail"].as_str().unwrap().contains("snippet new has no key prefix"), "{refused}");
    world.put("/brief/1", "1").await.is(200);
    world.put("/long/1", "1").await.is(200);
}
