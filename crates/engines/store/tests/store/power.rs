//! Power cuts: what was not synced is on disk in part, its pages in any order. What was acknowledged is there, and the store
//! opens.

use std::fs;
use std::ops::Range as Bytes;
use std::path::{Path, PathBuf};

use rand::RngExt as _;
use store::{Kind, Range, Read as _, Shard, Space, Store, Table, Tx};

use super::{options, schema};

const PAIRS: Table<(String, i64), i64> =
    Table::new("conformance", "pairs", &["name", "number"], Space::Small);
const LARGE: Table<(String,), String> = Table::new("conformance", "large", &["name"], Space::Large);
const ACKNOWLEDGED: i64 = 20;
const ROWS_OF_THE_LAST: usize = 40;
const PAGE: usize = 4_096;
const SECTOR: usize = 512;

/// A store whose last commit nobody was told of.
struct Cut {
    folder: tempfile::TempDir,
    journal: PathBuf,
    bytes: Vec<u8>,
    /// Everything before is synced.
    synced: usize,
    /// The witness that knows of the last commit.
    late_witness: Vec<u8>,
}

impl Cut {
    async fn make() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).await.unwrap();
        for number in 1..=ACKNOWLEDGED {
            put(&store, number).await;
        }
        let witness = fs::read(folder.path().join("witness")).unwrap();
        let journal = journal(folder.path());
        let synced = written(&fs::read(&journal).unwrap());
        store.transact(Shard::of("last"), async |tx: &mut Tx| fill(tx)).await.unwrap();
        let mut bytes = fs::read(&journal).unwrap();
        bytes.truncate(written(&bytes));
        let late_witness = fs::read(folder.path().join("witness")).unwrap();
        let copy = tempfile::tempdir().unwrap();
        copy_all_but_journals(folder.path(), copy.path());
        fs::write(copy.path().join("witness"), witness).unwrap();
        let journal = copy.path().join("db").join(journal.file_name().unwrap());
        Self { folder: copy, journal, bytes, synced, late_witness }
    }

    /// The folder as it is when the power comes back.
    fn after(&self, journal: &[u8]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        copy_all_but_journals(self.folder.path(), folder.path());
        let path = folder.path().join("db").join(self.journal.file_name().unwrap());
        fs::write(&path, journal).unwrap();
        // The journal is made longer than it is, before anything is written.
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
        folder
    }

    fn without(&self, lost: Bytes<usize>) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes[lost].fill(0);
        bytes
    }
}

