//! Many callers at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::sync::Barrier;

use super::{Failure, Outcome, PAIRS, ensure, shard};
use crate::{Error, Range, Read as _, Store};

const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn parallel_shards(store: &Store) -> Outcome {
    let both_inside = Barrier::new(2);
    let enter = async |number: u16| {
        store
            .transact(shard(number), async |tx| {
                both_inside.wait().await;
                tx.put(&PAIRS, ("inside", 0_i64), &1)
            })
            .await
    };
    let entered = tokio::time::timeout(PATIENCE, futures::future::join(enter(1), enter(2))).await;
    let Ok((first, second)) = entered else {
        return Err(Failure("the transactions of two shards wait for each other".to_owned()));
    };
    first?;
    second?;
    Ok(())
}

/// What one transaction saw and did; `order` is its place in the shard's order as it found it itself.
struct Act {
    order: i64,
    read: BTreeMap<i64, i64>,
    written: Vec<(i64, Option<i64>)>,
}

/// Tasks read and change a few rows of one shard at random. Every transaction takes the next order number from a row,
/// so afterwards all of them can be replayed on a plain map, which must show the same reads and end in the same rows.
pub(super) async fn serial(store: &Store) -> Outcome {
    let tasks = (0..16).map(|seed| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut rng = StdRng::seed_from_u64(seed);
            let mut acts = Vec::new();
            for _ in 0..25 {
                acts.push(act(&store, &mut rng).await?);
            }
            Ok::<_, Error>(acts)
        })
    });
    let looker = tokio::spawn({
        let store = store.clone();
        async move {
            let mut looks = Vec::new();
            for _ in 0..40 {
                let rows = store.snapshot(shard(3)).await?.scan(&PAIRS, Range::all(100)).await?;
                looks.push(
                    rows.into_iter().map(|((_, number), value)| (number, value)).collect::<BTreeMap<_, _>>(),
                );
                tokio::task::yield_now().await;
            }
            Ok::<_, Error>(looks)
        }
    });
    let mut acts = Vec::new();
    for task in tasks {
        acts.extend(task.await.map_err(|error| Failure(error.to_string()))??);
    }
    acts.sort_by_key(|act| act.order);

    let mut states = vec![BTreeMap::new()];
    for (place, act) in acts.iter().enumerate() {
        ensure!(act.order == place as i64 + 1, "transaction {} stands at place {}", act.order, place + 1);
        let state = &states[place];
        let before: BTreeMap<_, _> =
            state.iter().filter(|(key, _)| **key > 0).map(|(k, v)| (*k, *v)).collect();
        ensure!(before == act.read, "transaction {} read {:?}, wanted {before:?}", act.order, act.read);
        let mut next = state.clone();
        next.insert(0, act.order);
        for (key, value) in &act.written {
            match value {
                Some(value) => next.insert(*key, *value),
                None => next.remove(key),
            };
        }
        states.push(next);
    }
    for look in looker.await.map_err(|error| Failure(error.to_string()))?? {
        let order = look.get(&0).copied().unwrap_or_default();
        ensure!(states.get(order as usize) == Some(&look), "a snapshot saw {look:?}, which never was");
    }
    let last = store.snapshot(shard(3)).await?.scan(&PAIRS, Range::all(100)).await?;
    let last: BTreeMap<_, _> = last.into_iter().map(|((_, number), value)| (number, value)).collect();
    ensure!(states.last() == Some(&last), "the last state is {last:?}");
    Ok(())
}

async fn act(store: &Store, rng: &mut StdRng) -> Result<Act, Error> {
    let mut written: BTreeMap<i64, Option<i64>> = BTreeMap::new();
    for _ in 0..rng.random_range(0..4) {
        written.insert(rng.random_range(1..12), rng.random::<bool>().then(|| rng.random_range(0..1_000)));
    }
    store
        .transact(shard(3), async |tx| {
            let order = tx.get(&PAIRS, ("serial", 0_i64)).await?.unwrap_or_default() + 1;
            let rows = tx.scan(&PAIRS, Range::prefix(("serial",), 100)?.after(("serial", 0_i64))?).await?;
            tx.put(&PAIRS, ("serial", 0_i64), &order)?;
            for (key, value) in &written {
                match value {
                    Some(value) => tx.put(&PAIRS, ("serial", *key), value)?,
                    None => tx.delete(&PAIRS, ("serial", *key))?,
                }
            }
            let read = rows.into_iter().map(|((_, number), value)| (number, value)).collect();
            Ok(Act { order, read, written: written.into_iter().collect() })
        })
        .await
}

