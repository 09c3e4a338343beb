//! How far a group has come in a shard.

use std::collections::BTreeMap;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use store::{Range, Read as _, Shard, Store};

use crate::tables::{APPLIED, AppliedRow};
use crate::{Error, Position, Result};

/// More partitions than a topic can have.
const MAX_PARTITIONS: usize = 2_000;
const SHARDS_AT_ONCE: usize = 16;

/// Sets `applied` back to the positions, in every shard where it is beyond them.
pub(crate) async fn forget(
    store: &Store,
    group: &str,
    incarnation: &str,
    positions: &[Position],
) -> Result<()> {
    let all: Vec<_> = Shard::all().collect();
    let range = Range::prefix((group, incarnation), MAX_PARTITIONS)?;
    let mut beyond: BTreeMap<Shard, Vec<Position>> = BTreeMap::new();
    for (shard, (_, _, partition), row) in store.scan_shards(&APPLIED, &all, range).await? {
        let to =
            positions.iter().find(|position| position.partition == partition && position.next < row.next);
        if let Some(to) = to {
            beyond.entry(shard).or_default().push(*to);
        }
    }
    let steps = beyond.into_iter().map(|(shard, positions)| async move {
        store
            .transact(shard, async |tx| {
                for Position { partition, next } in positions {
                    let key = (group, incarnation, partition);
                    if let Some(row) = tx.get(&APPLIED, key).await?.filter(|row| row.next > next) {
                        tx.put(&APPLIED, key, &AppliedRow { next, ..row })?;
                    }
                }
                Ok::<_, Error>(())
            })
            .await
    });
    stream::iter(steps).buffer_unordered(SHARDS_AT_ONCE).try_collect().await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use async_trait::async_trait;
    use kit::Shutdown;
    use store::{Schema, Tx};

    use super::*;
    use crate::consume::{Failure, Handler, Undecodable, run};
    use crate::{Message, Options, Record, To, Topics};

    /// Counts records in a row that no test of this kind uses otherwise.
    struct Counts;
    const COUNT: (&str, &str, u32) = ("counted", "", 0);

    #[async_trait]
    impl Handler for Counts {
        type Message = ();

        fn decode(&self, _: &Record) -> Result<(Shard, ()), Undecodable> {
            Ok((Shard::of("one"), ()))
        }

        async fn apply(&self, tx: &mut Tx, messages: Vec<()>) -> Result<(), Failure> {
            let next = tx.get(&APPLIED, COUNT).await?.map_or(0, |row| row.next) + messages.len() as i64;
            Ok(tx.put(&APPLIED, COUNT, &AppliedRow { next, topic: String::new() })?)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_applied_beyond_the_end_stops_until_the_group_is_rewound() {
        let store = Store::memory(Schema::new(crate::tables()));
        let topics = Topics::alone(store.clone(), Options::default());
        let incarnation = topics.ensure("t", 1).await.unwrap().incarnation;
        let messages = (0..10).map(|number: u32| Message::new("k", number.to_string())).collect();
        topics.publish("t", messages).await.unwrap();
        let (shard, key) = (Shard::of("one"), ("g", incarnation.as_str(), 0_u32));
        let counted = async || {
            let row = store.snapshot(shard).await.unwrap().get(&APPLIED, COUNT).await.unwrap();
            row.map_or(0, |row| row.next)
        };
        // As if a newer store had been put beside an older topic.
        let beyond = AppliedRow { next: 100, topic: "t".to_owned() };
        store.transact(shard, async |tx| tx.put(&APPLIED, key, &beyond)).await.unwrap();
        let shutdown = Shutdown::new();
        let consumer = tokio::spawn({
            let (topics, shutdown) = (topics.clone(), shutdown.clone());
            async move { run(topics, "t", "g", Counts, shutdown).await }
        });
        tokio::time::sleep(Duration::from_secs(300)).await;
        assert_eq!(topics.lag("t", "g").await.unwrap()[0].lag, 10, "nothing may count as done");

        topics.rewind("t", "g", To::Start).await.unwrap();
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(counted().await, 10);
        assert_eq!(topics.lag("t", "g").await.unwrap()[0].lag, 0);
        shutdown.call();
        consumer.await.unwrap();
    }
}
