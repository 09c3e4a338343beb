use std::collections::BTreeMap;
use std::time::Duration;

use kit::Backoff;
use store::{Read as _, Shard};

use super::{Failure, Handler};
use crate::backend::Description;
use crate::dead_letters;
use crate::tables::{APPLIED, AppliedRow};
use crate::{Record, Topics};

/// A record that has failed alone this often becomes a dead letter.
const ATTEMPTS: u32 = 10;

/// Applies the records of a topic for a group.
pub(super) struct Applier<'a, H> {
    topics: &'a Topics,
    description: Description,
    group: &'a str,
    handler: &'a H,
}

/// How far a partition came.
pub(super) struct Outcome {
    /// Everything before this is applied or buried.
    pub(super) next: i64,
    pub(super) stopped_by: Option<Failure>,
}

impl<'a, H: Handler> Applier<'a, H> {
    pub(super) fn new(topics: &'a Topics, description: Description, group: &'a str, handler: &'a H) -> Self {
        Self { topics, description, group, handler }
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
        if next > last.offset + 1 {
            self.check_not_beyond_the_end(last.partition, next).await
        } else {
            Ok(())
        }
    }

    /// A partition that ends before what was applied is not the one that was read.
    async fn check_not_beyond_the_end(&self, partition: u32, next: i64) -> Result<(), Failure> {
        let topic = &self.description.topic;
        let ends = self.topics.backend().ends(topic).await?;
        match ends.get(partition as usize) {
            Some(ends) if next <= ends.high => Ok(()),
            ends => Err(Failure::Transient(format!(
                "group {} has applied partition {partition} of {topic} up to {next}, but it ends at {}: records are \
                 lost, or the store is newer than the topic; rewind the group to go on",
                self.group,
                ends.map_or(0, |ends| ends.high),
            ))),
        }
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