/// Two rows that are always written together, asked for in every way while they are being written.
pub(super) async fn together(store: &Store) -> Outcome {
    const WRITERS: i64 = 4;
    const WRITES: i64 = 50;
    let answered = Arc::new(AtomicI64::new(0));
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (store, answered) = (store.clone(), answered.clone());
            tokio::spawn(async move {
                for _ in 0..WRITES {
                    let next = store.transact(shard(5), async |tx| {
                        let next = tx.get(&PAIRS, LEFT).await?.unwrap_or_default() + 1;
                        tx.put(&PAIRS, LEFT, &next)?;
                        tx.put(&PAIRS, RIGHT, &next)?;
                        Ok::<_, Error>(next)
                    });
                    answered.fetch_max(next.await?, Ordering::SeqCst);
                }
                Ok::<_, Error>(())
            })
        })
        .collect();
    while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
        let before = answered.load(Ordering::SeqCst);
        for (way, rows) in [
            ("alone", read_alone(store).await?),
            ("in a snapshot", store.snapshot(shard(5)).await?.get_many(&PAIRS, [LEFT, RIGHT]).await?),
            (
                "in a transaction",
                store.transact(shard(5), async |tx| tx.get_many(&PAIRS, [LEFT, RIGHT]).await).await?,
            ),
        ] {
            ensure!(rows[0] == rows[1], "{way}: the left row is {:?}, the right one {:?}", rows[0], rows[1]);
            let found = rows[0].unwrap_or_default();
            ensure!(found >= before, "{way}: {found} was read after {before} was answered");
        }
    }
    for writer in writers {
        writer.await.map_err(|error| Failure(error.to_string()))??;
    }
    let last = read_alone(store).await?;
    ensure!(last == [Some(WRITERS * WRITES); 2], "the last rows are {last:?}");
    Ok(())
}

const LEFT: (&str, i64) = ("left", 0);
const RIGHT: (&str, i64) = ("right", 0);

/// Without a snapshot.
async fn read_alone(store: &Store) -> Result<Vec<Option<i64>>, Error> {
    store.get_many(&PAIRS, [(shard(5), LEFT), (shard(5), RIGHT)]).await
}

pub(super) async fn dropped(store: &Store) -> Outcome {
    let mut rng = StdRng::seed_from_u64(5);
    for round in 0..60_i64 {
        let writer = store.transact(shard(4), async |tx| {
            let count = tx.get(&PAIRS, ("count", 0_i64)).await?.unwrap_or_default();
            tx.put(&PAIRS, ("count", 0_i64), &(count + 1))?;
            tx.put(&PAIRS, ("left", round), &round)?;
            tokio::task::yield_now().await;
            tx.put(&PAIRS, ("right", round), &round)
        });
        // Gone after a random time, from before the begin to behind the commit.
        let _ = tokio::time::timeout(Duration::from_micros(rng.random_range(0..4_000)), writer).await;
    }
    // The shard's next transaction comes after everything that was handed over.
    let (count, left, right) = store
        .transact(shard(4), async |tx| {
            tx.put(&PAIRS, ("end", 0_i64), &0)?;
            let count = tx.get(&PAIRS, ("count", 0_i64)).await?.unwrap_or_default();
            let left = tx.scan(&PAIRS, Range::prefix(("left",), 100)?).await?;
            let right = tx.scan(&PAIRS, Range::prefix(("right",), 100)?).await?;
            Ok::<_, Error>((count, left, right))
        })
        .await?;
    let numbers = |rows: &[((String, i64), i64)]| rows.iter().map(|(key, _)| key.1).collect::<Vec<_>>();
    ensure!(
        numbers(&left) == numbers(&right),
        "halves differ: {:?} and {:?}",
        numbers(&left),
        numbers(&right)
    );
    ensure!(count == left.len() as i64, "{} transactions are there, {count} were counted", left.len());
    Ok(())
}
