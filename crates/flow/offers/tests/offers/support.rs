//! What the tests share.

use catalog::Catalog;
use kit::{Clock, Timestamp};
use model::{Content, Money};
use offers::{Offers, Settings};
use servers::Database;
use spine::Base;
use store::{Schema, Store};

/// A moment in the year 2026.
pub(crate) const BEGINNING: Timestamp = Timestamp(1_790_000_000_000_000);

pub(crate) fn schema() -> Schema {
    testing::schema([offers::tables()])
}

pub(crate) fn offers_on(store: Store, settings: Settings) -> Offers {
    Offers::new(&Base::alone(store, Clock::manual(BEGINNING)), settings, Catalog::shipped())
}

/// The memory engine, for what needs many small steps.
pub(crate) fn in_memory(settings: Settings) -> Offers {
    offers_on(Store::memory(schema()), settings)
}

/// The embedded engine in a folder that goes with the returned guard.
pub(crate) async fn embedded(settings: Settings) -> (Offers, tempfile::TempDir) {
    let (store, folder) = testing::embedded(schema()).await;
    (offers_on(store, settings), folder)
}

/// PostgreSQL, in a database of the test's own.
pub(crate) async fn postgres(database: &Database, settings: Settings) -> Offers {
    offers_on(testing::postgres(database, schema()).await, settings)
}

pub(crate) fn content(title: &str, price_minor: Option<i64>) -> Content {
    Content {
        title: title.to_owned(),
        price: price_minor.map(|minor| Money { minor, currency: "RUB".to_owned() }),
        ..Content::default()
    }
}
