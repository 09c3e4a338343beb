use e2e::load::offers::easy_category;
use e2e::torture::{Kills, stages};
use servers::Database;

/// The short form of `cargo xtask torture stages`.
#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_lose_no_run_of_a_stage() {
    let folder = tempfile::tempdir().unwrap();
    let category = easy_category(&catalog::Catalog::shipped());
    let report = stages::run(folder.path(), &Kills::embedded(10, rand::random()), &category).await.unwrap();
    assert_eq!(report.kills, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_lose_no_run_of_a_stage_on_postgresql() {
    let Some(database) = Database::create("ten_kills_lose_no_run_of_a_stage_on_postgresql").await else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let category = easy_category(&catalog::Catalog::shipped());
    let flags = vec!["--store".to_owned(), database.url.clone()];
    let plan = Kills { lives_ms: 500..10_000, ..Kills::services(10, rand::random(), flags) };
    let report = stages::run(folder.path(), &plan, &category).await.unwrap();
    assert_eq!(report.kills, 10);
}
