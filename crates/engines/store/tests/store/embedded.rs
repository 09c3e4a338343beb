//! What only the embedded engine promises: life after reopening, and clear words when it cannot open.

use std::time::Duration;

use kit::Timestamp;
use rand::RngExt as _;
use store::{Error, Kind, Options, Range, Read as _, Shard, Space, Store, Table, Tx};

use super::{conform, options, schema};

const PAIRS: Table<(String, i64), i64> =
    Table::new("conformance", "pairs", &["name", "number"], Space::Small);

const MIXED: Table<(String, i64, u32, Vec<u8>, Timestamp), String> =
    Table::new("conformance", "mixed", &["word", "number", "small", "bytes", "time"], Space::Small);
const LARGE: Table<(String,), String> = Table::new("conformance", "large", &["name"], Space::Large);

async fn open(folder: &std::path::Path, options: &Options) -> Result<Store, Error> {
    Store::open(&[format!("embedded:{}", folder.display())], schema(), options).await
}

async fn put(store: &Store, number: i64) -> Result<(), Error> {
    store.transact(Shard::of("x"), async |tx| tx.put(&PAIRS, ("x", number), &number)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn conforms() {
    let folder = tempfile::tempdir().unwrap();
    conform(&open(folder.path(), &options()).await.unwrap()).await;
}

#[tokio::test]
async fn conforms_on_a_single_thread() {
    let folder = tempfile::tempdir().unwrap();
    conform(&open(folder.path(), &options()).await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_there_after_reopening_and_the_folder_is_locked_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), &options()).await.unwrap();
    put(&store, 1).await.unwrap();
    let error = open(folder.path(), &options()).await.err().unwrap();
    assert_eq!(error.kind(), Kind::Locked);
    assert!(error.to_string().contains("in use by another process"), "{error}");
    store.engine().close().await.unwrap();
    assert!(put(&store, 2).await.is_err());
    drop(store);
    let store = open(folder.path(), &options()).await.unwrap();
    put(&store, 3).await.unwrap();
    let rows = store.snapshot(Shard::of("x")).await.unwrap().scan(&PAIRS, Range::all(9)).await.unwrap();
    assert_eq!(rows.into_iter().map(|(_, value)| value).collect::<Vec<_>>(), [1, 3]);
}

/// What a closed store refused has left nothing behind that others see or wait for.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_a_closed_store_refused_is_seen_by_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), &options()).await.unwrap();
    put(&store, 1).await.unwrap();
    store.engine().close().await.unwrap();
    assert_eq!(put(&store, 2).await.unwrap_err().kind(), Kind::Unavailable);
    let read = store.transact(Shard::of("x"), async |tx| tx.scan(&PAIRS, Range::all(9)).await);
    let rows =
        tokio::time::timeout(Duration::from_secs(30), read).await.expect("nothing is waited for").unwrap();
    assert_eq!(rows.into_iter().map(|(_, value)| value).collect::<Vec<_>>(), [1]);
}

#[tokio::test]
async fn another_format_or_other_columns_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (number, age) in [(99, "a newer version"), (1, "an older version")] {
        std::fs::write(folder.path().join("format"), format!("dvor store {number}\n")).unwrap();
        let error = open(folder.path(), &options()).await.err().unwrap();
        assert_eq!(error.kind(), Kind::Incompatible);
        assert!(error.to_string().contains(age), "{error}");
    }
    std::fs::remove_file(folder.path().join("format")).unwrap();
    drop(open(folder.path(), &options()).await.unwrap());

    const OTHER: Table<(String, String), i64> = Table::new("conformance", "pairs", &["a", "b"], Space::Small);
    let url = format!("embedded:{}", folder.path().display());
    let error = Store::open(&[url], store::Schema::new([OTHER.spec()]), &options()).await.err().unwrap();
    assert_eq!(error.kind(), Kind::Incompatible);
    assert!(error.to_string().contains("conformance.pairs"), "{error}");
}

#[tokio::test]
async fn a_store_shorter_than_its_witness_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), &options()).await.unwrap();
    put(&store, 1).await.unwrap();
    store.engine().close().await.unwrap();
    drop(store);
    // The database of an earlier moment under the witness of a later one.
    let earlier = tempfile::tempdir().unwrap();
    copy_folder(folder.path(), earlier.path());
    let store = open(folder.path(), &options()).await.unwrap();
    put(&store, 2).await.unwrap();
    store.engine().close().await.unwrap();
    drop(store);
    std::fs::copy(folder.path().join("witness"), earlier.path().join("witness")).unwrap();
    let error = open(earlier.path(), &options()).await.err().unwrap();
    assert_eq!(error.kind(), Kind::Corrupt);
    assert!(error.to_string().contains("was acknowledged"), "{error}");
}

