//! One caller at a time.

use bytes::Bytes;
use kit::Timestamp;

use super::{LARGE, MIXED, Outcome, PAIRS, ensure, shard};
use crate::{Error, Kind, Range, Read as _, Space, Store, Table, Tx};

pub(super) async fn round_trip(store: &Store) -> Outcome {
    let key = ("слово", -7_i64, 7_u32, &b"\0\xff"[..], Timestamp(1));
    let before = store
        .transact(shard(1), async |tx| {
            let before = tx.get(&MIXED, key).await?;
            tx.put(&MIXED, key, &"one".to_owned())?;
            Ok::<_, Error>(before)
        })
        .await?;
    ensure!(before.is_none(), "a row that nobody wrote was {before:?}");
    let found = store.snapshot(shard(1)).await?.get(&MIXED, key).await?;
    ensure!(found.as_deref() == Some("one"), "after writing `one` the snapshot had {found:?}");
    let found = store.get(&MIXED, shard(1), key).await?;
    ensure!(found.as_deref() == Some("one"), "after writing `one` a single question had {found:?}");
    let elsewhere = store.get(&MIXED, shard(2), key).await?;
    ensure!(elsewhere.is_none(), "the row of shard 1 was seen in shard 2");
    let rows = store.snapshot(shard(1)).await?.scan(&MIXED, Range::all(9)).await?;
    let owned = ("слово".to_owned(), -7, 7, b"\0\xff".to_vec(), Timestamp(1));
    ensure!(rows == [(owned, "one".to_owned())], "a scan gave {rows:?}");

    store.transact(shard(1), async |tx| tx.put(&MIXED, key, &"two".to_owned())).await?;
    let old = store
        .transact(shard(1), async |tx| {
            let old = tx.get(&MIXED, key).await?;
            tx.delete(&MIXED, key)?;
            Ok::<_, Error>(old)
        })
        .await?;
    ensure!(old.as_deref() == Some("two"), "after writing `two` a transaction read {old:?}");
    let gone = store.snapshot(shard(1)).await?.get(&MIXED, key).await?;
    ensure!(gone.is_none(), "a deleted row was {gone:?}");
    Ok(())
}

pub(super) async fn failed_body(store: &Store) -> Outcome {
    let failed: Result<(), Error> = store
        .transact(shard(1), async |tx| {
            tx.put(&PAIRS, ("failed", 1_i64), &1)?;
            Err(Error::invalid("on purpose"))
        })
        .await;
    ensure!(
        failed.is_err_and(|error| error.kind() == Kind::Invalid),
        "the body's own error did not come back"
    );
    let found = store.transact(shard(1), async |tx| tx.get(&PAIRS, ("failed", 1_i64)).await).await?;
    ensure!(found.is_none(), "a failed body's write was there");
    Ok(())
}

pub(super) async fn own_writes(store: &Store) -> Outcome {
    store
        .transact(shard(3), async |tx| {
            for number in 0..10_i64 {
                tx.put(&PAIRS, ("own", number), &number)?;
            }
            Ok::<_, Error>(())
        })
        .await?;
    let (forward, backward, many) = store
        .transact(shard(3), async |tx| {
            tx.delete(&PAIRS, ("own", 0_i64))?;
            tx.delete(&PAIRS, ("own", 3_i64))?;
            tx.put(&PAIRS, ("own", 4_i64), &40)?;
            tx.put(&PAIRS, ("own", -1_i64), &-1)?;
            tx.put(&PAIRS, ("own", 99_i64), &99)?;
            let (mark, bytes) = (tx.mark(), tx.written_bytes());
            tx.put(&PAIRS, ("own", 4_i64), &44)?;
            tx.delete(&PAIRS, ("own", 5_i64))?;
            tx.put(&PAIRS, ("own", 100_i64), &100)?;
            tx.undo_to(mark);
            if tx.written_bytes() != bytes {
                return Err(Error::invalid("what was undone still counts"));
            }
            let forward = tx.scan(&PAIRS, Range::prefix(("own",), 4)?).await?;
            let backward = tx.scan(&PAIRS, Range::prefix(("own",), 3)?.reversed()).await?;
            let many = tx.get_many(&PAIRS, [3, 4, 5, 99, 100].map(|number: i64| ("own", number))).await?;
            Ok::<_, Error>((forward, backward, many))
        })
        .await?;
    let values =
        |rows: Vec<((String, i64), i64)>| rows.into_iter().map(|(_, value)| value).collect::<Vec<_>>();
    let (forward, backward) = (values(forward), values(backward));
    ensure!(forward == [-1, 1, 2, 40], "the first four rows with own writes were {forward:?}");
    ensure!(backward == [99, 9, 8], "the last three rows with own writes were {backward:?}");
    ensure!(many == [None, Some(40), Some(5), Some(99), None], "get_many with own writes was {many:?}");
    Ok(())
}

