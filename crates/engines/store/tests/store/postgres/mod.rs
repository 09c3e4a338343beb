//! What the PostgreSQL engine promises beyond the suite that all engines pass, against a real server: the one of
//! `DVOR_TEST_POSTGRES`, or one that a test starts for itself in order to break it.

mod copies;
mod exclusion;
mod opening;
mod outage;
mod proxy;
mod rows;
mod support;
mod trips;
mod wakes;
mod young;

use store::{Options, Store};
use support::Database;

#[tokio::test(flavor = "multi_thread")]
async fn conforms() {
    let Some(database) = Database::create().await else { return };
    let store =
        Store::open(std::slice::from_ref(&database.url), super::schema(), &Options::default()).await.unwrap();
    super::conform(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conforms_over_two_servers() {
    let Some(first) = Database::create().await else { return };
    let Some(second) = Database::create().await else { return };
    let urls = [first.url.clone(), second.url.clone()];
    let store = Store::open(&urls, super::schema(), &Options::default()).await.unwrap();
    super::conform(&store).await;
}
