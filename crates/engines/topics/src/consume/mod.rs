//! The loop that applies a topic's records to the store, each once.

mod applied;
mod apply;
mod checkpoint;
mod failure;
mod gaps;
mod retry;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use async_trait::async_trait;
use kit::{Backoff, Shutdown, Tasks};
use store::{Shard, Tx};
use tokio::time::Instant;

pub(crate) use applied::forget;
pub(crate) use checkpoint::note;
pub use failure::{Blame, Failure, Undecodable};
pub use gaps::Gap;
pub(crate) use retry::forget_marks;

use self::apply::Applier;
use crate::subscription::POLL_RECORDS;
use crate::{Error, Kind, Position, Record, Result, Subscription, Topics, dead_letters, metrics};

/// What a consumer does with records: decode outside, apply inside.
#[async_trait]
pub trait Handler: Send + Sync {
    /// A record as it is applied.
    type Message: Send + Sync;

    /// What the record says, and the shard in which it has its effect; `Undecodable` makes it a dead letter. Outside of
    /// any transaction, so it may take its time.
    fn decode(&self, record: &Record) -> Result<(Shard, Self::Message), Undecodable>;

    /// Applies messages of one shard within the transaction, those of a key in their order. Reads for all of them first,
    /// together: the number of questions does not grow with the number of messages. Called again with the same
    /// messages after a failure, never after a success. The transaction waits for nothing but its own reads.
    async fn apply(&self, tx: &mut Tx, messages: Vec<Self::Message>) -> Result<(), Failure>;

    /// Records were removed before the group had read them; it goes on behind them once this has returned. Called again
    /// after a failure, and after a crash before the next commit.
    async fn gap(&self, gap: &Gap) -> Result<(), Failure> {
        if gap.from > 0 {
            tracing::error!(%gap, "records were removed before they were read");
        }
        Ok(())
    }

    /// Most records of one poll; a poll also ends after some megabytes, and grows to this only while it is applied
    /// quickly. Records of a poll that meet in a shard share a transaction, so small ones that spread over all shards
    /// want many.
    fn max_records(&self) -> usize {
        POLL_RECORDS
    }
}

/// Positions are committed this often: what they lag behind is skipped by `applied`.
const COMMIT_EVERY: Duration = Duration::from_millis(500);
/// How often dead letters to be retried are looked for without a wake-up, and the lag is reported.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Partitions that came without a record are looked at this often; it costs nothing while none comes.
const BEGIN_EVERY: Duration = Duration::from_secs(2);

/// A poll should not take longer to apply.
const SLOW_POLL: Duration = Duration::from_secs(2);

/// Starts a consumer as one of the process's tasks.
pub fn start(
    tasks: &Tasks,
    topics: &Topics,
    topic: &'static str,
    group: &'static str,
    handler: impl Handler + 'static,
) {
    let (topics, shutdown) = (topics.clone(), tasks.shutdown().clone());
    tasks.spawn(topic, async move { run(topics, topic, group, handler, shutdown).await });
}

/// Applies the topic's records under the group's name until the shutdown is called. Failures of the backend and of the
/// store are waited out.
pub async fn run(topics: Topics, topic: &str, group: &str, handler: impl Handler, shutdown: Shutdown) {
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10));
    while !shutdown.is_called() {
        match run_once(&topics, topic, group, &handler, &shutdown, &mut backoff).await {
            Ok(()) => return,
            Err(error) => {
                let wait = backoff.next_wait();
                tracing::error!(topic, group, %error, ?wait, "the consumer stopped; it starts again");
                metrics::consumer_failed(topic, group);
                shutdown.sleep(wait).await;
            }
        }
    }
}

async fn run_once(
    topics: &Topics,
    topic: &str,
    group: &str,
    handler: &impl Handler,
    shutdown: &Shutdown,
    backoff: &mut Backoff,
) -> Result<()> {
    let letters = topics.store().wakes().listen(dead_letters::CHANNEL);
    let subscription = topics.subscribe(topic, group).await?;
    let applier = Applier::new(topics, subscription.description().clone(), group, handler);
    let mut consumer = Consumer::new(subscription);
    let mut commit_at = Instant::now() + COMMIT_EVERY;
    let mut look_at = Instant::now() + COMMIT_EVERY;
    let mut begin_at = Instant::now() + BEGIN_EVERY;
    let mut size = POLL_RECORDS;
    while !shutdown.is_called() {
        let resume_at = consumer.resume_at();
        tokio::select! {
            records = consumer.subscription.poll_at_most(size) => {
                let (records, began) = (records?, Instant::now());
                let count = records.len();
                let records = consumer.begin(topics, records).await?;
                consumer.find_gaps(topics, handler, &records).await?;
                consumer.apply(&applier, &records).await?;
                backoff.reset();
                size = next_size(size, count, began.elapsed(), handler.max_records());
            }
            () = tokio::time::sleep_until(commit_at), if !consumer.done.is_empty() => {}
            () = tokio::time::sleep_until(resume_at.unwrap_or(commit_at)), if resume_at.is_some() => {
                consumer.resume().await?;
            }
            () = tokio::time::sleep_until(begin_at) => {
                begin_at = Instant::now() + BEGIN_EVERY;
                consumer.begin(topics, Vec::new()).await?;
                consumer.find_gaps(topics, handler, &[]).await?;
            }
            _ = letters.woken() => consumer.retry(&applier).await,
            () = tokio::time::sleep_until(look_at) => {
                look_at = Instant::now() + LOOK_EVERY;
                consumer.retry(&applier).await;
                consumer.tell_lag(topics).await;
            }
            () = shutdown.called() => {}
        }
        if applier.is_stale() {
            return Err(Error::new(
                Kind::Incompatible,
                format!("topic {topic} was deleted and created again"),
            ));
        }
        if commit_at <= Instant::now() || shutdown.is_called() {
            consumer.commit(topics).await?;
            commit_at = Instant::now() + COMMIT_EVERY;
        }
    }
    Ok(())
}

