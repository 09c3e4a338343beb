//! Applies what was polled: decoded outside of any transaction, then one transaction for each shard it touches.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{self, StreamExt as _};
use kit::Backoff;
use store::{Read as _, Shard, Tx};
use tokio::time::Instant;
use tracing::Instrument as _;

use super::{Failure, Handler, Undecodable};
use crate::backend::{Description, Ends};
use crate::tables::{APPLIED, AppliedRow};
use crate::{Record, Topics, dead_letters, metrics};

/// A record that has failed alone this often becomes a dead letter.
const ATTEMPTS: u32 = 10;
/// Records are skipped in bursts, after a restart; one look at the topic serves a burst.
const LOOK_LASTS: Duration = Duration::from_secs(1);
/// Transactions of one poll that run side by side.
const SHARDS_AT_ONCE: usize = 64;

/// Applies the records of a topic for a group.
pub(super) struct Applier<'a, H> {
    pub(super) topics: &'a Topics,
    pub(super) description: Description,
    pub(super) group: &'a str,
    pub(super) handler: &'a H,
    /// The last look at the topic, for records that are about to be skipped.
    look: tokio::sync::Mutex<Option<Look>>,
    /// The topic was made anew under its name.
    stale: AtomicBool,
}

struct Look {
    at: Instant,
    ends: Vec<Ends>,
}

/// How far a partition came.
pub(super) struct Outcome {
    /// Everything before this is applied or buried.
    pub(super) next: i64,
    pub(super) stopped_by: Option<Failure>,
}

/// A record as its handler understands it.
struct Decoded<'r, M> {
    record: &'r Record,
    message: M,
}

/// Why a slice stopped: the records that are not done.
struct Stop<'r> {
    records: Vec<&'r Record>,
    failure: Failure,
}

impl<'a, H: Handler> Applier<'a, H> {
    pub(super) fn new(topics: &'a Topics, description: Description, group: &'a str, handler: &'a H) -> Self {
        Self {
            topics,
            description,
            group,
            handler,
            look: tokio::sync::Mutex::default(),
            stale: AtomicBool::new(false),
        }
    }

    /// Applies what was polled, those of a partition in their order: one transaction per shard over all partitions, shards
    /// side by side. Says for each partition how far it came.
    pub(super) async fn poll(&self, records: &[Record]) -> BTreeMap<u32, Outcome> {
        let mut outcomes = BTreeMap::new();
        let mut slices: BTreeMap<Shard, Vec<Decoded<'_, H::Message>>> = BTreeMap::new();
        let mut undecodable = Vec::new();
        for record in records {
            outcomes.insert(record.partition, Outcome { next: record.offset + 1, stopped_by: None });
            match self.decode(record) {
                Ok((shard, message)) => slices.entry(shard).or_default().push(Decoded { record, message }),
                Err(reason) => undecodable.push((record, reason.0)),
            }
        }
        // Boxed, since the compiler cannot prove a stream of borrowing futures to be `Send`.
        let mut work: Vec<BoxFuture<'_, Result<(), Stop<'_>>>> = Vec::with_capacity(slices.len());
        for (shard, slice) in slices {
            work.push(Box::pin(self.slice(shard, slice)));
        }
        let mut slices = stream::iter(work).buffer_unordered(SHARDS_AT_ONCE);
        while let Some(done) = slices.next().await {
            if let Err(Stop { records, failure }) = done {
                for record in records {
                    stop(&mut outcomes, record, &failure);
                }
            }
        }
        for (record, reason) in undecodable {
            if let Err(failure) = self.bury(record, &reason, 1).await {
                stop(&mut outcomes, record, &failure);
            }
        }
        outcomes
    }

