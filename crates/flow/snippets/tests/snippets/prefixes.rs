//! Key prefixes: the file, the store's copy, and the end of a snippet.

use kit::Clock;
use snippets::{Options, Registry, Snippets};
use topics::{Tokens, Topics};

use crate::world::{World, write_config};

fn config(names: &[&str]) -> String {
    let sections: Vec<_> = names.iter().map(|name| format!("Section {{ Name: \"{name}\" }}")).collect();
    let sections = sections.join(" ");
    format!("Body {{ InputSameAsOutput: true Output: JSON {sections} }}")
}

/// Opens another process on the same store with this file of numbers.
async fn open(world: &World, numbers: &str) -> Result<(), String> {
    let path = world.folder.path().join("config.pb.txt");
    std::fs::write(world.folder.path().join("key_prefixes.txt"), numbers).unwrap();
    let topics =
        Topics::open("embedded:", world.store.clone(), Tokens::all(), topics::Options::default()).unwrap();
    let options = Options { config: Some(path), ..Options::default() };
    let opened =
        Snippets::open(world.store.clone(), topics, None, Clock::system(), Registry::shipped(), options);
    opened.await.map(drop).map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_process_whose_numbers_differ_does_not_start() {
    let world = World::of(&config(&["a", "b"]), &[]).await;
    let differs = "key_prefixes.txt differs from what this installation knows: ";
    open(&world, "a 1\nb 2").await.unwrap();
    assert_eq!(
        open(&world, "a 2\nb 1").await.unwrap_err(),
        format!("{differs}a has number 2 there and 1 here")
    );
    std::fs::write(world.folder.path().join("config.pb.txt"), config(&["a"])).unwrap();
    assert_eq!(
        open(&world, "a 1").await.unwrap_err(),
        format!(
            "{differs}b 2 is missing there; put it back, or remove its documents with `dvor snippets drop b`"
        )
    );
    open(&world, "a 1\nb 2\nc 3").await.unwrap();
}

#[tokio::test]
async fn a_dropped_snippet_takes_its_documents_along_and_its_number_never_comes_back() {
    let world = World::of(&config(&["a", "b"]), &[]).await;
    for key in 0..50 {
        world.put(&format!("/a/{key}"), "1").await.is(200);
        world.put(&format!("/b/{key}"), "1").await.is(200);
    }
    let path = world.folder.path().join("config.pb.txt");
    let drop = async |name: &str| {
        snippets::drop_snippet(&world.store, Some(&path), &Registry::shipped(), name)
            .await
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        drop("b").await.unwrap_err(),
        "snippet b is configured: take it out of the configuration first"
    );
    std::fs::write(&path, config(&["a"])).unwrap();
    assert_eq!(drop("b").await, Ok(50));
    assert_eq!(drop("b").await.unwrap_err(), "this installation knows no snippet \"b\"");
    let numbers = std::fs::read_to_string(world.folder.path().join("key_prefixes.txt")).unwrap();
    assert!(numbers.contains("b 2 retired"), "{numbers}");
    world.get("/a/1").await.is(200);
    let refused = open(&world, "a 1\nc 2").await.unwrap_err();
    assert!(refused.contains("number 2 of c was that of b and never comes back"), "{refused}");
    // Under its old name it is a new snippet, with a new number and nothing in it.
    write_config(world.folder.path(), &config(&["a"]), &[]);
    std::fs::write(world.folder.path().join("key_prefixes.txt"), &numbers).unwrap();
    write_config(world.folder.path(), &config(&["a", "b"]), &[]);
    world.call("POST", "/-/reload", &[], "").await.is(204);
    world.get("/b/1").await.is(404);
}
