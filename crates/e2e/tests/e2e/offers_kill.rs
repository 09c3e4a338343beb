use e2e::load::offers::easy_category;
use e2e::torture::{Kills, offers};

/// The short form of `cargo xtask torture offers`.
#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_lose_nothing_of_the_offers() {
    let folder = tempfile::tempdir().unwrap();
    let category = easy_category(&catalog::Catalog::shipped());
    let report = offers::run(folder.path(), &Kills::embedded(10, rand::random()), &category).await.unwrap();
    assert!(report.acknowledged > 0 && report.feed_tasks > 0 && report.events > 0, "{report:?}");
}
