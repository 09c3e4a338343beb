//! Files with everything around them: the outbox, the disk, the memory.

use std::fs::File;
use std::time::{Duration, Instant, SystemTime};

use files::{Answer, Files, Kind, Limits, Options, Referrer};
use futures::StreamExt as _;
use kit::{Clock, Shutdown, Timestamp};
use store::{Schema, Shard, Store};
use topics::Topics;

use crate::s3;

fn store() -> Store {
    Store::memory(Schema::new(files::tables().into_iter().chain(topics::tables())))
}

fn options(dir: &tempfile::TempDir) -> Options {
    Options { reserve_bytes: 0, ..Options::new(dir.path().join("temp")) }
}

fn in_folder(dir: &tempfile::TempDir, options: Options) -> Files {
    files::open(&format!("file:{}", dir.path().join("blobs").display()), store(), options).unwrap()
}

fn bytes(size: usize) -> impl futures::Stream<Item = Result<bytes::Bytes, std::io::Error>> + Send {
    futures::stream::iter(
        (0..size.div_ceil(1 << 16)).map(move |number| {
            Ok(bytes::Bytes::from(vec![number as u8; (1 << 16).min(size - (number << 16))]))
        }),
    )
}

#[tokio::test]
async fn a_release_in_the_owners_transaction_reaches_the_file_through_the_outbox() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::manual(Timestamp(1_700_000_000_000_000));
    let store = store();
    let url = format!("file:{}", dir.path().join("blobs").display());
    let options = Options { clock: clock.clone(), ..options(&dir) };
    let files = files::open(&url, store.clone(), options).unwrap();
    let topics = Topics::alone(store.clone(), topics::Options::default());
    topics.ensure(files::RELEASES, 4).await.unwrap();
    let shutdown = Shutdown::new();
    let relay = tokio::spawn(topics::relay::run(topics.clone(), shutdown.clone()));
    let consumer = tokio::spawn({
        let (topics, shutdown, releases) = (topics.clone(), shutdown.clone(), files.releases());
        async move { topics::consume::run(topics, files::RELEASES, "files", releases, shutdown).await }
    });

    let referrer = Referrer::new("feeds:seller/default/7").unwrap();
    let incoming = files.receive(bytes(300_000), Limits::up_to(1 << 20)).await.unwrap();
    let hash = files.put(incoming, &referrer).await.unwrap().hash;
    files.confirm(&hash, &referrer).await.unwrap();
    let woken = store.wakes().listen(files::WAKE_CHANNEL);
    store.transact(Shard::of("seller"), async |tx| Files::release(tx, &hash, &referrer).await).await.unwrap();
    let shards = tokio::time::timeout(Duration::from_secs(30), woken.woken()).await.unwrap();
    assert_eq!(shards.into_iter().collect::<Vec<_>>(), [hash.shard()]);
    assert_eq!(files.size(&hash).await.unwrap(), None);
    clock.advance(files.write_window());
    assert_eq!(files.delete_due(&[hash.shard()]).await.unwrap().deleted, 1);
    let audit = files.audit().await.unwrap();
    assert_eq!((audit.objects, audit.files), (0, 0));
    shutdown.call();
    relay.await.unwrap();
    consumer.await.unwrap();
}

#[tokio::test]
async fn nothing_is_received_when_the_disk_would_run_full() {
    let dir = tempfile::tempdir().unwrap();
    let files = in_folder(&dir, Options { reserve_bytes: u64::MAX / 2, ..options(&dir) });
    let error = files.receive(bytes(10), Limits::up_to(10)).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Full);
    assert!(error.to_string().contains("bytes are free"), "{error}");
    // The room is there, but not for what is announced.
    let files = in_folder(&dir, options(&dir));
    let limits = Limits { max_bytes: u64::MAX, expected_bytes: Some(1 << 60) };
    assert_eq!(files.receive(bytes(10), limits).await.unwrap_err().kind(), Kind::Full);
}

