//! The child of the store's kill test: opens, checks everything it finds, and goes on writing.
//!
//! Writer `w` makes transactions 1, 2, 3, … Number `n` adds its rows to three tables and a queue, removes those of
//! `n - KEPT`, and counts itself in its writer's and its shard's row. So a state is whole exactly when, for the last
//! number `l` of each writer, the rows of `l - KEPT + 1 ..= l` are there and no others, and the shard's count is the sum.

use std::io::Write as _;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use store::{Error, Options, Range, Read, Schema, Shard, Space, Store, Table, Tx};

use crate::load::content;

pub const WRITERS: i64 = 32;
const SHARDS_USED: i64 = 8;
const KEPT: i64 = 40;

const LAST: Table<(i64,), i64> = Table::new("torture", "last", &["writer"], Space::Small);
const COUNT: Table<(String,), i64> = Table::new("torture", "count", &["name"], Space::Small);
const SMALL: Table<(i64, i64, i64), i64> =
    Table::new("torture", "small", &["writer", "number", "part"], Space::Small);
const LARGE: Table<(i64, i64), Vec<u8>> = Table::new("torture", "large", &["writer", "number"], Space::Large);
const QUEUE: Table<(i64, i64), i64> = Table::new("torture", "queue", &["number", "writer"], Space::Queue);

fn shard_of(writer: i64) -> Shard {
    Shard::wrapping((writer % SHARDS_USED) as u64)
}

/// As the server does it: the reason, and an end at once.
fn stop(reason: &str) {
    eprintln!("{reason}");
    std::process::abort();
}

/// Runs until it is killed. Prints `state w l` for each writer found, `ready`, then `begin w n` and `ack w n`.
pub async fn run(url: &str) -> anyhow::Result<()> {
    let options = Options { reserve_bytes: 0, on_failure: stop, ..Options::default() };
    let tables = [LAST.spec(), COUNT.spec(), SMALL.spec(), LARGE.spec(), QUEUE.spec()];
    let store = Store::open(&[url.to_owned()], Schema::new(tables), &options).await?;
    let mut last = Vec::new();
    for number in 0..SHARDS_USED {
        last.extend(check(&store, number).await.with_context(|| format!("shard {number}"))?);
    }
    for (writer, number) in &last {
        say(&format!("state {writer} {number}"))?;
    }
    say("ready")?;
    let store = Arc::new(store);
    let writers = last.into_iter().map(|(writer, number)| tokio::spawn(write(store.clone(), writer, number)));
    for writer in writers.collect::<Vec<_>>() {
        writer.await??;
    }
    Ok(())
}

async fn write(store: Arc<Store>, writer: i64, mut number: i64) -> anyhow::Result<()> {
    loop {
        number += 1;
        say(&format!("begin {writer} {number}"))?;
        store.transact(shard_of(writer), async |tx| step(tx, writer, number).await).await?;
        say(&format!("ack {writer} {number}"))?;
    }
}

async fn step(tx: &mut Tx, writer: i64, number: i64) -> Result<(), Error> {
    let count = tx.get(&COUNT, ("all",)).await?.unwrap_or_default();
    tx.put(&COUNT, ("all",), &(count + 1))?;
    tx.put(&LAST, (writer,), &number)?;
    tx.put(&LARGE, (writer, number), &value(writer, number))?;
    tx.put(&QUEUE, (number, writer), &number)?;
    for part in 0..3_i64 {
        tx.put(&SMALL, (writer, number, part), &(number + part))?;
    }
    let old = number - KEPT;
    if old > 0 {
        tx.delete(&LARGE, (writer, old))?;
        tx.delete(&QUEUE, (old, writer))?;
        for part in 0..3_i64 {
            tx.delete(&SMALL, (writer, old, part))?;
        }
    }
    Ok(())
}

/// Every fifth value is large enough to live in a blob file of its own.
fn value(writer: i64, number: i64) -> Vec<u8> {
    let mut bytes = content((writer * 1_000_003 + number) as u64);
    if number % 5 == 0 {
        bytes = bytes.repeat(8);
    }
    bytes
}

/// Checks a shard's whole state and gives the last number of each of its writers.
async fn check(store: &Store, shard: i64) -> anyhow::Result<Vec<(i64, i64)>> {
    let snapshot = store.snapshot(Shard::wrapping(shard as u64)).await?;
    let writers: Vec<i64> = (0..WRITERS).filter(|writer| writer % SHARDS_USED == shard).collect();
    let mut found = Vec::new();
    let mut rows = 0;
    for writer in &writers {
        let last = snapshot.get(&LAST, (*writer,)).await?.unwrap_or_default();
        found.push((*writer, last));
        for number in (last - KEPT + 1).max(1)..=last {
            let large = snapshot.get(&LARGE, (*writer, number)).await?;
            ensure!(
                large == Some(value(*writer, number)),
                "writer {writer}: the large row of {number} of {last}"
            );
            let queued = snapshot.get(&QUEUE, (number, *writer)).await?;
            ensure!(
                queued == Some(number),
                "writer {writer}: the queue row of {number} of {last}: {queued:?}"
            );
            for part in 0..3_i64 {
                let small = snapshot.get(&SMALL, (*writer, number, part)).await?;
                ensure!(
                    small == Some(number + part),
                    "writer {writer}: small row {part} of {number} of {last}"
                );
            }
            rows += 1;
        }
    }
    let counted = snapshot.get(&COUNT, ("all",)).await?.unwrap_or_default();
    let wanted: i64 = found.iter().map(|(_, last)| last).sum();
    ensure!(counted == wanted, "the shard counted {counted} transactions, its writers {wanted}");
    let all = usize::MAX >> 1;
    let large = snapshot.scan(&LARGE, Range::all(all)).await?.len();
    let small = snapshot.scan(&SMALL, Range::all(all)).await?.len();
    let queue = snapshot.scan(&QUEUE, Range::all(all)).await?.len();
    ensure!(
        (large, small, queue) == (rows, rows * 3, rows),
        "rows that should be gone: {large}, {small}, {queue}"
    );
    Ok(found)
}

/// One whole line in one write: lines of different writers do not mix, and what was said is said.
fn say(line: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())?;
    Ok(out.flush()?)
}
