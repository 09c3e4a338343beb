//! Stores for tests: the tables of a system together with those of the engines.

use servers::Database;
use store::{Options, Schema, Store, TableSpec};
use tempfile::TempDir;

pub fn schema(tables: impl IntoIterator<Item = Vec<TableSpec>>) -> Schema {
    Schema::new(tables.into_iter().flatten().chain(spine::tables()))
}

/// The embedded engine in a folder that goes with the returned guard.
pub async fn embedded(schema: Schema) -> (Store, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("embedded:{}", folder.path().join("store").display());
    let options = Options { reserve_bytes: 0, ..Options::default() };
    (Store::open(&[url], schema, &options).await.unwrap(), folder)
}

/// PostgreSQL, in a database of the test's own.
pub async fn postgres(database: &Database, schema: Schema) -> Store {
    Store::open(std::slice::from_ref(&database.url), schema, &Options::default()).await.unwrap()
}
