//! Copies and backups: every row, of one moment, or a refusal.

use store::{Range, Read as _, Schema, Shard, Space, Store, Table};

use super::options;

const WORDS: Table<(String, i64), Vec<u8>> = Table::new("test", "words", &["name", "number"], Space::Large);

fn words() -> Store {
    Store::memory(Schema::new([WORDS.spec()]))
}

async fn fill(store: &Store) {
    for seller in 0..40_i64 {
        let name = format!("seller {seller}");
        store
            .transact(Shard::of(&name), async |tx| {
                (0..seller * 40)
                    .try_for_each(|number| tx.put(&WORDS, (&name, number), &vec![seller as u8; 2_000]))
            })
            .await
            .unwrap();
    }
}

async fn count(store: &Store) -> usize {
    let shards: Vec<_> = Shard::all().collect();
    store.scan_shards(&WORDS, &shards, Range::all(100_000)).await.unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_and_a_backup_hold_every_row_and_only_into_an_empty_store() {
    let folder = tempfile::tempdir().unwrap();
    let from = words();
    fill(&from).await;
    let url = format!("embedded:{}", folder.path().join("copy").display());
    let copied = Store::open(&[url], Schema::new([WORDS.spec()]), &options()).await.unwrap();
    let rows = store::copy(&from, &copied, |_| {}).await.unwrap();
    assert_eq!((rows, count(&copied).await), (31_200, 31_200));
    let error = store::copy(&from, &copied, |_| {}).await.unwrap_err();
    assert!(error.to_string().contains("not empty"), "{error}");

    let file = folder.path().join("backup.dvb");
    assert_eq!(store::backup(&copied, &file, |_| {}).await.unwrap(), 31_200);
    let restored = words();
    assert_eq!(store::restore(&file, &restored, |_| {}).await.unwrap(), 31_200);
    assert_eq!(count(&restored).await, 31_200);
    let seller = restored.snapshot(Shard::of("seller 7")).await.unwrap();
    assert_eq!(seller.get(&WORDS, ("seller 7", 279_i64)).await.unwrap(), Some(vec![7; 2_000]));
    assert_eq!(seller.get(&WORDS, ("seller 7", 280_i64)).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_of_one_moment_while_writes_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("embedded:{}", folder.path().join("store").display());
    let store = Store::open(&[url], Schema::new([WORDS.spec()]), &options()).await.unwrap();
    fill(&store).await;
    // A writer moves a token from shard to shard: at every moment there is one, or two while it moves.
    store.transact(Shard::wrapping(0), async |tx| tx.put(&WORDS, ("token", 0_i64), &vec![1])).await.unwrap();
    let writer = tokio::spawn({
        let store = store.clone();
        async move {
            for step in 0..2_000_i64 {
                let (here, there) = (Shard::wrapping(step as u64 * 7), Shard::wrapping(step as u64 * 7 + 7));
                store.transact(there, async |tx| tx.put(&WORDS, ("token", 0_i64), &vec![1])).await.unwrap();
                store.transact(here, async |tx| tx.delete(&WORDS, ("token", 0_i64))).await.unwrap();
            }
        }
    });
    for round in 0..3 {
        let file = folder.path().join(format!("backup-{round}.dvb"));
        store::backup(&store, &file, |_| {}).await.unwrap();
        let restored = words();
        store::restore(&file, &restored, |_| {}).await.unwrap();
        let tokens = count(&restored).await - 31_200;
        assert!((1..=2).contains(&tokens), "{tokens} tokens");
    }
    writer.await.unwrap();
}

#[tokio::test]
async fn a_damaged_backup_is_refused_and_what_it_left_is_never_taken_for_whole() {
    let folder = tempfile::tempdir().unwrap();
    let from = words();
    fill(&from).await;
    let file = folder.path().join("backup.dvb");
    store::backup(&from, &file, |_| {}).await.unwrap();
    let whole = std::fs::read(&file).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let cases: [(&str, &[u8]); 4] = [
        ("ends too early", &whole[..whole.len() - 40]),
        ("ends too early", &whole[..whole.len() / 2]),
        ("is damaged", &flipped),
        ("no backup of this version", b"dvor backup 9\n----"),
    ];
    for (number, (words, bytes)) in cases.into_iter().enumerate() {
        std::fs::write(&file, bytes).unwrap();
        let url = format!("embedded:{}", folder.path().join(format!("{number}")).display());
        let open =
            async || Store::open(std::slice::from_ref(&url), Schema::new([WORDS.spec()]), &options()).await;
        let target = open().await.unwrap();
        let error = store::restore(&file, &target, |_| {}).await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        target.engine().close().await.unwrap();
        drop(target);
        let begun = !bytes.starts_with(b"dvor backup 9");
        let reopened = open().await.err().map(|error| error.kind());
        assert_eq!(reopened, begun.then_some(store::Kind::Incompatible));
    }
}
