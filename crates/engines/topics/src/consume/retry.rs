//! Dead letters that somebody wants to be tried again, by whoever reads their partition.

use std::collections::BTreeMap;
use std::time::Duration;

use store::{Range, Read as _, Shard, Tx};

use super::apply::Applier;
use super::{Failure, Handler};
use crate::dead_letters::{self, Id};
use crate::tables::{LetterKey, RETRIED, RETRIES, RetriedRow};
use crate::{Result, Topics};

/// Letters tried in one go.
const RETRIES_AT_ONCE: usize = 100;

impl<H: Handler> Applier<'_, H> {
    /// Tries the letters asked for in these partitions. One that fails again stays, with the new reason.
    pub(super) async fn retry(&self, partitions: &[u32]) -> Result<()> {
        let shards: Vec<_> = partitions.iter().map(|partition| dead_letters::shard(*partition)).collect();
        let range = Range::prefix((self.group, self.description.topic.as_str()), RETRIES_AT_ONCE)?;
        for (_, key, ()) in self.topics.store().scan_shards(&RETRIES, &shards, range).await? {
            let id = Id::from(key);
            if partitions.contains(&id.partition) {
                self.retry_one(&id).await?;
            }
        }
        Ok(())
    }

    async fn retry_one(&self, id: &Id) -> Result<()> {
        let Some((record, buried_at)) = dead_letters::open(self.topics, id).await? else {
            return dead_letters::discard(self.topics, id).await;
        };
        let (shard, message) = match self.decode(&record) {
            Ok(decoded) => decoded,
            Err(reason) => return dead_letters::failed_again(self.topics, id, &reason.0).await,
        };
        match self.apply_letter(shard, id, buried_at, message).await {
            Ok(()) => {}
            Err(Failure::Determinate(reason)) => {
                return dead_letters::failed_again(self.topics, id, &reason).await;
            }
            // Asked again at the next wake-up or safety poll.
            Err(Failure::Transient(reason)) => {
                tracing::warn!(?id, reason, "a dead letter is not tried yet");
                return Ok(());
            }
        }
        dead_letters::discard(self.topics, id).await?;
        tracing::info!(?id, "a dead letter was applied");
        Ok(())
    }

    /// The letter and its effect may live in different shards, so the effect leaves a mark. It stays when the letter is
    /// gone: another process, which has lost the partition and does not know, may have the letter in its hands.
    async fn apply_letter(
        &self,
        shard: Shard,
        id: &Id,
        buried_at: i64,
        message: H::Message,
    ) -> Result<(), Failure> {
        let applied_at = self.topics.options().clock.now().0;
        self.topics
            .store()
            .transact(shard, async |tx| {
                let mark = tx.get(&RETRIED, id.key()).await?;
                if mark.is_none_or(|mark| mark.buried_at != buried_at) {
                    self.hand(tx, vec![message]).await?;
                    tx.put(&RETRIED, id.key(), &RetriedRow { buried_at, applied_at })?;
                }
                Ok(())
            })
            .await
    }
}

/// How long marks of applied letters stay: longer than any process is stopped and goes on.
const MARKS_STAY: Duration = Duration::from_hours(24);
/// Marks looked at in one shard at a time.
const MARKS_AT_ONCE: usize = 1_000;

