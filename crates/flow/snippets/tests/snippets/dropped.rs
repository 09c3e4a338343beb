//! Snippets that move or go: what was deleted does not come back, and what is gone is not written any more.

use kit::Clock;
use store::{Range, Shard, Space, Table, Tx};

use crate::world::{World, memory, write_config};

/// What the store keeps of documents, as far as a test needs to know it: the content comes first.
const DOCUMENTS: Table<(String, u32, String, String), Vec<u8>> =
    Table::new("snippets", "documents", &["service", "prefix", "key", "language"], Space::Small);

fn config(service: &str, sections: &str) -> String {
    format!("Body {{ Output: JSON InputSameAsOutput: true Service: \"{service}\" {sections} }}")
}

const A: &str = "Section { Name: \"a\" }";
const A_AND_B: &str = "Section { Name: \"a\" } Section { Name: \"b\" }";

#[tokio::test]
async fn a_service_that_a_snippet_has_left_does_not_bring_documents_back() {
    let world = World::of(&config("main", A), &[]).await;
    world.put("/a/1", "1").await.is(200);
    write_config(world.folder.path(), &config("other", A), &[]);
    world.snippets.reload().await.unwrap();
    world.get("/a/1").await.is(404);
    world.put("/a/1", "2").await.is(200);
    world.delete("/a/1").await.is(200);
    write_config(world.folder.path(), &config("main", A), &[]);
    let error = world.snippets.reload().await.unwrap_err().to_string();
    assert!(error.contains("moved from service \"main\" to \"other\""), "{error}");
    world.get("/a/1").await.is(404);
    write_config(world.folder.path(), &config("third", A), &[]);
    world.snippets.reload().await.unwrap();
    world.get("/a/1").await.is(404);
}

/// One process has heard that a snippet is no more, and another has not.
#[tokio::test]
async fn a_dropped_snippet_is_not_written_by_who_still_has_it() {
    let store = memory();
    let clock = Clock::system();
    let knowing = World::on(store.clone(), &config("main", A_AND_B), &[], clock.clone()).await;
    let late = World::on(store, &config("main", A_AND_B), &[], clock).await;
    for key in 0..50 {
        late.put(&format!("/b/{key}"), "1").await.is(200);
        late.put(&format!("/a/{key}"), "1").await.is(200);
    }
    write_config(knowing.folder.path(), &config("main", A), &[]);
    knowing.snippets.reload().await.unwrap();
    assert_eq!(knowing.snippets.drop_snippet("b").await.unwrap(), 50);
    let refused = late.put("/b/1", "2").await.is(400);
    assert!(refused["detail"].as_str().unwrap().contains("was dropped"), "{refused}");
    late.get("/b/1").await.is(404);
    late.put("/a/1", "2").await.is(200);
    assert_eq!(knowing.snippets.drop_snippet("b").await.unwrap(), 0, "looked at once more, nothing is left");
}

/// Somebody who writes without looking, as an older version of the program does, may come after a drop.
#[tokio::test]
async fn a_second_drop_takes_what_came_after_the_first() {
    let world = World::of(&config("main", A_AND_B), &[]).await;
    world.put("/b/late", "1").await.is(200);
    let shard = Shard::of("late");
    let documents = async || {
        let rows = world.store.scan_shards(&DOCUMENTS, &[shard], Range::all(9)).await.unwrap();
        rows.into_iter().map(|(_, key, content)| (key, content)).find(|(key, _)| key.2 == "late")
    };
    let (key, content) = documents().await.unwrap();
    write_config(world.folder.path(), &config("main", A), &[]);
    world.snippets.reload().await.unwrap();
    assert_eq!(world.snippets.drop_snippet("b").await.unwrap(), 1);
    assert_eq!(documents().await, None);
    world.store.transact(shard, async |tx: &mut Tx| tx.put(&DOCUMENTS, &key, &content)).await.unwrap();
    assert_eq!(world.snippets.drop_snippet("b").await.unwrap(), 1);
    assert_eq!(documents().await, None);
}
