//! Rows: how they look in `psql`, in what order they come, and who sees them when.

use kit::Timestamp;
use store::{Error, Range, Read as _, Shard, Store};

use super::support::{AnyKey as Key, COUNTERS, Database, EVERYTHING, WORDS, open, schema};

#[tokio::test]
async fn tables_have_typed_columns() {
    let Some(database) = Database::create().await else { return };
    let store = open(&database.url).await;
    let shard = Shard::of("ru");
    store
        .transact(shard, async |tx| {
            tx.put(&WORDS, ("ru", 7_i64), &b"seven".to_vec())?;
            tx.put(&EVERYTHING, ("a", -1_i64, u32::MAX, vec![0, 255], Timestamp(i64::MIN)), &vec![9])?;
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    let client = database.client().await;
    let row =
        client.query_one("SELECT shard, language, number, value FROM lexicon.words", &[]).await.unwrap();
    assert_eq!((row.get(0), row.get(1), row.get(2)), (shard.number() as i16, "ru", 7_i64));
    assert!(row.get::<_, &[u8]>(3).ends_with(b"seven"));

    let text = "SELECT string_agg(column_name || ' ' || data_type || coalesce(' ' || collation_name, ''), ', ' \
        ORDER BY ordinal_position) FROM information_schema.columns WHERE table_name = $1";
    let columns: String = client.query_one(text, &[&"every\"thing"]).await.unwrap().get(0);
    assert_eq!(
        columns,
        "shard smallint, text text C, order bigint, number bigint, bytes bytea, due at bigint, value bytea"
    );
    let key =
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'lexicon.words'::regclass";
    let key: String = client.query_one(key, &[]).await.unwrap().get(0);
    assert_eq!(key, "PRIMARY KEY (shard, language, number)");
}

fn any<T: Clone>(values: &[T]) -> T {
    use rand::RngExt as _;
    values[rand::rng().random_range(0..values.len())].clone()
}

fn random_key() -> Key {
    let texts = [
        "", " ", "A", "a", "B", "b", "ё", "е", "Ж", "я", "É", "e\u{301}", "\u{1}", "\u{ffff}", "😀", "a b",
        "ab", "-a",
    ];
    let numbers = [i64::MIN, -1, 0, 1, i64::MAX];
    let blobs = [vec![], vec![0], vec![0, 0], vec![0, 255], vec![255], b"a".to_vec()];
    (
        any(&texts).to_owned(),
        any(&numbers),
        any(&[0, 1, i32::MAX as u32, 1 << 31, u32::MAX]),
        any(&blobs),
        Timestamp(any(&numbers)),
    )
}

fn random_range() -> Range {
    let mut range = Range::all(any(&[0, 1, 2, 7, 100, usize::MAX]));
    for from in [true, false] {
        let (text, order, number, bytes, due) = random_key();
        range = match (from, any(&[0, 1, 2, 3, 4, 5, 6, 7])) {
            (true, 1) => range.from((text,)),
            (true, 2) => range.after((text,)),
            (true, 3) => range.from((text, order, number)),
            (true, 4) => range.after((text, order, number)),
            (true, 5) => range.from((text, order, number, bytes, due)),
            (true, 6) => range.after((text, order, number, bytes, due)),
            (false, 1) => range.up_to((text,)),
            (false, 2) => range.before((text,)),
            (false, 3) => range.up_to((text, order, number)),
            (false, 4) => range.before((text, order, number)),
            (false, 5) => range.up_to((text, order, number, bytes, due)),
            (false, 6) => range.before((text, order, number, bytes, due)),
            _ => Ok(range),
        }
        .unwrap();
    }
    if any(&[true, false]) { range.reversed() } else { range }
}

/// The same changes and the same questions, here and in the engine in memory.
#[tokio::test]
async fn order_ranges_and_lookups_are_those_of_the_model() {
    let Some(database) = Database::create().await else { return };
    let (store, model) = (open(&database.url).await, Store::memory(schema()));
    let shards = [Shard::new(0).unwrap(), Shard::new(1023).unwrap(), Shard::new(500).unwrap()];
    for round in 0..30 {
        let changes: Vec<(Key, bool)> = (0..40).map(|_| (random_key(), any(&[true, true, false]))).collect();
        for store in [&store, &model] {
            let change = async |tx: &mut store::Tx| {
                for (key, put) in &changes {
                    if *put {
                        tx.put(&EVERYTHING, key, &vec![round])?;
                    } else {
                        tx.delete(&EVERYTHING, key)?;
                    }
                }
                Ok::<_, Error>(())
            };
            store.transact(any(&shards[..1]), change).await.unwrap();
        }
        let keys: Vec<Key> = changes.iter().map(|(key, _)| key.clone()).chain([random_key()]).collect();
        let (ours, theirs) =
            (store.snapshot(shards[0]).await.unwrap(), model.snapshot(shards[0]).await.unwrap());
        assert_eq!(
            ours.get_many(&EVERYTHING, &keys).await.unwrap(),
            theirs.get_many(&EVERYTHING, &keys).await.unwrap()
        );
        for _ in 0..20 {
            let range = random_range();
            assert_eq!(
                ours.scan(&EVERYTHING, range.clone()).await.unwrap(),
                theirs.scan(&EVERYTHING, range.clone()).await.unwrap(),
                "{range:?}"
            );
            assert_eq!(
                store.scan_shards(&EVERYTHING, &shards, range.clone()).await.unwrap(),
                model.scan_shards(&EVERYTHING, &shards, range.clone()).await.unwrap(),
                "{range:?}"
            );
        }
    }
}

#[tokio::test]
async fn pages_follow_each_other_in_both_directions() {
    let Some(database) = Database::create().await else { return };
    let store = open(&database.url).await;
    let shard = Shard::of("pages");
    store
        .transact(shard, async |tx| {
            for number in 0..100_i64 {
                tx.put(&WORDS, ("ru", number), &vec![])?;
                tx.put(&WORDS, ("en", number), &vec![])?;
            }
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    let snapshot = store.snapshot(shard).await.unwrap();
    for reverse in [false, true] {
        let mut seen = Vec::new();
        let mut range = Range::prefix(("ru",), 7).unwrap();
        range.reverse = reverse;
        loop {
            let page = snapshot.scan(&WORDS, range.clone()).await.unwrap();
            let Some(((language, number), _)) = page.last() else { break };
            range = range.beyond(store::Encode::encode(&(language.as_str(), *number)).unwrap());
            seen.extend(page.iter().map(|((_, number), _)| *number));
        }
        let expected: Vec<i64> = if reverse { (0..100).rev().collect() } else { (0..100).collect() };
        assert_eq!(seen, expected);
    }
}

#[tokio::test]
async fn what_was_not_committed_leaves_no_trace() {
    let Some(database) = Database::create().await else { return };
    let store = open(&database.url).await;
    let shard = Shard::of("traces");
    let failed = store.transact(shard, async |tx| {
        tx.put(&COUNTERS, ("failed",), &1)?;
        Err::<(), _>(Error::invalid("on purpose"))
    });
    assert!(failed.await.is_err());
    // Dropped where its body waits: the shard is free again at once.
    let store_of_task = store.clone();
    let (reached, reaches) = tokio::sync::oneshot::channel();
    let task = tokio::spawn(async move {
        store_of_task
            .transact(shard, async |tx| {
                tx.put(&COUNTERS, ("dropped",), &1)?;
                let _ = reached.send(());
                std::future::pending::<()>().await;
                Ok::<_, Error>(())
            })
            .await
    });
    reaches.await.unwrap();
    task.abort();
    let rows = store.transact(shard, async |tx| tx.scan(&COUNTERS, Range::all(10)).await).await.unwrap();
    assert_eq!(rows, []);
}

/// Aborted at any moment, a transaction is whole or not at all, and its shard is free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_aborted_at_random_leave_whole_transactions() {
    let Some(database) = Database::create().await else { return };
    let store = open(&database.url).await;
    let shard = Shard::of("aborts");
    // Moments spread over twice the time that a whole transaction takes.
    let mut step = std::time::Duration::ZERO;
    for _ in 0..3 {
        let started = std::time::Instant::now();
        store.transact(shard, async |tx| tx.put(&WORDS, ("y", 0_i64), &vec![])).await.unwrap();
        step = started.elapsed() / 50;
    }
    for number in 0..100_i64 {
        let store_of_task = store.clone();
        let task = tokio::spawn(async move {
            store_of_task
                .transact(shard, async |tx| {
                    tx.get(&WORDS, ("x", number)).await?;
                    tx.put(&WORDS, ("x", number), &vec![])?;
                    tx.put(&COUNTERS, (number.to_string(),), &1)
                })
                .await
        });
        tokio::time::sleep(step * number as u32).await;
        task.abort();
        let _ = task.await;
    }
    let (words, counters) = store
        .transact(shard, async |tx| {
            Ok::<_, Error>((
                tx.scan(&WORDS, Range::all(1000)).await?.len(),
                tx.scan(&COUNTERS, Range::all(1000)).await?.len(),
            ))
        })
        .await
        .unwrap();
    let words = words - 1;
    eprintln!("{words} of 100 aborted transactions were handed over in time");
    assert_eq!(words, counters);
}

#[tokio::test]
async fn a_snapshot_stays_as_it_was_and_waits_for_nobody() {
    let Some(database) = Database::create().await else { return };
    let store = open(&database.url).await;
    let shard = Shard::of("snapshots");
    let count = async |tx: &mut store::Tx| {
        let count = tx.get(&COUNTERS, ("n",)).await?.unwrap_or_default() + 1;
        tx.put(&COUNTERS, ("n",), &count)?;
        Ok::<_, Error>(count)
    };
    store.transact(shard, count).await.unwrap();
    let snapshot = store.snapshot(shard).await.unwrap();
    assert_eq!(snapshot.get(&COUNTERS, ("n",)).await.unwrap(), Some(1));
    store.transact(shard, count).await.unwrap();
    assert_eq!(snapshot.get(&COUNTERS, ("n",)).await.unwrap(), Some(1));
    let session = store.engine().begin(shard).await.unwrap();
    let other = store.snapshot(shard).await.unwrap();
    assert_eq!(other.get(&COUNTERS, ("n",)).await.unwrap(), Some(2));
    drop(session);
    // More snapshots than connections, held by nobody at once, leave room for transactions.
    for _ in 0..40 {
        store.snapshot(shard).await.unwrap().get(&COUNTERS, ("n",)).await.unwrap();
    }
    assert_eq!(store.transact(shard, count).await.unwrap(), 3);
}
