use e2e::torture::feeds::{self, Plan};

/// The short form of `cargo xtask torture feeds`.
#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_lose_nothing_of_the_feeds() {
    let folder = tempfile::tempdir().unwrap();
    let report = feeds::run(folder.path(), &Plan::embedded(10, rand::random())).await.unwrap();
    assert!(report.succeeded > 12 && report.failed > 0, "{report:?}");
    assert!(report.downloads_broken_off > 0 && report.not_modified > 0, "{report:?}");
    assert!(report.uploads_acknowledged > 0 && report.errors > 0, "{report:?}");
}
