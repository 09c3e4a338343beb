use e2e::load::offers::easy_category;
use e2e::torture::stages::{self, Plan};
use servers::Database;

/// The short form of `cargo xtask torture stages`.
#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_lose_no_run_of_a_stage() {
    let folder = tempfile::tempdir().unwrap();
    let category = easy_category(&catalog::Catalog::shipped());
    let report = stages::run(folder.path(), &Plan::embedded(10, rand::random()), &category).await.unwrap();
    assert_eq!(report.kills, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn three_kills_lose_no_run_of_a_stage_on_postgresql() {
    let Some(database) = Database::create("three_kills_lose_no_run_of_a_stage_on_postgresql").await else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let category = easy_category(&catalog::Catalog::shipped());
    let flags = vec!["--store".to_owned(), database.url.clone()];
    let plan = Plan::services(3, rand::random(), flags);
    let report = stages::run(folder.path(), &plan, &category).await.unwrap();
    assert_eq!(report.kills, 3);
}
