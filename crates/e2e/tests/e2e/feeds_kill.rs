use e2e::torture::{Kills, feeds};
use servers::Database;

/// The short form of `cargo xtask torture feeds`.
#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_lose_nothing_of_the_feeds() {
    let folder = tempfile::tempdir().unwrap();
    let report = feeds::run(folder.path(), &Kills::embedded(10, rand::random())).await.unwrap();
    assert!(report.succeeded > 12 && report.failed > 0, "{report:?}");
    assert!(report.downloads_broken_off > 0 && report.not_modified > 0, "{report:?}");
    assert!(report.uploads_acknowledged > 0 && report.errors > 0, "{report:?}");
}

/// The same on PostgreSQL, where all loops of a process wait for the same few connections.
#[tokio::test(flavor = "multi_thread")]
async fn three_kills_lose_nothing_of_the_feeds_on_postgresql() {
    let Some(database) = Database::create("three_kills_lose_nothing_of_the_feeds_on_postgresql").await else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let flags = vec!["--store".to_owned(), database.url.clone()];
    let report = feeds::run(folder.path(), &Kills::services(3, rand::random(), flags)).await.unwrap();
    assert!(report.succeeded > 0 && report.uploads_acknowledged > 0, "{report:?}");
}
