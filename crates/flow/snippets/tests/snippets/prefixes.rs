//! Key prefixes: the file, the store's copy, and the end of a snippet.

use kit::Clock;
use snippets::{Registry, Settings, Snippets};
use spine::Base;

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
    let base = Base::alone(world.store.clone(), Clock::system());
    let settings = Settings { config: Some(path), ..Settings::default() };
    let opened = Snippets::open(&base, settings, Registry::shipped()).await;
    opened.map(drop).map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_process_whose_numbers_differ_does_not_start() {
    let world = World::of(&config(&["a", "b"]), &[]).await;
    let folder = world.folder.path().display();
    let differs = format!("{folder}/key_prefixes.txt differs from the store: ");
    open(&world, "a 1\nb 2").await.unwrap();
    assert_eq!(
        open(&world, "a 2\nb 1").await.unwrap_err(),
        format!("{differs}a has number 2 in the file and 1 in the store")
    );
    std::fs::write(world.folder.path().join("config.pb.txt"), config(&["a"])).unwrap();
    assert_eq!(
        open(&world, "a 1").await.unwrap_err(),
        format!(
            "{differs}b 2 of the store is missing in the file; put it back, or remove its documents with \
             `dvor snippets drop b --snippets-config {folder}/config.pb.txt`"
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
    let drop = async |name: &str| world.snippets.drop_snippet(name).await.map_err(|error| error.to_string());
    assert_eq!(
        drop("b").await.unwrap_err(),
        "snippet b is configured: take it out of the configuration first"
    );
    std::fs::write(&path, config(&["a"])).unwrap();
    // What the process still has, it would still write.
    assert_eq!(
        drop("b").await.unwrap_err(),
        "the server still works with snippet b, which its configuration has no longer: reload it first, with SIGHUP \
         or `POST /-/reload` on the snippets port"
    );
    world.put("/b/1", "2").await.is(200);
    world.call("POST", "/-/reload", &[], "").await.is(204);
    assert_eq!(drop("b").await, Ok(50));
    assert_eq!(drop("b").await, Ok(0), "what is done can be said again");
    assert_eq!(drop("c").await.unwrap_err(), "this installation knows no snippet \"c\"");
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

#[tokio::test]
async fn a_drop_that_could_not_write_the_file_is_repeated() {
    let world = World::of(&config(&["a", "b"]), &[]).await;
    world.put("/b/1", "1").await.is(200);
    let path = world.folder.path().join("config.pb.txt");
    let file = world.folder.path().join("key_prefixes.txt");
    std::fs::write(&file, "# ours\na 1\nb 2 # of old\n").unwrap();
    std::fs::write(&path, config(&["a"])).unwrap();
    world.call("POST", "/-/reload", &[], "").await.is(204);
    // The new file cannot be written where a folder is.
    let in_the_way = world.folder.path().join("key_prefixes.txt.new");
    std::fs::create_dir(&in_the_way).unwrap();
    let failed = world.snippets.drop_snippet("b").await.unwrap_err().to_string();
    assert!(failed.contains("key_prefixes.txt cannot be written"), "{failed}");
    std::fs::remove_dir(&in_the_way).unwrap();
    let numbers = std::fs::read_to_string(&file).unwrap();
    let folder = world.folder.path().display();
    assert_eq!(
        open(&world, &numbers).await.unwrap_err(),
        format!(
            "{folder}/key_prefixes.txt differs from the store: b was dropped, and its number 2 never comes back; \
             `dvor snippets drop b --snippets-config {folder}/config.pb.txt` marks it as retired in the file too"
        )
    );
    assert_eq!(world.snippets.drop_snippet("b").await.unwrap(), 0);
    let numbers = std::fs::read_to_string(&file).unwrap();
    assert_eq!(numbers, "# ours\na 1\nb 2 retired # of old\n");
    open(&world, &numbers).await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_not_the_stores_drops_nothing() {
    let world = World::of(&config(&["a", "b"]), &[]).await;
    world.put("/b/1", "1").await.is(200);
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join("config.pb.txt");
    let file = elsewhere.path().join("key_prefixes.txt");
    std::fs::write(&path, config(&["x"])).unwrap();
    let drop = async |path: Option<&std::path::Path>| {
        let dropped = snippets::drop_snippet(&world.store, path, &Registry::shipped(), "b").await;
        dropped.map_err(|error| error.to_string())
    };
    let refused = async |numbers: &str, reason: &str| {
        std::fs::write(&file, numbers).unwrap();
        let expected = format!(
            "{} does not belong to this store: {reason}. Name the configuration of the server with --snippets-config",
            file.display()
        );
        assert_eq!(drop(Some(&path)).await, Err(expected), "{numbers}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), numbers);
        world.get("/b/1").await.is(200);
    };
    refused("x 1\nb 2", "a 1 is missing there").await;
    refused("a 7\nb 2", "a 1 is missing there").await;
    refused("a 1\nb 7", "b has another number there").await;
    refused("a 1\nx 7", "x 7 is not in the store, and b not in the file").await;
    // None at all: that is the configuration that comes with Dvor.
    let shipped = drop(None).await.unwrap_err();
    assert!(
        shipped.starts_with("key_prefixes.txt of the program does not belong to this store: "),
        "{shipped}"
    );
    world.get("/b/1").await.is(200);
    // The store's own file may have lost the line.
    std::fs::write(&file, "a 1").unwrap();
    assert_eq!(drop(Some(&path)).await, Ok(1));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "a 1\nb 2 retired\n");
}

#[tokio::test]
async fn a_configuration_without_numbers_drops_nothing() {
    let world = World::of(&config(&["b"]), &[]).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join("config.pb.txt");
    std::fs::write(&path, config(&["x"])).unwrap();
    let dropped = snippets::drop_snippet(&world.store, Some(&path), &Registry::shipped(), "b").await;
    assert!(dropped.unwrap_err().to_string().contains("it is empty, or not there"));
}
