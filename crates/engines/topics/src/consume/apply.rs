use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kit::Backoff;
use store::{Read as _, Shard};
use tokio::time::Instant;

use super::{Failure, Handler};
use crate::backend::{Description, Ends};
use crate::dead_letters;
use crate::tables::{APPLIED, AppliedRow};
use crate::{Record, Topics};

/// A record that has failed alone this often becomes a dead letter.
const ATTEMPTS: u32 = 10;
/// Records are skipped in bursts, after a restart; one look at the topic serves a burst.
const LOOK_LASTS: Duration = Duration::from_secs(1);

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

    /// Applies records of one partition: one transaction per shard, shards side by side.
    pub(super) async fn partition(&self, records: Vec<Record>) -> Outcome {
        let end = records.last().map_or(0, |record| record.offset + 1);
        let mut by_shard: BTreeMap<Shard, Vec<Record>> = BTreeMap::new();
        let mut undecodable = Vec::new();
        for record in records {
            match self.handler.shard_of(&record) {
                Ok(shard) => by_shard.entry(shard).or_default().push(record),
                Err(reason) => undecodable.push((record, reason.0)),
            }
        }
        let mut outcome = Outcome { next: end, stopped_by: None };
        let shards = by_shard.iter().map(|(shard, records)| self.shard(*shard, records));
        for stop in futures::future::join_all(shards).await {
            outcome.note(stop);
        }
        for (record, reason) in undecodable {
            let offset = record.offset;
            let buried = self.bury(&record, &reason, 1).await;
            outcome.note(buried.map_err(|failure| (offset, failure)));
        }
        outcome
    }

    /// Applies records of one shard; on failure says where it stopped.
    async fn shard(&self, shard: Shard, records: &[Record]) -> Result<(), (i64, Failure)> {
        match self.apply(shard, records).await {
            Ok(()) => Ok(()),
            Err(failure @ Failure::Transient(_)) => Err((records[0].offset, failure)),
            Err(Failure::Determinate(_)) => {
                for record in records {
                    self.alone(shard, record).await.map_err(|failure| (record.offset, failure))?;
                }
                Ok(())
            }
        }
    }

    /// Tries one record until it is applied or has failed too often; then it becomes a dead letter.
    async fn alone(&self, shard: Shard, record: &Record) -> Result<(), Failure> {
        let mut backoff = Backoff::new(Duration::from_millis(2), Duration::from_millis(200));
        loop {
            match self.apply(shard, std::slice::from_ref(record)).await {
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

    /// One transaction: what is not applied yet, and how far that comes.
    async fn apply(&self, shard: Shard, records: &[Record]) -> Result<(), Failure> {
        let Some(last) = records.last() else { return Ok(()) };
        let key = (self.group, self.description.incarnation.as_str(), last.partition);
        let next = self
            .topics
            .store()
            .transact(shard, async |tx| {
                let next = tx.get(&APPLIED, key).await?.map_or(0, |row| row.next);
                let new = &records[records.partition_point(|record| record.offset < next)..];
                if !new.is_empty() {
                    self.handler.apply(tx, new).await?;
                    let topic = self.description.topic.clone();
                    tx.put(&APPLIED, key, &AppliedRow { next: last.offset + 1, topic })?;
                }
                Ok::<_, Failure>(next)
            })
            .await?;
        if next > records[0].offset { self.check_skip(last.partition, next).await } else { Ok(()) }
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

impl Outcome {
    /// The partition stops at the first record that is not done.
    fn note(&mut self, result: Result<(), (i64, Failure)>) {
        if let Err((offset, failure)) = result
            && (self.stopped_by.is_none() || offset < self.next)
        {
            self.next = self.next.min(offset);
            self.stopped_by = Some(failure);
        }
    }
}
