//! Looking at topics without taking part: for the console, the API and the command line.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use store::{Range, Read as _, Shard};

use crate::backend::{Description, Ends};
use crate::tables::GROUPS;
use crate::topics::{check_name, no_partition};
use crate::{Position, Record, Result, Topics};

const MAX_GROUPS: usize = 1_000;
/// Topics asked about at the same time.
const TOPICS_AT_ONCE: usize = 8;

/// A topic and its ends, for lists.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TopicInfo {
    pub topic: String,
    pub partitions: u32,
    pub incarnation: String,
    pub ends: Vec<Ends>,
}

/// How far behind a group is in one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Lag {
    pub partition: u32,
    /// `None`: the group never committed here and begins at the low end.
    pub position: Option<i64>,
    pub ends: Ends,
    pub lag: i64,
}

impl Topics {
    pub async fn list(&self) -> Result<Vec<TopicInfo>> {
        let topics = self.backend().list().await?;
        let infos = topics.into_iter().map(|topic| async move { self.info(&topic).await });
        stream::iter(infos).buffered(TOPICS_AT_ONCE).try_collect().await
    }

    pub async fn info(&self, topic: &str) -> Result<TopicInfo> {
        let Description { topic, partitions, incarnation } = self.backend().describe(topic).await?;
        let ends = self.backend().ends(&topic).await?;
        Ok(TopicInfo { topic, partitions, incarnation, ends })
    }

    /// The groups that have read or committed in this topic.
    pub async fn groups(&self, topic: &str) -> Result<Vec<String>> {
        let snapshot = self.store().snapshot(Shard::of(topic)).await?;
        let rows = snapshot.scan(&GROUPS, Range::prefix((topic,), MAX_GROUPS)?).await?;
        Ok(rows.into_iter().map(|((_, group), _)| group).collect())
    }

    /// The last records of the topic, at most `n`, by time.
    pub async fn tail(&self, topic: &str, n: usize) -> Result<Vec<Record>> {
        let ends = self.backend().ends(topic).await?;
        let start = |ends: &Ends| ends.low.max(ends.high.saturating_sub(n as i64));
        let full = |(_, ends): &(usize, &Ends)| start(ends) < ends.high;
        let from = |(partition, ends)| Position { partition: partition as u32, next: start(ends) };
        let from: Vec<_> = ends.iter().enumerate().filter(full).map(from).collect();
        let mut records = self.backend().read(topic, &from, n).await?;
        records.sort_by_key(|record| (record.timestamp, record.partition, record.offset));
        Ok(records.split_off(records.len().saturating_sub(n)))
    }

    /// Records of one partition, for browsing.
    pub async fn read(&self, topic: &str, partition: u32, from: i64, max: usize) -> Result<Vec<Record>> {
        let partitions = self.backend().describe(topic).await?.partitions;
        if partition >= partitions {
            return Err(no_partition(topic, partition));
        }
        self.backend().read(topic, &[Position { partition, next: from.max(0) }], max).await
    }

    /// What the group has not committed yet, at most `limit` records, without moving it: for readers over HTTP.
    pub async fn records(&self, topic: &str, group: &str, limit: usize) -> Result<Vec<Record>> {
        check_name("group", group)?;
        let behind = self.lag(topic, group).await?.into_iter().filter(|lag| lag.lag > 0);
        let from = |Lag { partition, position, ends, .. }| Position {
            partition,
            next: position.unwrap_or(ends.low).max(ends.low),
        };
        let from: Vec<_> = behind.map(from).collect();
        let mut records = self.backend().read(topic, &from, limit).await?;
        records.truncate(limit);
        Ok(records)
    }

    /// How far behind the group is, by partition.
    pub async fn lag(&self, topic: &str, group: &str) -> Result<Vec<Lag>> {
        let ends = self.backend().ends(topic).await?;
        let positions = self.backend().positions(topic, group).await?;
        let lag = |(partition, (ends, position)): (usize, (Ends, Option<i64>))| Lag {
            partition: partition as u32,
            position,
            ends,
            lag: (ends.high - position.unwrap_or(ends.low).max(ends.low)).max(0),
        };
        Ok(ends.into_iter().zip(positions).enumerate().map(lag).collect())
    }
}
