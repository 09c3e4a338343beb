use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cluster::Cluster;
use futures::future::{join_all, try_join};
use store::{Range, Read as _, Store, WakeReceiver};
use tokio::sync::watch;

use super::members::Membership;
use super::{Embedded, read, shard, shards};
use crate::backend::{Description, Member};
use crate::tables::{PARTITIONS, POSITIONS, PositionRow};
use crate::{Error, Position, Record, Result, tokens};

/// Wake-ups can be lost; then records wait this long at most.
const SAFETY_POLL: Duration = Duration::from_secs(30);
/// A poll asks no further partition after this.
const POLL_BYTES: usize = 8 << 20;

/// A reader of the embedded backend. The right to read a partition is the work token of role `read:<topic>:<group>`;
/// the members of one process share what it holds.
pub(super) struct EmbeddedMember {
    store: Store,
    cluster: Cluster,
    description: Arc<Description>,
    group: String,
    membership: Membership,
    tokens_changed: watch::Receiver<u64>,
    wakes: WakeReceiver,
    cursors: BTreeMap<u32, Cursor>,
    /// Partitions that may have something to read.
    ready: BTreeSet<u32>,
    /// The partition that the next poll begins with, so that a busy one does not starve the others.
    turn: u32,
}

#[derive(Default)]
struct Cursor {
    /// `None`: from the group's position.
    next: Option<i64>,
    moves: u64,
    paused: bool,
}

impl EmbeddedMember {
    pub(super) fn join(topics: &Embedded, description: Arc<Description>, group: &str) -> Self {
        let membership = topics.members.join(&topics.cluster, &description, group);
        let mut member = Self {
            store: topics.store.clone(),
            cluster: topics.cluster.clone(),
            group: group.to_owned(),
            tokens_changed: topics.cluster.watch(membership.role()),
            membership,
            wakes: topics.store.wakes().listen("topics"),
            cursors: BTreeMap::new(),
            ready: BTreeSet::new(),
            turn: 0,
            description,
        };
        member.reassign();
        member
    }

    /// Takes up partitions that are new and lets go of those that went.
    fn reassign(&mut self) {
        self.membership.changes.mark_unchanged();
        self.tokens_changed.mark_unchanged();
        let held =
            self.cluster.held(self.membership.role()).into_iter().map(|shard| u32::from(shard.number()));
        // A process that is alone on its store holds every shard; a topic has fewer partitions.
        let held = held.filter(|partition| *partition < self.description.partitions).collect();
        let mine: BTreeSet<u32> = self.membership.share(held).into_iter().collect();
        self.cursors.retain(|partition, _| mine.contains(partition));
        for partition in &mine {
            self.cursors.entry(*partition).or_insert_with(|| {
                self.ready.insert(*partition);
                Cursor::default()
            });
        }
        self.ready.retain(|partition| mine.contains(partition));
    }

    fn assignment_changed(&self) -> bool {
        self.membership.changes.has_changed().unwrap_or(false)
            || self.tokens_changed.has_changed().unwrap_or(false)
    }

    /// Reads on in one partition: its records, and the cursor's next value and moves.
    async fn read(&self, partition: u32, max: usize) -> Result<(Vec<Record>, i64, u64)> {
        let topic = self.description.topic.as_str();
        let snapshot = self.store.snapshot(shard(partition)).await?;
        let (position, ends) = try_join(
            snapshot.get(&POSITIONS, (topic, self.group.as_str())),
            snapshot.get(&PARTITIONS, (topic,)),
        )
        .await?;
        let position = position.unwrap_or_default();
        let ends = ends.unwrap_or_default();
        let cursor = &self.cursors[&partition];
        let next =
            cursor.next.filter(|_| cursor.moves == position.moves).unwrap_or(position.next).max(ends.low);
        if next > ends.high {
            let group = &self.group;
            return Err(Error::new(
                crate::Kind::Incompatible,
                format!(
                    "group {group} stands at {next} in partition {partition} of {topic}, which ends at {}: rewind it",
                    ends.high
                ),
            ));
        }
        if next == ends.high {
            return Ok((Vec::new(), next, position.moves));
        }
        let records = read::records(&snapshot, topic, partition, next, max).await?;
        let next = records.last().map_or(next, |record| record.offset + 1);
        Ok((records, next, position.moves))
    }

