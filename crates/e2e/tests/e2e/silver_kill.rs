use e2e::load::offers::easy_category;
use e2e::torture::{Kills, silver};
use servers::Database;

/// The short form of `cargo xtask torture silver`.
#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_lose_nothing_of_master_data() {
    let folder = tempfile::tempdir().unwrap();
    let category = easy_category(&catalog::Catalog::shipped());
    let report = silver::run(folder.path(), &Kills::embedded(10, rand::random()), &category).await.unwrap();
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
    let category = easy_category(&catalog::Catalog::shipped());
    let plan = Kills { lives_ms: 500..8_000, ..Kills::services(10, rand::random(), flags) };
    let report = silver::run(folder.path(), &plan, &category).await.unwrap();
    assert!(report.acknowledged > 50 && report.parts > 0 && report.gold > 0, "{report:?}");
}
