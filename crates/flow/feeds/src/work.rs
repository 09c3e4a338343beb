//! The loop of all background work: take what is due, else wait for a wake-up or the next due moment.
//!
//! Wake-ups and moments in memory carry no data; the tables are the truth, and a poll of all held shards every 30 s finds
//! what a lost wake-up left. Only shards whose work token is held are looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cluster::Cluster;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt as _};
use kit::{Clock, Shutdown, Timestamp};
use store::{Shard, WakeReceiver};

use crate::Result;

const SAFETY_POLL: Duration = Duration::from_secs(30);
/// Work that failed before it began is looked at again after this.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// What a look at some shards found.
pub(crate) struct Found<K> {
    pub(crate) due: Vec<(Shard, K)>,
    /// The first moment of each shard at which something will be due.
    pub(crate) later: Vec<(Shard, Timestamp)>,
}

/// What became of a piece of work.
pub(crate) enum Done {
    /// Something changed: there may be more.
    Worked,
    /// Somebody else is at it, or it is not its turn: a wake-up will come.
    NotNow,
}

pub(crate) struct Work<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) clock: &'a Clock,
    pub(crate) role: &'static str,
    pub(crate) wakes: WakeReceiver,
    /// Pieces of work at the same time.
    pub(crate) at_once: usize,
}

/// Works until the shutdown is called; what is under way then is dropped, which is as good as a crash.
pub(crate) async fn work<'a, K: Ord + Clone + Send + 'a>(
    work: Work<'a>,
    look: impl Fn(Vec<Shard>) -> BoxFuture<'a, Result<Found<K>>>,
    run: impl Fn(K) -> BoxFuture<'a, Result<Done>>,
    shutdown: &Shutdown,
) {
    let Work { cluster, clock, role, wakes, at_once } = work;
    cluster.register_role(role, store::SHARDS);
    let mut tokens = cluster.watch(role);
    let mut state = State::default();
    state.dirty.extend(Shard::all());
    let mut running: FuturesUnordered<BoxFuture<'a, (Shard, K, Result<Done>)>> = FuturesUnordered::new();
    let mut safety = tokio::time::Instant::now() + SAFETY_POLL;
    while !shutdown.is_called() {
        while !state.dirty.is_empty() {
            let ((), ended) = kit::beside(&mut running, state.look(cluster, role, clock, &look)).await;
            for (shard, key, done) in ended {
                state.ended(role, shard, &key, done, clock.now());
            }
        }
        while running.len() < at_once
            && let Some((shard, key)) = state.take()
        {
            let piece = run(key.clone());
            running.push(Box::pin(async move { (shard, key, piece.await) }));
        }
        let wait = state.next_moment().map_or(SAFETY_POLL, |moment| moment.since(clock.now()));
        tokio::select! {
            Some((shard, key, done)) = running.next() => state.ended(role, shard, &key, done, clock.now()),
            woken = wakes.woken() => state.dirty.extend(woken),
            changed = tokens.changed() => if changed.is_ok() { state.dirty.extend(Shard::all()) },
            () = tokio::time::sleep(wait) => state.moment_came(clock.now()),
            () = tokio::time::sleep_until(safety) => {
                safety = tokio::time::Instant::now() + SAFETY_POLL;
                state.dirty.extend(Shard::all());
            }
            () = shutdown.called() => {}
        }
    }
}

struct State<K> {
    /// Shards to be looked at.
    dirty: BTreeSet<Shard>,
    later: BTreeMap<Shard, Timestamp>,
    ready: Vec<(Shard, K)>,
    busy: BTreeSet<K>,
}

impl<K> Default for State<K> {
    fn default() -> Self {
        Self { dirty: BTreeSet::new(), later: BTreeMap::new(), ready: Vec::new(), busy: BTreeSet::new() }
    }
}

impl<K: Ord + Clone> State<K> {
    async fn look<'a>(
        &mut self,
        cluster: &Cluster,
        role: &str,
        clock: &Clock,
        look: &impl Fn(Vec<Shard>) -> BoxFuture<'a, Result<Found<K>>>,
    ) {
        let dirty = std::mem::take(&mut self.dirty);
        let shards: Vec<_> = cluster.held(role).into_iter().filter(|shard| dirty.contains(shard)).collect();
        if shards.is_empty() {
            return;
        }
        match look(shards.clone()).await {
            Ok(found) => {
                self.later.retain(|shard, _| !shards.contains(shard));
                self.later.extend(found.later);
                self.ready.retain(|(shard, _)| !shards.contains(shard));
                self.ready.extend(found.due.into_iter().rev().filter(|(_, key)| !self.busy.contains(key)));
            }
            Err(error) => {
                tracing::warn!(role, "due work cannot be looked for: {error}");
                let again = clock.now().plus(LOOK_AGAIN);
                self.later.extend(shards.into_iter().map(|shard| (shard, again)));
            }
        }
    }

    fn take(&mut self) -> Option<(Shard, K)> {
        while let Some((shard, key)) = self.ready.pop() {
            if self.busy.insert(key.clone()) {
                return Some((shard, key));
            }
        }
        None
    }

    fn next_moment(&self) -> Option<Timestamp> {
        self.later.values().min().copied()
    }

    fn moment_came(&mut self, now: Timestamp) {
        let came: Vec<_> = self.later.iter().filter(|(_, at)| **at <= now).map(|(shard, _)| *shard).collect();
        for shard in came {
            // A shard whose token is gone is not looked at, and must not be waited for either.
            self.later.remove(&shard);
            self.dirty.insert(shard);
        }
    }

    fn ended(&mut self, role: &str, shard: Shard, key: &K, done: Result<Done>, now: Timestamp) {
        self.busy.remove(key);
        match done {
            Ok(Done::Worked) => {
                self.dirty.insert(shard);
            }
            Ok(Done::NotNow) => {}
            Err(error) => {
                if !error.is_fenced() {
                    tracing::warn!(role, "a piece of work failed and is tried again: {error}");
                }
                let again = now.plus(LOOK_AGAIN);
                self.later.entry(shard).and_modify(|at| *at = again.min(*at)).or_insert(again);
            }
        }
    }
}
