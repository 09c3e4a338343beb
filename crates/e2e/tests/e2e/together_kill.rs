use e2e::load::offers::easy_category;
use e2e::torture::{Kills, together};

/// The short form of `cargo xtask torture together`.
#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_lose_nothing_while_all_systems_work_together() {
    let folder = tempfile::tempdir().unwrap();
    let category = easy_category(&catalog::Catalog::shipped());
    let plan = Kills { lives_ms: 300..3_000, ..Kills::embedded(10, rand::random()) };
    let report = together::run(folder.path(), &plan, &category).await.unwrap();
    assert!(report.feeds.succeeded > 0 && report.offers.events > 0 && report.stages.runs > 0, "{report:?}");
    assert!(report.silver.gold > 0 && report.cards > 0, "{report:?}");
}