    /// Applies the messages of one shard; when they fail together for a reason of their own, one by one.
    async fn slice<'r>(&self, shard: Shard, slice: Vec<Decoded<'r, H::Message>>) -> Result<(), Stop<'r>> {
        let records: Vec<&Record> = slice.iter().map(|decoded| decoded.record).collect();
        match self.apply(shard, slice).await {
            Ok(()) => Ok(()),
            Err(failure @ Failure::Transient(_)) => Err(Stop { records, failure }),
            Err(Failure::Determinate(_)) => {
                for (place, record) in records.iter().enumerate() {
                    if let Err(failure) = self.alone(shard, record).await {
                        return Err(Stop { records: records[place..].to_vec(), failure });
                    }
                }
                Ok(())
            }
        }
    }

    /// Tries one record until it is applied or has failed too often; then it becomes a dead letter.
    async fn alone(&self, shard: Shard, record: &Record) -> Result<(), Failure> {
        let mut backoff = Backoff::new(Duration::from_millis(2), Duration::from_millis(200));
        loop {
            let applied = match self.decode(record) {
                Ok((_, message)) => self.apply(shard, vec![Decoded { record, message }]).await,
                Err(reason) => Err(Failure::Determinate(reason.0)),
            };
            match applied {
                Ok(()) => return Ok(()),
                Err(failure @ Failure::Transient(_)) => return Err(failure),
                Err(Failure::Determinate(reason)) if backoff.failures() + 1 >= ATTEMPTS => {
                    self.bury(record, &reason, ATTEMPTS).await?;
                    return self.skip(shard, record).await;
                }
                Err(Failure::Determinate(_)) => tokio::time::sleep(backoff.next_wait()).await,
            }
        }
    }

    /// One transaction: what is not applied yet, and how far each partition comes by that.
    async fn apply(&self, shard: Shard, slice: Vec<Decoded<'_, H::Message>>) -> Result<(), Failure> {
        // Those of a partition come in order, so its last entry is how far it comes.
        let ends: BTreeMap<u32, i64> =
            slice.iter().map(|decoded| (decoded.record.partition, decoded.record.offset + 1)).collect();
        let incarnation = self.description.incarnation.as_str();
        let span = self.span(&slice);
        let skipped = self
            .topics
            .store()
            .transact(shard, async |tx| {
                let keys = ends.keys().map(|partition| (self.group, incarnation, *partition));
                let rows = tx.get_many(&APPLIED, keys).await?;
                let applied: BTreeMap<u32, i64> = ends
                    .keys()
                    .zip(rows)
                    .map(|(partition, row)| (*partition, row.map_or(0, |row| row.next)))
                    .collect();
                let is_new = |record: &Record| {
                    applied.get(&record.partition).is_none_or(|next| record.offset >= *next)
                };
                let count = slice.len();
                let messages: Vec<_> = slice
                    .into_iter()
                    .filter(|decoded| is_new(decoded.record))
                    .map(|decoded| decoded.message)
                    .collect();
                let skips = messages.len() < count;
                if !messages.is_empty() {
                    self.hand(tx, messages).await?;
                    self.advance(tx, &ends, &applied)?;
                }
                Ok::<_, Failure>(skips.then_some(applied))
            })
            .instrument(span)
            .await?;
        for (partition, next) in skipped.into_iter().flatten() {
            self.check_skip(partition, next).await?;
        }
        Ok(())
    }

    /// A handler that panics blames the record: its partition goes on, and no input ends the process again and again.
    pub(super) fn decode(&self, record: &Record) -> Result<(Shard, H::Message), Undecodable> {
        catch_unwind(AssertUnwindSafe(|| self.handler.decode(record))).unwrap_or_else(|panic| {
            metrics::consumer_failed(&self.description.topic, self.group);
            Err(Undecodable(panicked(&*panic)))
        })
    }

    pub(super) async fn hand(&self, tx: &mut Tx, messages: Vec<H::Message>) -> Result<(), Failure> {
        let applied = AssertUnwindSafe(self.handler.apply(tx, messages)).catch_unwind().await;
        applied.unwrap_or_else(|panic| {
            metrics::consumer_failed(&self.description.topic, self.group);
            Err(Failure::Determinate(panicked(&*panic)))
        })
    }

    /// What is done with records goes on with the traces that they carry.
    fn span(&self, slice: &[Decoded<'_, H::Message>]) -> tracing::Span {
        let topic = self.description.topic.as_str();
        let traces = slice.iter().filter_map(|decoded| decoded.record.header(kit::trace::HEADER));
        let traces: Vec<_> = traces.filter_map(|header| std::str::from_utf8(header).ok()).collect();
        if traces.is_empty() {
            return tracing::Span::none();
        }
        let span = tracing::info_span!(
            "apply",
            otel.name = format!("apply {topic}"),
            otel.kind = "consumer",
            topic,
            group = self.group,
            records = slice.len(),
        );
        kit::trace::follow(&span, traces);
        span
    }

    fn advance(
        &self,
        tx: &mut Tx,
        ends: &BTreeMap<u32, i64>,
        applied: &BTreeMap<u32, i64>,
    ) -> store::Result<()> {
        for (partition, next) in ends {
            if applied.get(partition).is_none_or(|applied| applied < next) {
                let key = (self.group, self.description.incarnation.as_str(), *partition);
                let topic = self.description.topic.clone();
                tx.put(&APPLIED, key, &AppliedRow { next: *next, topic })?;
            }
        }
        Ok(())
    }

    /// Records may be skipped only if this is still the topic that was applied, and it reaches as far.
    async fn check_skip(&self, partition: u32, next: i64) -> Result<(), Failure> {
        let reaches = |look: &Look| look.ends.get(partition as usize).is_some_and(|ends| next <= ends.high);
        let mut look = self.look.lock().await;
        if look.as_ref().is_some_and(|look| look.at.elapsed() < LOOK_LASTS && reaches(look)) {
            return Ok(());
        }
        let Description { topic, incarnation, .. } = &self.description;
        if self.topics.describe(topic).await?.incarnation != *incarnation {
            self.stale.store(true, Ordering::Relaxed);
            return Err(Failure::Transient(format!("topic {topic} was made anew")));
        }
        let ends = self.topics.backend().ends(topic).await?;
        let look = look.insert(Look { at: Instant::now(), ends });
        if reaches(look) {
            return Ok(());
        }
        Err(Failure::Transient(format!(
            "group {} has applied partition {partition} of {topic} up to {next}, but it ends at {}: records are lost, \
             or the store is newer than the topic; rewind the group to go on",
            self.group,
            look.ends.get(partition as usize).map_or(0, |ends| ends.high),
        )))
    }

    pub(super) fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Relaxed)
    }

    async fn bury(&self, record: &Record, reason: &str, attempts: u32) -> Result<(), Failure> {
        dead_letters::bury(self.topics, &self.description, self.group, record, reason, attempts).await?;
        Ok(())
    }

    /// Notes a buried record as done in the shard where it had no effect.
    async fn skip(&self, shard: Shard, record: &Record) -> Result<(), Failure> {
        let key = (self.group, self.description.incarnation.as_str(), record.partition);
        let row = AppliedRow { next: record.offset + 1, topic: self.description.topic.clone() };
        self.topics
            .store()
            .transact(shard, async |tx| {
                if tx.get(&APPLIED, key).await?.is_none_or(|old| old.next < row.next) {
                    tx.put(&APPLIED, key, &row)?;
                }
                Ok(())
            })
            .await
    }
}

/// What a panic said.
fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the program failed on it: {}", text.unwrap_or("it panicked"))
}

/// The partition stops at the first record that is not done.
fn stop(outcomes: &mut BTreeMap<u32, Outcome>, record: &Record, failure: &Failure) {
    if let Some(outcome) = outcomes.get_mut(&record.partition)
        && (outcome.stopped_by.is_none() || record.offset < outcome.next)
    {
        outcome.next = outcome.next.min(record.offset);
        outcome.stopped_by = Some(failure.clone());
    }
}
