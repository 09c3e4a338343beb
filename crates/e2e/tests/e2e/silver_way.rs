//! From a feed to gold through the real program, on both sets of engines.

use e2e::program::Program;
use e2e::torture::silver::way::Way;
use servers::Database;

/// Offers of the seller who is mapped late; `cargo xtask torture silver` takes a hundred thousand.
const LATE_OFFERS: usize = 2_000;

async fn whole_way(flags: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(folder.path(), flags).unwrap();
    let mut way = Way::new(&program, 71).await.unwrap();
    way.feed_to_gold().await.unwrap();
    way.migration_in_flight().await.unwrap();
    way.late_mapping(LATE_OFFERS).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_way_on_the_embedded_engines() {
    whole_way(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_way_on_postgresql_and_kafka() {
    let test = "the_whole_way_on_postgresql_and_kafka";
    let Some(database) = Database::create(test).await else { return };
    let Some(kafka) = servers::kafka(test) else { return };
    let topics = format!("kafka://{kafka}/way-{}.", kit::random_id());
    whole_way(&["--store", &database.url, "--topics", &topics]).await;
}
