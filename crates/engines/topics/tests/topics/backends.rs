//! The conformance suite over every backend.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cluster::Cluster;
use kit::Clock;
use kit::suite::Outcome;
use servers::Database;
use store::{Schema, Store};
use topics::conformance::{self as suite, Fixture};
use topics::{Options, Topics};

fn schema() -> Schema {
    Schema::new(topics::tables())
}

/// Topics in tables of a store in memory; the store outlives those who open it.
struct Memory(Store);

impl Fixture for Memory {
    async fn open(&self) -> Topics {
        Topics::alone(self.0.clone(), Options::default())
    }
}

/// Topics in tables of an embedded store, which is closed and opened again.
struct Embedded {
    folder: PathBuf,
    last: tokio::sync::Mutex<Option<Store>>,
}

impl Fixture for Embedded {
    async fn open(&self) -> Topics {
        let mut last = self.last.lock().await;
        if let Some(store) = last.take() {
            store.engine().close().await.unwrap();
        }
        let url = format!("embedded:{}", self.folder.display());
        let store = Store::open(&[url], schema(), &store::Options::default()).await.unwrap();
        *last = Some(store.clone());
        Topics::alone(store, Options::default())
    }
}

/// Topics in tables of a PostgreSQL database.
struct Postgres(String);

impl Fixture for Postgres {
    async fn open(&self) -> Topics {
        let store =
            Store::open(std::slice::from_ref(&self.0), schema(), &store::Options::default()).await.unwrap();
        Topics::alone(store, Options::default())
    }
}

struct Kafka(String);

impl Fixture for Kafka {
    async fn open(&self) -> Topics {
        let url = format!("kafka://{}", self.0);
        let store = Store::memory(schema());
        let cluster = Cluster::solo(store.clone(), Clock::system());
        Topics::open(&url, store, cluster, Options::default()).unwrap()
    }
}

/// Runs the whole suite and fails with every check that did not pass.
async fn conform<F: Fixture>(at_once: usize, fixture: impl Fn() -> F) {
    let mut failures = Vec::new();
    let report = |name: &str, took: Duration, outcome: &Outcome| {
        println!("{took:>10.1?}  {name}");
        failures.extend(outcome.as_ref().err().map(|failure| format!("{name}: {}", failure.0)));
    };
    suite::run(at_once, fixture, report).await.unwrap();
    assert!(failures.is_empty(), "{failures:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_conforms() {
    conform(4, || Memory(Store::memory(schema()))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_store_conforms() {
    let folder = tempfile::tempdir().unwrap();
    let next = AtomicU32::new(0);
    let fixture = || {
        let folder = folder.path().join(next.fetch_add(1, Ordering::SeqCst).to_string());
        Embedded { folder, last: tokio::sync::Mutex::default() }
    };
    conform(2, fixture).await;
}

/// One database for all, since making one takes longer than the tests.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_conforms() {
    let Some(database) = Database::create("postgres_conforms").await else { return };
    conform(1, || Postgres(database.url.clone())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kafka_conforms() {
    let Some(address) = servers::kafka("kafka_conforms") else { return };
    conform(4, || Kafka(address.clone())).await;
}