    /// What can be read without waiting.
    async fn read_ready(&mut self, max: usize) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        let (before, behind): (Vec<_>, Vec<_>) = self.ready.iter().partition(|p| **p < self.turn);
        // Cursors move only when all is read, so that a poll dropped on its way loses nothing.
        let (mut moved, mut bytes) = (Vec::new(), 0);
        for partition in behind.into_iter().chain(before) {
            if records.len() >= max
                || bytes >= POLL_BYTES
                || self.cursors.get(&partition).is_none_or(|cursor| cursor.paused)
            {
                continue;
            }
            let (found, next, moves) = self.read(partition, max - records.len()).await?;
            moved.push((partition, next, moves, found.is_empty()));
            bytes += found.iter().map(Record::size).sum::<usize>();
            records.extend(found);
        }
        for (partition, next, moves, exhausted) in moved {
            if let Some(cursor) = self.cursors.get_mut(&partition) {
                (cursor.next, cursor.moves) = (Some(next), moves);
            }
            if exhausted {
                self.ready.remove(&partition);
            }
            self.turn = partition + 1;
        }
        Ok(records)
    }

    /// Waits until something may be there to read, or the assignment changed.
    async fn wait(&mut self) -> Result<()> {
        tokio::select! {
            woken = self.wakes.woken() => {
                let woken = woken.into_iter().map(|shard| u32::from(shard.number()));
                self.ready.extend(woken.filter(|partition| self.cursors.contains_key(partition)));
            }
            _ = self.membership.changes.changed() => self.reassign(),
            () = tokens::changed(&mut self.tokens_changed) => self.reassign(),
            () = tokio::time::sleep(SAFETY_POLL) => self.look_everywhere().await?,
        }
        Ok(())
    }

    /// Finds in two questions the partitions where records came or the position was moved.
    async fn look_everywhere(&mut self) -> Result<()> {
        let topic = self.description.topic.as_str();
        let all = shards(self.description.partitions);
        let ends = self.store.scan_shards(&PARTITIONS, &all, Range::prefix((topic,), 1)?).await?;
        let range = Range::prefix((topic, self.group.as_str()), 1)?;
        let positions = self.store.scan_shards(&POSITIONS, &all, range).await?;
        let behind = ends.into_iter().map(|(shard, _, ends)| (shard, Some(ends.high), None));
        let moved = positions.into_iter().map(|(shard, _, position)| (shard, None, Some(position.moves)));
        for (shard, high, moves) in behind.chain(moved) {
            let partition = u32::from(shard.number());
            let Some(cursor) = self.cursors.get(&partition) else { continue };
            let behind = high.is_some_and(|high| cursor.next.is_none_or(|next| next < high));
            if behind || moves.is_some_and(|moves| moves != cursor.moves) {
                self.ready.insert(partition);
            }
        }
        Ok(())
    }

    async fn commit_one(&self, position: Position, moves: u64) -> Result<Option<Position>> {
        let key = (self.description.topic.as_str(), self.group.as_str());
        self.store
            .transact(shard(position.partition), async |tx| {
                tokens::check(&self.cluster, tx, self.membership.role()).await?;
                let old = tx.get(&POSITIONS, key).await?.unwrap_or_default();
                if old.moves != moves {
                    return Ok(None);
                }
                if old.next != position.next {
                    tx.put(&POSITIONS, key, &PositionRow { next: position.next, moves })?;
                }
                Ok::<_, Error>(Some(position))
            })
            .await
    }
}

#[async_trait]
impl Member for EmbeddedMember {
    async fn poll(&mut self, max: usize) -> Result<Vec<Record>> {
        loop {
            if self.assignment_changed() {
                self.reassign();
            }
            let records = self.read_ready(max).await?;
            if !records.is_empty() {
                return Ok(records);
            }
            self.wait().await?;
        }
    }

    fn assigned(&self) -> Vec<u32> {
        self.cursors.keys().copied().collect()
    }

    async fn commit(&mut self, positions: &[Position]) -> Result<Vec<Position>> {
        if self.assignment_changed() {
            self.reassign();
        }
        let mine = positions.iter().filter_map(|position| {
            let cursor = self.cursors.get(&position.partition).filter(|cursor| cursor.next.is_some())?;
            Some(self.commit_one(*position, cursor.moves))
        });
        let mut taken = Vec::new();
        for answer in join_all(mine).await {
            match answer {
                Ok(position) => taken.extend(position),
                Err(error) if error.kind() == crate::Kind::NotAssigned => {}
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }

    async fn seek(&mut self, position: Position) -> Result<()> {
        if let Some(cursor) = self.cursors.get_mut(&position.partition) {
            cursor.next = Some(position.next);
            self.ready.insert(position.partition);
        }
        Ok(())
    }

    async fn pause(&mut self, partition: u32) -> Result<()> {
        if let Some(cursor) = self.cursors.get_mut(&partition) {
            cursor.paused = true;
        }
        Ok(())
    }

    async fn resume(&mut self, partition: u32) -> Result<()> {
        if let Some(cursor) = self.cursors.get_mut(&partition) {
            cursor.paused = false;
            self.ready.insert(partition);
        }
        Ok(())
    }
}
