//! A shard's lane: one body at a time, on top of what the bodies before it wrote.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::Parts;
use super::committer::{Job, answered};
use super::disk::{DiskRow, Sight};
use super::guard::Health;
use crate::engine::{RawRow, Reader, Session, Writes};
use crate::key::KeyBytes;
use crate::overlay::{Changes, Rows};
use crate::{Error, Range, Result, Shard, TableId};

/// How far a lane's bodies may run ahead of the disk.
const MOST_PENDING: usize = 64;
const MOST_PENDING_BYTES: usize = 8 << 20;

pub(super) struct Lane {
    turn: Arc<Semaphore>,
    queue: Mutex<Queue>,
    /// The number of the lane's last durable transaction; `notify` tells of its growth.
    durable: AtomicU64,
    notify: Notify,
}

/// What was handed over, in order.
#[derive(Default)]
struct Queue {
    pending: VecDeque<Arc<Pending>>,
    /// The number given last: none is given twice, whatever is durable meanwhile.
    last: u64,
}

/// A transaction handed over and not yet known to be durable.
pub(super) struct Pending {
    number: u64,
    bytes: usize,
    rows: Rows,
}

impl Lane {
    pub(super) fn new() -> Self {
        Self {
            turn: Arc::new(Semaphore::new(1)),
            queue: Mutex::default(),
            durable: AtomicU64::new(0),
            notify: Notify::new(),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a transaction that is about to be handed over, under the next number.
    fn push(&self, bytes: usize, rows: Rows) -> Arc<Pending> {
        let mut queue = self.queue();
        queue.last += 1;
        let pending = Arc::new(Pending { number: queue.last, bytes, rows });
        queue.pending.push_back(pending.clone());
        pending
    }

    /// Takes a transaction back that was not handed over after all. The caller has the lane's turn, so nobody has seen it.
    fn take_back(&self, pending: &Arc<Pending>) {
        self.queue().pending.retain(|other| !Arc::ptr_eq(other, pending));
    }

    /// The committer says: everything up to this transaction is durable. That is noted before the transactions go, so that
    /// whoever no longer finds one pending finds it durable.
    pub(super) fn acknowledge(&self, number: u64) {
        self.durable.store(number, Ordering::Release);
        let mut queue = self.queue();
        while queue.pending.front().is_some_and(|first| first.number <= number) {
            queue.pending.pop_front();
        }
        drop(queue);
        self.notify.notify_waiters();
    }

    /// Wakes everybody, to see that the store has failed.
    pub(super) fn give_up(&self) {
        self.notify.notify_waiters();
    }

    /// Waits until `ready` holds, looking again at each acknowledgement.
    async fn wait(&self, health: &Health, ready: impl Fn(&Self) -> bool) -> Result<()> {
        loop {
            let notified = self.notify.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if ready(self) {
                return Ok(());
            }
            health.check()?;
            notified.await;
        }
    }

    fn has_room(&self) -> bool {
        let pending = &self.queue().pending;
        pending.len() < MOST_PENDING
            && pending.iter().map(|one| one.bytes).sum::<usize>() < MOST_PENDING_BYTES
    }
}

pub(super) async fn begin(parts: &Arc<Parts>, shard: Shard) -> Result<LaneSession> {
    let lane = &parts.lanes[shard.index()];
    let turn =
        lane.turn.clone().acquire_owned().await.map_err(|_| Error::unavailable("the store is closed"))?;
    if !lane.has_room() {
        lane.wait(&parts.health, Lane::has_room).await?;
    }
    // The pending writes are taken before the snapshot: what becomes durable in between is seen twice, never not at
    // all; and nobody else adds to this lane while we hold its turn.
    let chain: Vec<_> = lane.queue().pending.iter().cloned().collect();
    let at = parts.disk.committed();
    Ok(LaneSession { parts: parts.clone(), shard, chain, at, sight: OnceLock::new(), turn })
}

pub(super) struct LaneSession {
    parts: Arc<Parts>,
    shard: Shard,
    chain: Vec<Arc<Pending>>,
    /// A commit that was finished when the session began.
    at: u64,
    sight: OnceLock<Sight>,
    turn: OwnedSemaphorePermit,
}

impl LaneSession {
    fn sight(&self) -> &Sight {
        self.sight.get_or_init(|| self.parts.disk.sight())
    }

    /// What is known of a row without looking at the disk: pending, or durable and remembered.
    fn known_value(&self, table: TableId, key: &KeyBytes) -> Option<Option<Bytes>> {
        if !self.chain.is_empty() {
            let row = (table, key.clone());
            let pending = self.chain.iter().rev().find_map(|pending| pending.rows.get(&row));
            if let Some(value) = pending {
                return Some(value.clone());
            }
        }
        self.parts.disk.remembered(
            self.at,
            table,
            &self.parts.disk.full_key(table, self.shard, key.as_slice()),
        )
    }

    fn disk_rows(&self, rows: &Rows) -> Vec<DiskRow> {
        let row = |((table, key), value): (&(TableId, KeyBytes), &Option<Bytes>)| {
            self.parts.disk.row(*table, self.shard, key, value.as_ref())
        };
        rows.iter().map(row).collect()
    }
}

#[async_trait]
impl Reader for LaneSession {
    async fn get_many(&self, table: TableId, keys: &[KeyBytes]) -> Result<Vec<Option<Bytes>>> {
        // Most transactions are about rows that are in memory, and never take a snapshot.
        let known: Option<Vec<_>> = keys.iter().map(|key| self.known_value(table, key)).collect();
        if let Some(values) = known {
            return Ok(values);
        }
        let get = |key: &KeyBytes| match self.known_value(table, key) {
            Some(value) => Ok(value),
            None => self.parts.disk.get(
                self.sight(),
                table,
                &self.parts.disk.full_key(table, self.shard, key.as_slice()),
            ),
        };
        self.parts.disk.reads.run(|| keys.iter().map(get).collect())
    }

    async fn scan(&self, table: TableId, range: &Range) -> Result<Vec<RawRow>> {
        let mut changes = Changes::default();
        for pending in &self.chain {
            changes.add(&pending.rows, table, range);
        }
        let wider = Range { limit: changes.base_limit(range.limit), ..range.clone() };
        let base =
            self.parts.disk.reads.run(|| self.parts.disk.scan(self.sight(), table, self.shard, &wider))?;
        Ok(changes.over(base, range))
    }
}

#[async_trait]
impl Session for LaneSession {
    async fn commit(self: Box<Self>, writes: Writes) -> Result<()> {
        if writes.rows.is_empty() {
            // What the body saw must be durable before anybody hears of it; the lane need not wait for that.
            let Self { parts, shard, chain, turn, .. } = *self;
            drop(turn);
            if let Some(last) = chain.last() {
                let lane = &parts.lanes[shard.index()];
                lane.wait(&parts.health, |lane| lane.durable.load(Ordering::Acquire) >= last.number).await?;
            }
            parts.committer.wake(shard, &writes.wakes);
            return Ok(());
        }
        self.parts.health.check_room()?;
        let rows = self.disk_rows(&writes.rows);
        let room = self.parts.committer.room(writes.bytes).await?;
        let Self { parts, shard, turn, .. } = *self;
        let lane = parts.lanes[shard.index()].clone();
        // From here to the hand-over there is no await: it happens whole, or not at all.
        let pending = lane.push(writes.bytes, writes.rows);
        let (job, answer) = Job::of_lane(shard, lane.clone(), pending.number, rows, writes.wakes, room);
        if let Err(error) = parts.committer.hand_over(job) {
            lane.take_back(&pending);
            return Err(error);
        }
        drop(turn);
        let answer = answered(answer).await;
        // Given back here, where others need not wait for that.
        drop(pending);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: u64 = 20_000;

    /// A number that is given twice would let a body be answered before what it saw is durable.
    #[test]
    fn no_number_is_given_twice_while_others_are_acknowledged() {
        let lane = &Lane::new();
        let (sender, receiver) = std::sync::mpsc::channel::<u64>();
        std::thread::scope(|threads| {
            threads.spawn(move || receiver.iter().for_each(|number| lane.acknowledge(number)));
            let mut last = 0;
            for _ in 0..COUNT {
                let number = lane.push(0, Rows::new()).number;
                assert!(number > last, "{number} after {last}");
                last = number;
                sender.send(number).unwrap();
                // The next one is given in the moment in which this one is no longer pending.
                while !lane.queue().pending.is_empty() {
                    std::thread::yield_now();
                }
            }
            drop(sender);
        });
        assert_eq!(lane.durable.load(Ordering::Acquire), COUNT);
        assert!(lane.queue().pending.is_empty());
    }
}