/// A poll that was full and quick may be larger next time, one that was slow is smaller: a shutdown, a commit or a change
/// of the assignment waits for what was polled.
fn next_size(size: usize, count: usize, took: Duration, most: usize) -> usize {
    if took > SLOW_POLL {
        (size / 2).max(POLL_RECORDS.min(most))
    } else if count == size && took < SLOW_POLL / 4 {
        (size * 2).min(most)
    } else {
        size
    }
}

struct Consumer {
    subscription: Subscription,
    /// Partitions that a failure stopped and that have not gone on with success since.
    stopped: BTreeMap<u32, Stopped>,
    /// What is done and not committed yet.
    done: BTreeMap<u32, i64>,
    /// Partitions that are read from where the store has come to.
    begun: BTreeSet<u32>,
    /// The offset that follows the last one seen, by partition.
    expected: BTreeMap<u32, i64>,
}

struct Stopped {
    backoff: Backoff,
    paused_until: Option<Instant>,
}

impl Consumer {
    fn new(subscription: Subscription) -> Self {
        Self {
            subscription,
            stopped: BTreeMap::new(),
            done: BTreeMap::new(),
            begun: BTreeSet::new(),
            expected: BTreeMap::new(),
        }
    }

    async fn apply<H: Handler>(&mut self, applier: &Applier<'_, H>, records: &[Record]) -> Result<()> {
        for (partition, outcome) in applier.poll(records).await {
            self.done.insert(partition, outcome.next);
            match outcome.stopped_by {
                None => {
                    self.stopped.remove(&partition);
                }
                Some(failure) => self.stop(partition, outcome.next, &failure).await?,
            }
        }
        Ok(())
    }

    async fn stop(&mut self, partition: u32, next: i64, failure: &Failure) -> Result<()> {
        let stopped = self.stopped.entry(partition).or_insert_with(|| Stopped {
            backoff: Backoff::new(Duration::from_millis(50), Duration::from_secs(10)),
            paused_until: None,
        });
        let wait = stopped.backoff.next_wait();
        stopped.paused_until = Some(Instant::now() + wait);
        let (topic, group) = (self.subscription.topic(), self.subscription.group());
        tracing::warn!(topic, group, partition, offset = next, %failure, ?wait, "stopped; trying again");
        metrics::stopped(topic, group);
        self.expected.insert(partition, next);
        self.subscription.pause(partition).await?;
        self.subscription.seek(Position { partition, next }).await
    }

    fn resume_at(&self) -> Option<Instant> {
        self.stopped.values().filter_map(|stopped| stopped.paused_until).min()
    }

    async fn resume(&mut self) -> Result<()> {
        let (now, assigned) = (Instant::now(), self.subscription.assigned());
        self.stopped.retain(|partition, _| assigned.contains(partition));
        for (partition, stopped) in &mut self.stopped {
            if stopped.paused_until.is_some_and(|until| until <= now) {
                self.subscription.resume(*partition).await?;
                stopped.paused_until = None;
            }
        }
        Ok(())
    }

    /// Dead letters can wait: that they cannot be tried now stops nothing.
    async fn retry<H: Handler>(&self, applier: &Applier<'_, H>) {
        if let Err(error) = applier.retry(&self.subscription.assigned()).await {
            let (topic, group) = (self.subscription.topic(), self.subscription.group());
            tracing::warn!(topic, group, %error, "dead letters are not retried yet");
        }
    }

    /// The lag of the partitions that are read here.
    async fn tell_lag(&self, topics: &Topics) {
        let (topic, group) = (self.subscription.topic(), self.subscription.group());
        let assigned = self.subscription.assigned();
        let Ok(all) = topics.lag(topic, group).await else { return };
        let lag: i64 = all.iter().filter(|lag| assigned.contains(&lag.partition)).map(|lag| lag.lag).sum();
        metrics::lag(topic, group, lag);
    }

    async fn commit(&mut self, topics: &Topics) -> Result<()> {
        let positions: Vec<_> = std::mem::take(&mut self.done)
            .into_iter()
            .map(|(partition, next)| Position { partition, next })
            .collect();
        if positions.is_empty() {
            return Ok(());
        }
        if !topics.backend().keeps_positions_in_store() {
            let description = self.subscription.description();
            let (group, incarnation) = (self.subscription.group(), &description.incarnation);
            note(topics.store(), group, incarnation, &description.topic, &positions).await?;
        }
        self.subscription.commit(&positions).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_grows_while_it_is_full_and_quick_and_shrinks_when_it_is_slow() {
        let (quick, slow) = (Duration::from_millis(100), Duration::from_secs(3));
        let cases = [
            (500, 500, quick, 8_192, 1_000),
            (8_000, 8_000, quick, 8_192, 8_192),
            (1_000, 999, quick, 8_192, 1_000),
            (1_000, 1_000, Duration::from_secs(1), 8_192, 1_000),
            (8_192, 8_192, slow, 8_192, 4_096),
            (500, 500, slow, 8_192, 500),
            (500, 500, quick, 500, 500),
            (500, 500, slow, 100, 250),
        ];
        for (size, count, took, most, expected) in cases {
            assert_eq!(next_size(size, count, took, most), expected, "{size} {count} {took:?} {most}");
        }
    }
}
