//! Order, ranges and pages.

use std::collections::BTreeMap;

use kit::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::{MIXED, Outcome, PAIRS, QUEUE, ensure, shard};
use crate::{Encode as _, Error, Range, Read as _, Shard, Store};

type MixedKey = (String, i64, u32, Vec<u8>, Timestamp);

const WORDS: [&str; 9] = ["", "A", "a", "a b", "ab", "b", "Я", "я", "\u{10ffff}"];

/// Keys whose columns repeat often and lie at the edges of their types.
fn random_key(rng: &mut StdRng) -> MixedKey {
    let numbers = [i64::MIN, -1, 0, 1, i64::MAX];
    let blobs: [&[u8]; 5] = [b"", b"\0", b"\0\0", b"\xff", b"\0\xff"];
    (
        WORDS[rng.random_range(0..WORDS.len())].to_owned(),
        numbers[rng.random_range(0..numbers.len())],
        [0, 1, u32::MAX][rng.random_range(0..3)],
        blobs[rng.random_range(0..blobs.len())].to_vec(),
        Timestamp(numbers[rng.random_range(0..numbers.len())]),
    )
}

async fn fill(store: &Store, shard: Shard, count: usize) -> Result<BTreeMap<MixedKey, String>, Error> {
    let mut rng = StdRng::seed_from_u64(7);
    let rows: BTreeMap<_, _> = (0..count).map(|number| (random_key(&mut rng), number.to_string())).collect();
    store
        .transact(shard, async |tx| {
            for (key, value) in &rows {
                tx.put(&MIXED, key, value)?;
            }
            Ok::<_, Error>(())
        })
        .await?;
    Ok(rows)
}

pub(super) async fn order(store: &Store) -> Outcome {
    let rows: Vec<_> = fill(store, shard(1), 800).await?.into_iter().collect();
    let snapshot = store.snapshot(shard(1)).await?;
    let forward = snapshot.scan(&MIXED, Range::all(2_000)).await?;
    let differs = forward.iter().zip(&rows).find(|(found, wanted)| found != wanted);
    ensure!(differs.is_none(), "rows are out of order: {differs:?}");
    ensure!(forward.len() == rows.len(), "{} rows came back of {}", forward.len(), rows.len());
    let mut backward = snapshot.scan(&MIXED, Range::all(2_000).reversed()).await?;
    backward.reverse();
    ensure!(backward == rows, "the rows backward are not the rows forward");
    Ok(())
}

pub(super) async fn model(store: &Store) -> Outcome {
    let rows = fill(store, shard(2), 300).await?;
    let snapshot = store.snapshot(shard(2)).await?;
    let mut rng = StdRng::seed_from_u64(11);
    for _ in 0..200 {
        let range = random_range(&mut rng)?;
        let mut wanted: Vec<_> = rows
            .iter()
            .filter(|(key, _)| key.encode().is_ok_and(|key| range.contains(key.as_slice())))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if range.reverse {
            wanted.reverse();
        }
        wanted.truncate(range.limit);
        let found = snapshot.scan(&MIXED, range.clone()).await?;
        ensure!(found == wanted, "{range:?} gave {} rows, wanted {}", found.len(), wanted.len());
    }
    Ok(())
}

fn random_range(rng: &mut StdRng) -> Result<Range, Error> {
    let (a, b) = (random_key(rng), random_key(rng));
    let mut range = Range::all(rng.random_range(1..60));
    range = match rng.random_range(0..6) {
        0 => range,
        1 => range.from((&a.0,))?,
        2 => range.after((&a.0, a.1))?,
        3 => range.from(&a)?,
        4 => range.after(&a)?,
        _ => return Ok(Range::prefix((&a.0, a.1, a.2), range.limit)?.reversed()),
    };
    range = match rng.random_range(0..5) {
        0 => range,
        1 => range.before((&b.0,))?,
        2 => range.up_to((&b.0, b.1))?,
        3 => range.before(&b)?,
        _ => range.up_to(&b)?,
    };
    Ok(if rng.random() { range.reversed() } else { range })
}

pub(super) async fn paging(store: &Store) -> Outcome {
    let rows: Vec<_> = fill(store, shard(3), 300).await?.into_iter().collect();
    for reverse in [false, true] {
        let mut range = Range::all(7);
        if reverse {
            range = range.reversed();
        }
        let mut joined = Vec::new();
        loop {
            let page = store.transact(shard(3), async |tx| tx.scan(&MIXED, range.clone()).await).await?;
            let Some((last, _)) = page.last() else { break };
            range = range.beyond(last.encode()?);
            joined.extend(page);
        }
        if reverse {
            joined.reverse();
        }
        ensure!(
            joined == rows,
            "pages joined to {} rows of {} (reverse: {reverse})",
            joined.len(),
            rows.len()
        );
    }
    Ok(())
}

pub(super) async fn scan_shards(store: &Store) -> Outcome {
    for number in 0..8_u16 {
        store
            .transact(shard(number), async |tx| {
                for row in 0..i64::from(number) {
                    tx.put(&PAIRS, ("due", row), &(i64::from(number) * 100 + row))?;
                }
                tx.put(&PAIRS, ("later", 0_i64), &0)
            })
            .await?;
    }
    let shards: Vec<_> = [7, 2, 0, 5, 900].map(shard).to_vec();
    let mut found = store.scan_shards(&PAIRS, &shards, Range::prefix(("due",), 3)?).await?;
    found.sort_by_key(|(shard, key, _)| (*shard, key.1));
    let found: Vec<_> = found.into_iter().map(|(shard, _, value)| (shard.number(), value)).collect();
    let wanted = [(2, 200), (2, 201), (5, 500), (5, 501), (5, 502), (7, 700), (7, 701), (7, 702)];
    ensure!(found == wanted, "the first three of each shard were {found:?}");
    Ok(())
}

pub(super) async fn queue(store: &Store) -> Outcome {
    let mut head = -1_i64;
    for round in 0..30_i64 {
        let taken = store
            .transact(shard(4), async |tx| {
                for number in 0..10 {
                    tx.put(&QUEUE, (round * 10 + number,), &(round * 10 + number))?;
                }
                let rows = tx.scan(&QUEUE, Range::all(8).after((head,))?).await?;
                for (key, _) in &rows {
                    tx.delete(&QUEUE, key)?;
                }
                Ok::<_, Error>(rows.into_iter().map(|(_, value)| value).collect::<Vec<_>>())
            })
            .await?;
        let wanted: Vec<_> = (head + 1..head + 9).collect();
        ensure!(taken == wanted, "round {round} took {taken:?}, wanted {wanted:?}");
        head += 8;
    }
    let left = store.snapshot(shard(4)).await?.scan(&QUEUE, Range::all(1_000)).await?.len();
    ensure!(left == 60, "{left} rows are left of 300 after 240 were taken");
    Ok(())
}