#[tokio::test]
async fn the_sweep_removes_temp_files_that_a_kill_left_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let files = in_folder(&dir, options(&dir));
    let made = |path: &str, age: Duration| {
        let path = dir.path().join(path);
        let file = File::create(&path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
        path
    };
    let (day, hour) = (Duration::from_secs(25 * 3_600), Duration::from_secs(3_600));
    let old = [made("temp/dvor-incoming-old", day), made("blobs/staging/old", day)];
    let young = [
        made("temp/dvor-incoming-new", hour),
        made("blobs/staging/new", hour),
        made("temp/somebody-elses", day),
    ];
    let swept = files.sweep(|_, _| async { Answer::Unknown }).await.unwrap();
    assert_eq!(swept.temp_files, 2);
    assert!(old.iter().all(|path| !path.exists()) && young.iter().all(|path| path.exists()));
}

#[test]
fn a_write_may_not_outlive_a_pending_reference() {
    let dir = tempfile::tempdir().unwrap();
    let day = Duration::from_secs(24 * 3_600);
    let refused = files::open("memory:", store(), Options { put_timeout: day, ..options(&dir) });
    assert_eq!(refused.map(drop).unwrap_err().kind(), Kind::Invalid);
}

#[test]
fn unknown_places_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for url in ["", "file:", "ftp://x", "s3://", "memory:x"] {
        assert_eq!(
            files::open(url, store(), options(&dir)).map(drop).unwrap_err().kind(),
            Kind::Invalid,
            "{url}"
        );
    }
}

/// In a process of its own for each place, since the memory of other tests would count too: the test calls itself.
#[cfg(target_os = "linux")]
#[test]
fn a_large_file_goes_in_and_out_in_constant_memory() {
    if let Ok(place) = std::env::var(PLACE) {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        return runtime.block_on(measured(&place));
    }
    for place in ["folder", "s3"] {
        if place == "s3" && std::env::var_os("DVOR_TEST_S3").is_none() {
            eprintln!("nothing was run for S3: DVOR_TEST_S3 names no server");
            continue;
        }
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "flow::a_large_file_goes_in_and_out_in_constant_memory", "--nocapture"])
            .env(PLACE, place)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success(), "{said}{}", String::from_utf8_lossy(&child.stderr));
        let measured =
            said.lines().find_map(|line| line.split_once("measured: ")).expect("the child has measured");
        println!("{place}: {}", measured.1);
    }
}

/// Names the place to the process that measures.
#[cfg(target_os = "linux")]
const PLACE: &str = "DVOR_TEST_FILES_PLACE";

#[cfg(target_os = "linux")]
async fn measured(place: &str) {
    const SIZE: usize = 256 << 20;
    const MAX_KB: u64 = 100 << 10;
    let dir = tempfile::tempdir().unwrap();
    let files = match place {
        "s3" => files::open(&s3::bucket().unwrap(), store(), options(&dir)).unwrap(),
        _ => in_folder(&dir, options(&dir)),
    };
    let begun = Instant::now();
    let incoming = files.receive(bytes(SIZE), Limits::up_to(1 << 30)).await.unwrap();
    let received = begun.elapsed();
    let begun = Instant::now();
    let hash = files.put(incoming, &Referrer::new("test:large").unwrap()).await.unwrap().hash;
    let put = begun.elapsed();
    let begun = Instant::now();
    let (mut reading, mut read) = (files.open(&hash).await.unwrap(), 0);
    while let Some(chunk) = reading.next().await {
        read += chunk.unwrap().len();
    }
    assert_eq!(read, SIZE);
    let read = begun.elapsed();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
    println!(
        "measured: 256 MiB received in {received:.1?}, put in {put:.1?}, read in {read:.1?}; peak {peak}"
    );
    let kilobytes: u64 = peak.split(' ').next().unwrap().parse().unwrap();
    assert!(kilobytes < MAX_KB, "{peak} at {SIZE} bytes");
}
