//! The holder of a shard's work token in role `relay` sends its outbox to the topics.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt as _};
use kit::{Backoff, Shutdown};
use store::{Range, Read as _, Shard};
use tokio::time::Instant;

use crate::backend::OutboxBatch;
use crate::outbox::{FIRST, NEXT};
use crate::tables::{OUTBOX, OUTBOX_ENDS};
use crate::{Message, Result, Topics, metrics, tokens};

pub const ROLE: &str = "relay";
/// A send takes at most this long (`message.timeout.ms`) and must end before the lease does.
const SEND_LIMIT: Duration = Duration::from_secs(3);
/// Shards sent at the same time.
const SHARDS_AT_ONCE: usize = 32;
/// Wake-ups can be lost; then rows wait this long at most.
const SAFETY_POLL: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Batches of a shard before others have their turn.
const BATCHES_AT_A_TURN: usize = 4;
/// Rows of the first question and of the longest: a row may have a mebibyte.
const FIRST_ROWS: usize = 16;
const MAX_ROWS: usize = 128;
/// A send takes no more than this.
const BATCH_ROWS: usize = 1_024;
const BATCH_BYTES: usize = 4 << 20;

/// Sends until the shutdown is called: what is in flight then is finished.
pub async fn run(topics: Topics, shutdown: Shutdown) {
    topics.cluster().register_role(ROLE, store::SHARDS);
    tokio::join!(send(&topics, &shutdown), crate::retention::run(&topics, &shutdown));
}

/// What the relay remembers of a shard whose token it holds.
struct ShardState {
    /// The first row that may be there. Everything before it is deleted; a scan from the beginning would step over all of it.
    first: Option<i64>,
    backoff: Backoff,
}

impl Default for ShardState {
    fn default() -> Self {
        let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));
        Self { first: None, backoff }
    }
}

/// What became of a shard's turn; `true`: there may be more to send.
type Ended = (Shard, ShardState, Result<bool>);

#[derive(Default)]
struct Queue<'a> {
    states: HashMap<Shard, ShardState>,
    /// Shards with work, and since when it may be done.
    due: BTreeMap<Shard, Instant>,
    running: FuturesUnordered<BoxFuture<'a, Ended>>,
    busy: BTreeSet<Shard>,
}

async fn send(topics: &Topics, shutdown: &Shutdown) {
    let wakes = topics.store().wakes().listen(ROLE);
    let mut tokens_changed = topics.cluster().watch(ROLE);
    let mut queue = Queue::default();
    let mut safety = Instant::now();
    while !shutdown.is_called() {
        queue.start(topics, shutdown);
        let wait_until = queue.next_due().map_or(safety, |due| due.min(safety));
        tokio::select! {
            Some(ended) = queue.running.next() => queue.ended(ended),
            woken = wakes.woken() => queue.add(woken),
            () = tokens::changed(&mut tokens_changed) => {
                queue.states.retain(|shard, _| topics.cluster().holds(ROLE, *shard));
                safety = Instant::now();
            }
            () = tokio::time::sleep_until(wait_until) => {
                if Instant::now() >= safety {
                    safety = Instant::now() + queue.look_everywhere(topics).await;
                }
            }
            () = shutdown.called() => {}
        }
    }
    while queue.running.next().await.is_some() {}
}

/// The shards held that have rows to send, found in one question.
async fn shards_with_rows(topics: &Topics) -> Result<BTreeSet<Shard>> {
    let held = topics.cluster().held(ROLE);
    let ends = topics.store().scan_shards(&OUTBOX_ENDS, &held, Range::all(2)).await?;
    let mut waiting: BTreeMap<Shard, i64> = BTreeMap::new();
    for (shard, (end,), seq) in ends {
        *waiting.entry(shard).or_default() += if end == NEXT { seq } else { -seq };
    }
    metrics::outbox(waiting.values().sum());
    Ok(waiting.into_iter().filter(|(_, rows)| *rows > 0).map(|(shard, _)| shard).collect())
}

impl<'a> Queue<'a> {
    /// Finds work that no wake-up told of; gives the time until the next look.
    async fn look_everywhere(&mut self, topics: &Topics) -> Duration {
        let (found, ended) = kit::beside(&mut self.running, shards_with_rows(topics)).await;
        for ended in ended {
            self.ended(ended);
        }
        match found {
            Ok(shards) => {
                self.add(shards);
                SAFETY_POLL
            }
            Err(error) => {
                tracing::warn!(%error, "cannot look for outbox rows; trying again");
                LOOK_AGAIN
            }
        }
    }

    fn add(&mut self, shards: BTreeSet<Shard>) {
        let now = Instant::now();
        for shard in shards {
            self.due.entry(shard).or_insert(now);
        }
    }