#[tokio::test]
async fn writes_stop_before_the_disk_is_full_and_reads_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), &options()).await.unwrap();
    put(&store, 1).await.unwrap();
    store.engine().close().await.unwrap();
    drop(store);
    let store = open(folder.path(), &Options { reserve_bytes: u64::MAX, ..options() }).await.unwrap();
    let error = put(&store, 2).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Full);
    assert!(!error.may_have_happened());
    assert!(store.engine().health().await.is_err());
    let found = store.snapshot(Shard::of("x")).await.unwrap().get(&PAIRS, ("x", 1_i64)).await.unwrap();
    assert_eq!(found, Some(1));
}

/// Enough small commits that the journal gets a runway, which is in the way neither of who reads it after a kill nor of
/// who goes on writing it then.
#[tokio::test(flavor = "multi_thread")]
async fn many_small_commits_outlive_kills() {
    let mut folder = tempfile::tempdir().unwrap();
    for round in 1..=3 {
        let store = open(folder.path(), &options()).await.unwrap();
        futures::future::join_all((0..32).map(|writer| write_some(store.clone(), writer, round))).await;
        // A copy is what a kill would leave.
        let killed = tempfile::tempdir().unwrap();
        copy_folder(folder.path(), killed.path());
        drop(store);
        folder = killed;
        let store = open(folder.path(), &options()).await.unwrap();
        for (writer, written) in (0..32).flat_map(|writer| (1..=round).map(move |round| (writer, round))) {
            for number in 0..EACH {
                let name = format!("{writer} {written} {number}");
                let found =
                    store.get(&LARGE, Shard::of(&writer.to_string()), (name.as_str(),)).await.unwrap();
                assert_eq!(found, Some(name.repeat(300)), "{name}");
            }
        }
        store.engine().close().await.unwrap();
    }
}

const EACH: usize = 40;

async fn write_some(store: Store, writer: usize, round: usize) {
    for number in 0..EACH {
        let name = format!("{writer} {round} {number}");
        let body = async |tx: &mut Tx| tx.put(&LARGE, (name.as_str(),), &name.repeat(300));
        store.transact(Shard::of(&writer.to_string()), body).await.unwrap();
    }
}

/// Whoever is killed again and again before the tables in memory are full would read back ever more.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_back_from_a_long_journal_is_not_read_back_again() {
    const LONG: u64 = 64 << 20;
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), &options()).await.unwrap();
    let text = long_text();
    for number in 0..10_i64 {
        // Neither table is full by this; the journal is over its length.
        let body = async |tx: &mut Tx| {
            tx.put(&LARGE, (number.to_string(),), &text)?;
            tx.put(&MIXED, ("x", number, 0_u32, vec![0_u8], Timestamp(0)), &text)
        };
        store.transact(Shard::of("x"), body).await.unwrap();
    }
    let killed = tempfile::tempdir().unwrap();
    copy_folder(folder.path(), killed.path());
    assert!(journal_bytes(killed.path()) > LONG);
    let store = open(killed.path(), &options()).await.unwrap();
    put(&store, 1).await.unwrap();
    let until = tokio::time::Instant::now() + Duration::from_secs(30);
    while journal_bytes(killed.path()) > LONG {
        assert!(tokio::time::Instant::now() < until, "the journal is as long as it was");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let found = store.get(&LARGE, Shard::of("x"), ("9",)).await.unwrap();
    assert_eq!(found, Some(text));
}

fn journal_bytes(folder: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(folder.join("db")).unwrap().map(Result::unwrap);
    let journals = entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "jnl"));
    // One may go while we look.
    journals.filter_map(|journal| journal.metadata().ok()).map(|journal| journal.len()).sum()
}

/// 4 MiB that the journal cannot make shorter: it looks 64 KiB back.
fn long_text() -> String {
    let mut rng = rand::rng();
    let piece: String = (0..128 << 10).map(|_| char::from(rng.random_range(b'!'..=b'~'))).collect();
    piece.repeat(32)
}

/// Whoever commits may be a task of a runtime that ends in the middle of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_that_ends_stops_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), &options()).await.unwrap();
    for round in 0..20 {
        let other = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        for number in 0..64 {
            let store = store.clone();
            // Whether it happens nobody knows.
            other.spawn(async move { drop(put(&store, number).await) });
        }
        put(&store, 100 + round).await.unwrap();
        other.shutdown_background();
        put(&store, 200 + round).await.unwrap();
    }
    store.engine().close().await.unwrap();
}

fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
