use e2e::torture::silver::{self, Plan};
use servers::Database;

/// The short form of `cargo xtask torture silver`.
#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_lose_nothing_of_master_data() {
    let folder = tempfile::tempdir().unwrap();
    let report = silver::run(folder.path(), &Plan::embedded(10, rand::random())).await.unwrap();
    assert!(report.acknowledged > 50 && report.parts > 0 && report.gold > 0, "{report:?}");
}

/// The same on PostgreSQL.
#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_lose_nothing_of_master_data_on_postgresql() {
    let Some(database) = Database::create("ten_kills_lose_nothing_of_master_data_on_postgresql").await else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let flags = vec!["--store".to_owned(), database.url.clone()];
    let report = silver::run(folder.path(), &Plan::services(10, rand::random(), flags)).await.unwrap();
    assert!(report.acknowledged > 50 && report.parts > 0 && report.gold > 0, "{report:?}");
}