    /// Begins with those who have waited longest.
    fn start(&mut self, topics: &'a Topics, shutdown: &'a Shutdown) {
        let now = Instant::now();
        let free = |(shard, due): &(&Shard, &Instant)| **due <= now && !self.busy.contains(shard);
        let mut ready: Vec<_> = self.due.iter().filter(free).map(|(shard, due)| (*due, *shard)).collect();
        ready.sort_unstable();
        for (_, shard) in ready.into_iter().take(SHARDS_AT_ONCE.saturating_sub(self.running.len())) {
            self.due.remove(&shard);
            if !topics.cluster().holds(ROLE, shard) {
                self.states.remove(&shard);
                continue;
            }
            self.busy.insert(shard);
            let mut state = self.states.remove(&shard).unwrap_or_default();
            self.running.push(Box::pin(async move {
                let result = take_turn(topics, shard, &mut state, shutdown).await;
                (shard, state, result)
            }));
        }
    }

    /// When the next shard that waits may be started; those that wait for another's end do not count.
    fn next_due(&self) -> Option<Instant> {
        if self.running.len() >= SHARDS_AT_ONCE {
            return None;
        }
        self.due.iter().filter(|(shard, _)| !self.busy.contains(shard)).map(|(_, due)| *due).min()
    }

    fn ended(&mut self, (shard, mut state, result): Ended) {
        self.busy.remove(&shard);
        match result {
            Ok(more) => {
                state.backoff.reset();
                if more {
                    self.due.entry(shard).or_insert_with(Instant::now);
                }
            }
            Err(error) => {
                let wait = state.backoff.next_wait();
                tracing::warn!(shard = shard.number(), %error, ?wait, "the outbox is not sent; trying again");
                metrics::relay_failed();
                self.due.insert(shard, Instant::now() + wait);
            }
        }
        self.states.insert(shard, state);
    }
}

/// Sends the shard's rows in order; says whether there may be more.
async fn take_turn(
    topics: &Topics,
    shard: Shard,
    state: &mut ShardState,
    shutdown: &Shutdown,
) -> Result<bool> {
    for _ in 0..BATCHES_AT_A_TURN {
        if shutdown.is_called() || !topics.cluster().holds(ROLE, shard) {
            state.first = None;
            return Ok(false);
        }
        let (first, rows) = read(topics, shard, state).await?;
        let Some(last) = rows.last().map(|row| row.seq) else { return Ok(false) };
        let sent: Vec<_> = rows.iter().map(|row| (row.topic.clone(), row.messages.len())).collect();
        topics
            .backend()
            .relay(shard, rows, &|| tokens::hold(topics.cluster(), ROLE, shard, SEND_LIMIT).map(Some))
            .await?;
        for (topic, messages) in sent {
            metrics::published(&topic, messages);
        }
        delete(topics, shard, first, last).await?;
        state.first = Some(last + 1);
    }
    Ok(true)
}

/// Reads rows from the first on, at most a batch; gives the number of the first.
async fn read(topics: &Topics, shard: Shard, state: &ShardState) -> Result<(i64, Vec<OutboxBatch>)> {
    let snapshot = topics.store().snapshot(shard).await?;
    let mut from = match state.first {
        Some(first) => first,
        None => snapshot.get(&OUTBOX_ENDS, (FIRST,)).await?.unwrap_or(0),
    };
    let (mut batch, mut bytes, mut limit) = (Vec::<OutboxBatch>::new(), 0, FIRST_ROWS);
    while batch.len() < BATCH_ROWS && bytes < BATCH_BYTES {
        let rows = snapshot.scan(&OUTBOX, Range::all(limit).from((from,))?).await?;
        let exhausted = rows.len() < limit;
        for ((seq,), row) in rows {
            let messages: Vec<_> = row.messages.into_iter().map(Message::from).collect();
            bytes += messages.iter().map(Message::size).sum::<usize>();
            if bytes > BATCH_BYTES && !batch.is_empty() {
                break;
            }
            from = seq + 1;
            batch.push(OutboxBatch { seq, topic: row.topic, messages });
        }
        if exhausted {
            break;
        }
        limit = (limit * 2).min(MAX_ROWS);
    }
    Ok((batch.first().map_or(from, |row| row.seq), batch))
}

/// Deletes rows that are acknowledged; a process that lost its token cannot.
async fn delete(topics: &Topics, shard: Shard, first: i64, last: i64) -> Result<()> {
    topics
        .store()
        .transact(shard, async |tx| {
            tokens::check(topics.cluster(), tx, ROLE).await?;
            for seq in first..=last {
                tx.delete(&OUTBOX, (seq,))?;
            }
            tx.put(&OUTBOX_ENDS, (FIRST,), &(last + 1))?;
            Ok(())
        })
        .await
}
