//! The conformance suite over every backend.

use std::path::PathBuf;

use store::{Schema, Store};
use topics::conformance::{self as suite, Fixture};
use topics::{Options, Tokens, Topics};

use servers::Database;

fn schema() -> Schema {
    Schema::new(topics::tables())
}

/// Topics in tables of a store in memory; the store outlives those who open it.
struct Memory(Store);

impl Fixture for Memory {
    async fn open(&self) -> Topics {
        Topics::open("embedded:", self.0.clone(), Tokens::all(), Options::default()).unwrap()
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
        Topics::open("embedded:", store, Tokens::all(), Options::default()).unwrap()
    }
}

/// Topics in tables of a PostgreSQL database.
struct Postgres(String);

impl Fixture for Postgres {
    async fn open(&self) -> Topics {
        let store =
            Store::open(std::slice::from_ref(&self.0), schema(), &store::Options::default()).await.unwrap();
        Topics::open("embedded:", store, Tokens::all(), Options::default()).unwrap()
    }
}

struct Kafka(String);

impl Fixture for Kafka {
    async fn open(&self) -> Topics {
        let url = format!("kafka://{}", self.0);
        Topics::open(&url, Store::memory(schema()), Tokens::all(), Options::default()).unwrap()
    }
}

/// One test for each function of the suite and each backend.
macro_rules! conformance {
    ($($name:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test]
            async fn $name() {
                super::suite::$name(&super::Memory(super::Store::memory(super::schema()))).await;
            })*
        }
        mod embedded {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let folder = tempfile::tempdir().unwrap();
                let folder_path = folder.path().to_owned();
                let fixture = super::Embedded { folder: folder_path, last: tokio::sync::Mutex::default() };
                super::suite::$name(&fixture).await;
            })*
        }
        /// One database for all, since making one takes longer than the tests.
        #[tokio::test(flavor = "multi_thread")]
        async fn the_whole_suite_on_postgres() {
            let Some(database) = Database::create("the_whole_suite_on_postgres").await else { return };
            let fixture = Postgres(database.url.clone());
            $(suite::$name(&fixture).await;)*
        }
        mod kafka {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                if let Some(address) = servers::kafka(stringify!($name)) {
                    super::suite::$name(&super::Kafka(address)).await;
                }
            })*
        }
    };
}

conformance! {
    records_of_a_key_keep_their_order,
    messages_arrive_as_they_were_sent,
    ten_thousand_records_arrive,
    the_ends_and_the_tail_are_known,
    topics_have_an_incarnation,
    what_was_removed_is_passed_over,
    an_unknown_topic_is_said_to_be_unknown,
    a_changed_number_of_partitions_is_refused,
    a_group_is_redelivered_what_it_has_not_committed,
    two_members_share_the_partitions,
    a_group_that_was_moved_reads_from_there,
    readers_over_http_move_only_by_commit,
}