fn fill(tx: &mut Tx) -> store::Result<()> {
    let mut rng = rand::rng();
    for row in 0..ROWS_OF_THE_LAST {
        let text: String = (0..1_000).map(|_| char::from(rng.random_range(b'!'..=b'~'))).collect();
        tx.put(&LARGE, (format!("{row}"),), &text)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_torn_end_that_nobody_was_told_of_keeps_no_store_from_opening() {
    let cut = Cut::make().await;
    let (synced, end) = (cut.synced, cut.bytes.len());
    assert!(end > synced + 8 * PAGE);
    // Cut at some byte…
    let mut cases: Vec<Vec<u8>> =
        [0, 1, 5, 13, 14, 40, PAGE, 3 * PAGE + 17, end - synced - 13, end - synced - 1]
            .map(|kept| cut.bytes[..synced + kept].to_vec())
            .into();
    // …or with a page missing in the middle, or a whole stretch, or what was there before in its place.
    let first_page = synced.next_multiple_of(PAGE);
    for page in (first_page..end - PAGE).step_by(PAGE) {
        cases.push(cut.without(page..page + PAGE));
    }
    // A sector may lie within one value, where all lengths are right and only the hash tells.
    for sector in (first_page..first_page + 2 * PAGE).step_by(SECTOR) {
        cases.push(cut.without(sector..sector + SECTOR));
    }
    cases.push(cut.without(synced..first_page));
    cases.push(cut.without(first_page + 100..end - 20));
    let mut garbage = cut.bytes.clone();
    rand::rng().fill(&mut garbage[first_page..first_page + PAGE]);
    cases.push(garbage);
    for (number, journal) in cases.iter().enumerate() {
        let folder = cut.after(journal);
        let store = open(folder.path()).await.unwrap_or_else(|error| panic!("case {number}: {error}"));
        assert_eq!(pairs(&store).await, (1..=ACKNOWLEDGED).collect::<Vec<_>>(), "case {number}");
        assert_eq!(last_rows(&store).await, 0, "case {number}");
        put(&store, 100).await;
        store.engine().close().await.unwrap();
        drop(store);
        let store = open(folder.path()).await.unwrap();
        assert_eq!(pairs(&store).await.last(), Some(&100), "case {number}: it goes on where it was cut");
        assert!(torn(folder.path()).is_none(), "case {number}");
    }
    let folder = cut.after(&cut.bytes);
    let store = open(folder.path()).await.unwrap();
    assert_eq!(last_rows(&store).await, ROWS_OF_THE_LAST, "whole, it is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_and_is_damaged_is_told_and_kept() {
    let cut = Cut::make().await;
    let page = cut.synced.next_multiple_of(PAGE);
    let folder = cut.after(&cut.without(page..page + PAGE));
    fs::write(folder.path().join("witness"), &cut.late_witness).unwrap();
    for _ in 0..2 {
        let error = open(folder.path()).await.err().expect("an acknowledged commit is lost");
        assert_eq!(error.kind(), Kind::Corrupt);
        assert!(error.to_string().contains("was acknowledged"), "{error}");
        let torn = torn(folder.path()).expect("what could not be read is kept");
        // The database may have written a batch of its own before the one that is damaged.
        let kept = fs::read(torn).unwrap();
        assert!(kept.len() > 8 * PAGE && cut.without(page..page + PAGE)[cut.synced..].ends_with(&kept));
    }
}

/// fjall checks a journal by compressing its values again, so what `lz4_flex` makes of a value must stay the same.
#[test]
fn the_journal_compresses_as_it_always_has() {
    let words: Vec<_> =
        (0..2_000_u32).map(|word| (word.wrapping_mul(2_654_435_761) % 977).to_string() + " ").collect();
    let text = words.concat();
    let hash = blake3::hash(&lz4_flex::compress(text.as_bytes())).to_hex();
    assert_eq!(&hash[..16], "321f1a4cb0ab2a91");
}

async fn open(folder: &Path) -> store::Result<Store> {
    Store::open(&[format!("embedded:{}", folder.display())], schema(), &options()).await
}

async fn put(store: &Store, number: i64) {
    store.transact(Shard::of("x"), async |tx| tx.put(&PAIRS, ("x", number), &number)).await.unwrap();
}

async fn pairs(store: &Store) -> Vec<i64> {
    let rows = store.snapshot(Shard::of("x")).await.unwrap().scan(&PAIRS, Range::all(1_000)).await.unwrap();
    rows.into_iter().map(|(_, value)| value).collect()
}

async fn last_rows(store: &Store) -> usize {
    let snapshot = store.snapshot(Shard::of("last")).await.unwrap();
    snapshot.scan(&LARGE, Range::all(1_000)).await.unwrap().len()
}

fn torn(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.into_iter().find(|path| path.file_name().unwrap().to_string_lossy().starts_with("torn-"))
}

fn journal(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder.join("db")).unwrap().map(|entry| entry.unwrap().path());
    let journals: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "jnl")).collect();
    assert_eq!(journals.len(), 1);
    journals.into_iter().next().unwrap()
}

/// Up to the last byte that is not zero: a batch ends with one.
fn written(journal: &[u8]) -> usize {
    journal.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

fn copy_all_but_journals(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_all_but_journals(&entry.path(), &target);
        } else if entry.path().extension().is_none_or(|end| end != "jnl") {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