pub(super) async fn snapshot(store: &Store) -> Outcome {
    let put = async |value: i64| {
        store.transact(shard(4), async |tx| tx.put(&PAIRS, ("snapshot", 1_i64), &value)).await
    };
    put(1).await?;
    let before = store.snapshot(shard(4)).await?;
    // A snapshot may begin at its first question.
    before.get(&PAIRS, ("snapshot", 1_i64)).await?;
    store
        .transact(shard(4), async |tx| {
            tx.put(&PAIRS, ("snapshot", 1_i64), &2)?;
            tx.put(&PAIRS, ("snapshot", 2_i64), &2)?;
            // Another reader looks while the transaction is open.
            let seen = store.snapshot(shard(4)).await?.get(&PAIRS, ("snapshot", 1_i64)).await?;
            if seen == Some(1) {
                Ok(())
            } else {
                Err(Error::invalid(format!("an open write was seen: {seen:?}")))
            }
        })
        .await?;
    let seen = before.get_many(&PAIRS, [("snapshot", 1_i64), ("snapshot", 2_i64)]).await?;
    ensure!(seen == [Some(1), None], "an older snapshot changed to {seen:?}");
    let rows = before.scan(&PAIRS, Range::all(9)).await?.len();
    ensure!(rows == 1, "an older snapshot's scan has {rows} rows");
    let now = store.snapshot(shard(4)).await?.get(&PAIRS, ("snapshot", 2_i64)).await?;
    ensure!(now == Some(2), "a new snapshot has {now:?}");
    Ok(())
}

pub(super) async fn many_shards(store: &Store) -> Outcome {
    const ROWS: i64 = 40;
    for number in 0..ROWS {
        let write = async |tx: &mut Tx| tx.put(&PAIRS, ("shards", number), &number);
        store.transact(shard(number as u16 % 8), write).await?;
    }
    // Out of order, each twice, and each with one that lies in another shard.
    let asked: Vec<_> = (0..3 * ROWS)
        .map(|place| {
            let number = place * 7 % ROWS;
            let elsewhere = u16::from(place >= 2 * ROWS);
            (shard((number as u16 + elsewhere) % 8), ("shards", number))
        })
        .collect();
    // The second time from memory, where there is one.
    for _ in 0..2 {
        let found = store.get_many(&PAIRS, asked.iter().copied()).await?;
        let wanted: Vec<_> =
            (0..3 * ROWS).map(|place| (place < 2 * ROWS).then_some(place * 7 % ROWS)).collect();
        ensure!(found == wanted, "rows of eight shards came back as {found:?}");
    }
    let none = store.get_many(&PAIRS, asked.iter().copied().take(0)).await?;
    ensure!(none.is_empty(), "a question for nothing brought {none:?}");
    for number in 0..ROWS {
        let clear = async |tx: &mut Tx| tx.delete(&PAIRS, ("shards", number));
        store.transact(shard(number as u16 % 8), clear).await?;
    }
    Ok(())
}