/// Removes old marks in the shards whose outbox this process relays.
pub(crate) async fn forget_marks(topics: &Topics) -> Result<()> {
    let held = topics.cluster().held(crate::relay::ROLE);
    let since = topics.options().clock.now().minus(MARKS_STAY).0;
    let mut old: BTreeMap<Shard, Vec<LetterKey>> = BTreeMap::new();
    for (shard, key, row) in topics.store().scan_shards(&RETRIED, &held, Range::all(MARKS_AT_ONCE)).await? {
        if row.applied_at < since {
            old.entry(shard).or_default().push(key);
        }
    }
    for (shard, keys) in old {
        let forget = async |tx: &mut Tx| keys.into_iter().try_for_each(|key| tx.delete(&RETRIED, key));
        topics.store().transact(shard, forget).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use kit::{Clock, Timestamp};
    use store::{Schema, Space, Store, Table};

    use super::*;
    use crate::consume::Undecodable;
    use crate::{Message, Options, Record};

    const COUNTS: Table<(String,), u64> = Table::new("test", "counts", &["name"], Space::Small);
    const TOPIC: &str = "offers.changes";

    /// Counts what it applies. One with gates says when it has a letter in its hands, and waits until it may go on.
    #[derive(Default)]
    struct Counts {
        gates: Option<Mutex<(Sender<()>, Receiver<()>)>>,
    }

    #[async_trait]
    impl Handler for Counts {
        type Message = ();

        fn decode(&self, _: &Record) -> Result<(Shard, ()), Undecodable> {
            if let Some(gates) = &self.gates {
                let gates = gates.lock().unwrap();
                gates.0.send(()).unwrap();
                gates.1.recv().unwrap();
            }
            Ok((Shard::of("effect"), ()))
        }

        async fn apply(&self, tx: &mut Tx, messages: Vec<()>) -> Result<(), Failure> {
            let count = tx.get(&COUNTS, ("all",)).await?.unwrap_or_default();
            tx.put(&COUNTS, ("all",), &(count + messages.len() as u64))?;
            Ok(())
        }
    }

    async fn topics(clock: &Clock) -> Topics {
        let store = Store::memory(Schema::new(crate::tables().into_iter().chain([COUNTS.spec()])));
        let options = Options { clock: clock.clone(), ..Options::default() };
        let topics = Topics::alone(store, options);
        topics.ensure(TOPIC, 1).await.unwrap();
        topics.publish(TOPIC, vec![Message::new("key", "bad")]).await.unwrap();
        topics
    }

    async fn applied(topics: &Topics) -> u64 {
        topics.store().get(&COUNTS, Shard::of("effect"), ("all",)).await.unwrap().unwrap_or_default()
    }

    /// Makes the record a dead letter that somebody wants to be tried again.
    async fn bury(topics: &Topics) {
        let description = topics.describe(TOPIC).await.unwrap();
        let record = topics
            .backend()
            .read(TOPIC, &[crate::Position { partition: 0, next: 0 }], 1)
            .await
            .unwrap()
            .remove(0);
        dead_letters::bury(topics, &description, "group", &record, "bad", 1).await.unwrap();
        let letters = dead_letters::list(topics, &dead_letters::Filter::default(), None, 9).await.unwrap();
        assert!(dead_letters::retry(topics, &letters[0].id).await.unwrap());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_letter_is_applied_once_by_two_processes() {
        let clock = Clock::manual(Timestamp(1_000_000));
        let topics = Arc::new(topics(&clock).await);
        bury(&topics).await;
        let (arrived, has_arrived) = channel();
        let (go_on, may_go_on) = channel();
        let slow = tokio::spawn({
            let topics = topics.clone();
            async move {
                let handler = Counts { gates: Some(Mutex::new((arrived, may_go_on))) };
                let description = topics.describe(TOPIC).await.unwrap();
                Applier::new(&topics, description, "group", &handler).retry(&[0]).await.unwrap();
            }
        });
        tokio::task::spawn_blocking(move || has_arrived.recv().unwrap()).await.unwrap();
        let description = topics.describe(TOPIC).await.unwrap();
        Applier::new(&topics, description, "group", &Counts::default()).retry(&[0]).await.unwrap();
        assert_eq!(applied(&topics).await, 1);
        go_on.send(()).unwrap();
        slow.await.unwrap();
        assert_eq!(applied(&topics).await, 1, "the slow one found the mark");
    }

    #[tokio::test]
    async fn another_letter_of_the_same_record_is_applied_and_old_marks_go() {
        let clock = Clock::manual(Timestamp(1_000_000));
        let topics = topics(&clock).await;
        let description = topics.describe(TOPIC).await.unwrap();
        let handler = Counts::default();
        let applier = Applier::new(&topics, description, "group", &handler);
        for times in 1..=2 {
            bury(&topics).await;
            applier.retry(&[0]).await.unwrap();
            assert_eq!(applied(&topics).await, times, "the group was rewound and failed again");
            clock.advance(Duration::from_secs(1));
        }
        let marks = async || {
            let shards: Vec<_> = Shard::all().collect();
            topics.store().scan_shards(&RETRIED, &shards, Range::all(9)).await.unwrap().len()
        };
        forget_marks(&topics).await.unwrap();
        assert_eq!(marks().await, 1);
        clock.advance(MARKS_STAY);
        forget_marks(&topics).await.unwrap();
        assert_eq!(marks().await, 0);
    }
}
