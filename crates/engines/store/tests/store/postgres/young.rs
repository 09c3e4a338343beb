//! A table that the planner knows nothing of yet.

use store::{Options, Schema, Shard, Space, Store, Table, Tx};

use super::support::{Database, connect};

const EVENTS: Table<(String, i64), Vec<u8>> =
    Table::new("test", "events", &["seller", "number"], Space::Queue);

/// What PostgreSQL has read of the table's rows, by index, so far.
async fn rows_read(url: &str) -> i64 {
    // Counters come late, and a new connection sees the newest.
    let client = connect(url).await;
    let text =
        "SELECT coalesce(sum(idx_tup_read), 0)::bigint FROM pg_stat_all_indexes WHERE relname = 'events'";
    client.query_one(text, &[]).await.unwrap().get(0)
}

/// Deleting a hundred rows of a full shard reads those, and not the shard.
#[tokio::test]
async fn deleting_from_a_young_table_reads_what_it_deletes() {
    let Some(database) = Database::create().await else { return };
    let store =
        Store::open(std::slice::from_ref(&database.url), Schema::new([EVENTS.spec()]), &Options::default())
            .await
            .unwrap();
    let client = database.client().await;
    client.batch_execute("ALTER TABLE test.events SET (autovacuum_enabled = off)").await.unwrap();
    let shard = Shard::of("seller");
    // A plan that is made for an empty table is kept by its connection while the table fills.
    for _ in 0..10 {
        store.transact(shard, async |tx: &mut Tx| tx.delete(&EVENTS, ("seller", 1_i64))).await.unwrap();
    }
    for part in 0..20_i64 {
        let fill = async |tx: &mut Tx| {
            (part * 1_000..(part + 1) * 1_000)
                .try_for_each(|number| tx.put(&EVENTS, ("seller", number), &vec![0; 50]))
        };
        store.transact(shard, fill).await.unwrap();
    }
    let filled = "SELECT n_tup_ins FROM pg_stat_all_tables WHERE relname = 'events'";
    super::support::until("the counters of the filling are told", async || {
        connect(&database.url).await.query_one(filled, &[]).await.unwrap().get::<_, i64>(0) == 20_000
    })
    .await;
    let before = rows_read(&database.url).await;
    for part in 0..5_i64 {
        let delete = async |tx: &mut Tx| {
            (part * 100..(part + 1) * 100).try_for_each(|number| tx.delete(&EVENTS, ("seller", number * 37)))
        };
        store.transact(shard, delete).await.unwrap();
    }
    // Connections that end tell what they have counted.
    store.engine().close().await.unwrap();
    drop(store);
    let deleted = "SELECT n_tup_del FROM pg_stat_all_tables WHERE relname = 'events'";
    super::support::until("the counters are told", async || {
        connect(&database.url).await.query_one(deleted, &[]).await.unwrap().get::<_, i64>(0) == 500
    })
    .await;
    let read = rows_read(&database.url).await - before;
    assert!((500..1_500).contains(&read), "to delete 500 rows {read} were read");
}