pub(super) async fn large(store: &Store) -> Outcome {
    let big: Vec<u8> =
        (0..8_000_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    store
        .transact(shard(5), async |tx| {
            tx.put(&LARGE, ("big",), &big)?;
            tx.put(&LARGE, ("empty",), &Vec::new())?;
            tx.put(&LARGE, ("",), &b"no name".to_vec())?;
            for number in 0..10_000_i64 {
                tx.put(&PAIRS, ("many", number), &(number * 2))?;
            }
            Ok::<_, Error>(())
        })
        .await?;
    let snapshot = store.snapshot(shard(5)).await?;
    let found = snapshot.get_many(&LARGE, [("big",), ("empty",), ("",), ("none",)]).await?;
    let whole = found[0].as_deref() == Some(&big[..]);
    ensure!(whole, "8 MB came back as {:?} bytes", found[0].as_ref().map(Vec::len));
    ensure!(found[1] == Some(Vec::new()), "an empty value came back as {:?}", found[1]);
    ensure!(found[2].is_some() && found[3].is_none(), "an empty name is a name, a missing row is none");
    let numbers: Vec<_> = (0..10_000_i64).rev().collect();
    let values = snapshot.get_many(&PAIRS, numbers.iter().map(|number| ("many", *number))).await?;
    let right = values.iter().zip(&numbers).all(|(value, number)| *value == Some(number * 2));
    ensure!(right && values.len() == 10_000, "10,000 rows did not come back in the order asked");
    Ok(())
}

pub(super) async fn refused(store: &Store) -> Outcome {
    const UNDECLARED: Table<(String,), i64> =
        Table::new("conformance", "undeclared", &["name"], Space::Small);
    let long = "x".repeat(crate::MAX_KEY_BYTES + 1);
    let huge = vec![0_u8; crate::MAX_VALUE_BYTES + 1];
    let outcomes = [
        store.transact(shard(6), async |tx| tx.put(&LARGE, (long.as_str(),), &vec![1])).await,
        store.transact(shard(6), async |tx| tx.put(&LARGE, ("a\0b",), &vec![1])).await,
        store.transact(shard(6), async |tx| tx.put(&LARGE, ("huge",), &huge)).await,
        store.transact(shard(6), async |tx| tx.put(&UNDECLARED, ("x",), &1)).await,
        store.transact(shard(6), async |tx| tx.get(&LARGE, (long.as_str(),)).await.map(drop)).await,
    ];
    for (number, outcome) in outcomes.into_iter().enumerate() {
        let refused = outcome.is_err_and(|error| error.kind() == Kind::Invalid);
        ensure!(refused, "impossible write number {number} was not refused");
    }
    // The longest key that is allowed must work on every engine, B-trees with small pages included.
    let longest: String =
        (0..crate::MAX_KEY_BYTES - 1).map(|n| char::from(b'a' + (n * n % 26) as u8)).collect();
    store.transact(shard(6), async |tx| tx.put(&LARGE, (longest.as_str(),), &vec![1])).await?;
    let found = store.snapshot(shard(6)).await?.get(&LARGE, (longest.as_str(),)).await?;
    ensure!(found.is_some(), "the longest key was not found");
    Ok(())
}

pub(super) async fn wakes(store: &Store) -> Outcome {
    let woken = store.wakes().listen("conformance");
    let outcome: Result<(), Error> = store
        .transact(shard(7), async |tx| {
            tx.put(&PAIRS, ("wake", 1_i64), &1)?;
            tx.wake("conformance");
            Err(Error::invalid("on purpose"))
        })
        .await;
    ensure!(outcome.is_err() && woken.take().is_empty(), "a failed body woke somebody");
    store
        .transact(shard(8), async |tx| {
            tx.put(&PAIRS, ("wake", 1_i64), &1)?;
            tx.wake("conformance");
            Ok::<_, Error>(())
        })
        .await?;
    let shards: Vec<_> = woken.woken().await.into_iter().collect();
    ensure!(shards == [shard(8)], "shard 8 changed, but {shards:?} woke");
    Ok(())
}

pub(super) async fn put_alone(store: &Store) -> Outcome {
    let id = store.schema().id(PAIRS.system(), PAIRS.name())?;
    let key = crate::Encode::encode(&("alone", 1_i64))?;
    let value = Bytes::from(prost::Message::encode_to_vec(&5_i64));
    // The shard's turn is taken all the while: the write must not wait for it.
    store
        .transact(shard(9), async |tx| {
            tx.put(&PAIRS, ("alone", 2_i64), &6)?;
            store.engine().put_alone(shard(9), id, key, value).await
        })
        .await?;
    let found = store.snapshot(shard(9)).await?.scan(&PAIRS, Range::prefix(("alone",), 9)?).await?.len();
    ensure!(found == 2, "of two rows {found} were there");
    Ok(())
}
