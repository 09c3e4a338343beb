//! The driver: looks, runs pieces, waits.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::time::Duration;

use futures::FutureExt as _;
use futures::stream::{FuturesUnordered, StreamExt as _};
use kit::{Backoff, Clock, Shutdown, Tasks, Timestamp};
use store::Shard;

use super::attempts::{self, Attempt};
use super::queue::Queue;
use super::{Done, Due, KILLED_ITS_WORKER, Piece, Plan, Work, WorkError as _};
use crate::{Cluster, metrics};

/// How often all held shards are looked at, should a wake-up be lost.
const SAFETY_POLL: Duration = Duration::from_secs(30);
/// A look that failed is repeated after this.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// A piece that failed is tried again after this, doubling with each failure.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Starts the work as one of the process's tasks.
pub fn start<W: Work + 'static>(tasks: &Tasks, cluster: &Cluster, work: W) {
    tasks.spawn(work.plan().name, run(cluster.clone(), work, tasks.shutdown().clone()));
}

/// Works until the shutdown is called; what is under way then is dropped, which is as good as a crash.
pub async fn run<W: Work>(cluster: Cluster, work: W, shutdown: Shutdown) {
    let plan = work.plan();
    cluster.register_role(plan.role, store::SHARDS);
    while !shutdown.is_called() {
        let turn = AssertUnwindSafe(Loop::new(&cluster, &work).run(&shutdown)).catch_unwind();
        if turn.await.is_err() {
            metrics::work_panicked(plan.name);
            tracing::error!(work = plan.name, "the loop panicked and is started again");
            shutdown.sleep(LOOK_AGAIN).await;
        }
    }
}

/// Does what is due in these shards at this moment, one piece after another, until nothing more moves; says how many
/// pieces were worked on. For tests and for commands.
pub async fn run_due<W: Work>(work: &W, shards: &[Shard], now: Timestamp) -> Result<usize, W::Error> {
    let mut worked = 0;
    let mut idle: BTreeSet<(Shard, W::Key)> = BTreeSet::new();
    loop {
        let due = work.due(shards, now).await?;
        let mut queue = Queue::new(1);
        queue.replace(shards, due.pieces);
        let mut moved = false;
        while let Some(piece) = queue.take() {
            queue.ended(&piece);
            let place = (piece.shard, piece.key.clone());
            if idle.contains(&place) {
                continue;
            }
            match work.run(piece.shard, &piece.key).await? {
                Done::NotNow | Done::Behind | Done::Later(_) => {
                    idle.insert(place);
                }
                Done::Finished => (moved, worked) = (true, worked + 1),
                Done::More => {
                    (moved, worked) = (true, worked + 1);
                    queue.again(piece);
                }
            }
        }
        if !moved {
            return Ok(worked);
        }
        idle.clear();
    }
}

/// How a piece ended.
enum End {
    Done(Done),
    Failed {
        reason: String,
        fenced: bool,
    },
    Panicked,
    /// It was not begun, and will be then.
    NotBefore(Timestamp),
}

type Running<'a, K> = Pin<Box<dyn Future<Output = (Piece<K>, End)> + Send + 'a>>;

struct Loop<'a, W: Work> {
    cluster: &'a Cluster,
    work: &'a W,
    plan: Plan,
    queue: Queue<W::Key>,
    /// Shards to be looked at.
    dirty: BTreeSet<Shard>,
    /// Shards where more is due than is known.
    cut: BTreeSet<Shard>,
    later: BTreeMap<Shard, Timestamp>,
    /// Shards where a piece waits for another one to end.
    behind: BTreeSet<Shard>,
    /// Pieces that failed, and when each is tried again.
    failed: BTreeMap<(Shard, W::Key), (Backoff, Timestamp)>,
    running: FuturesUnordered<Running<'a, W::Key>>,
}

impl<'a, W: Work> Loop<'a, W> {
    fn new(cluster: &'a Cluster, work: &'a W) -> Self {
        let plan = work.plan();
        Self {
            cluster,
            work,
            plan,
            queue: Queue::new(plan.at_once),
            dirty: Shard::all().collect(),
            cut: BTreeSet::new(),
            later: BTreeMap::new(),
            behind: BTreeSet::new(),
            failed: BTreeMap::new(),
            running: FuturesUnordered::new(),
        }
    }

    fn clock(&self) -> &'a Clock {
        &self.cluster.inner.clock
    }

    async fn run(mut self, shutdown: &Shutdown) {
        let wakes = self.cluster.inner.store.wakes().listen(self.plan.channel);
        let mut tokens = self.cluster.watch(self.plan.role);
        let mut safety = tokio::time::Instant::now() + SAFETY_POLL;
        while !shutdown.is_called() {
            while !self.dirty.is_empty() && !shutdown.is_called() {
                self.look().await;
            }
            self.begin();
            metrics::work_state(self.plan.name, self.running.len(), self.queue.len());
            let next = self.later.values().min();
            let wait = next.map_or(SAFETY_POLL, |at| at.since(self.clock().now()));
            tokio::select! {
                Some((piece, end)) = self.running.next() => self.ended(piece, end),
                woken = wakes.woken() => {
                    self.dirty.extend(woken);
                    if !self.plan.gather.is_zero() {
                        self.gather().await;
                        self.dirty.extend(wakes.take());
                    }
                }
                changed = tokens.changed() => if changed.is_ok() { self.dirty.extend(Shard::all()) },
                () = tokio::time::sleep(wait) => self.moment_came(),
                () = tokio::time::sleep_until(safety) => {
                    safety = tokio::time::Instant::now() + SAFETY_POLL;
                    self.dirty.extend(Shard::all());
                }
                () = shutdown.called() => {}
            }
        }
        self.leave().await;
    }

    /// What is broken off by an orderly end has killed nobody.
    async fn leave(self) {
        drop(self.running);
        if self.plan.max_tries.is_some() {
            for (shard, key) in self.queue.busy() {
                if let Err(error) = attempts::end(self.cluster, &self.plan, *shard, key).await {
                    tracing::warn!(
                        work = self.plan.name,
                        ?key,
                        "the end of a try could not be noted: {error}"
                    );
                }
            }
        }
    }

    /// Waits for more wake-ups while what runs goes on.
    async fn gather(&mut self) {
        let pause = tokio::time::sleep(self.plan.gather);
        let ((), ended) = kit::beside(&mut self.running, pause).await;
        for (piece, end) in ended {
            self.ended(piece, end);
        }
    }

    async fn look(&mut self) {
        let dirty = std::mem::take(&mut self.dirty);
        let held = self.cluster.held(self.plan.role);
        let shards: Vec<_> = held.into_iter().filter(|shard| dirty.contains(shard)).collect();
        if shards.is_empty() {
            return;
        }
        let now = self.clock().now();
        let due = AssertUnwindSafe(self.work.due(&shards, now)).catch_unwind();
        let (due, ended) = kit::beside(&mut self.running, due).await;
        match due {
            Ok(Ok(due)) => self.found(&shards, due),
            Ok(Err(error)) => self.look_failed(&shards, &error.to_string()),
            Err(_) => {
                metrics::work_panicked(self.plan.name);
                self.look_failed(&shards, "it panicked");
            }
        }
        // Only now: what ended while the rows were read may be among them.
        for (piece, end) in ended {
            self.ended(piece, end);
        }
    }

    fn found(&mut self, shards: &[Shard], mut due: Due<W::Key>) {
        for shard in shards {
            self.later.remove(shard);
            self.cut.remove(shard);
        }
        for (shard, at) in due.later {
            self.moment(shard, at);
        }
        self.forget_failures(shards, &due.pieces, &due.cut);
        self.cut.extend(due.cut);
        let (now, failed) = (self.clock().now(), &self.failed);
        let mut waits = Vec::new();
        due.pieces.retain(|piece| match failed.get(&(piece.shard, piece.key.clone())) {
            Some((_, until)) if *until > now => {
                waits.push((piece.shard, *until));
                false
            }
            _ => true,
        });
        for (shard, until) in waits {
            self.moment(shard, until);
        }
        self.queue.replace(shards, due.pieces);
    }

    /// A piece that failed and is not due any more was ended by somebody else.
    fn forget_failures(&mut self, shards: &[Shard], pieces: &[Piece<W::Key>], cut: &[Shard]) {
        if self.failed.is_empty() {
            return;
        }
        let looked: BTreeSet<_> = shards.iter().filter(|shard| !cut.contains(shard)).collect();
        let listed: BTreeSet<_> = pieces.iter().map(|piece| (piece.shard, &piece.key)).collect();
        self.failed.retain(|(shard, key), _| !looked.contains(shard) || listed.contains(&(*shard, key)));
    }

    fn look_failed(&mut self, shards: &[Shard], reason: &str) {
        tracing::warn!(work = self.plan.name, "due work cannot be looked for: {reason}");
        let again = self.clock().now().plus(LOOK_AGAIN);
        for shard in shards {
            self.moment(*shard, again);
        }
    }

    fn moment(&mut self, shard: Shard, at: Timestamp) {
        self.later.entry(shard).and_modify(|known| *known = at.min(*known)).or_insert(at);
    }

    fn begin(&mut self) {
        while let Some(piece) = self.queue.take() {
            let (cluster, work, plan) = (self.cluster, self.work, self.plan);
            self.running.push(Box::pin(async move {
                let end = attempt(cluster, work, &plan, &piece).await;
                (piece, end)
            }));
        }
    }

    fn moment_came(&mut self) {
        let now = self.clock().now();
        let came: Vec<_> = self.later.iter().filter(|(_, at)| **at <= now).map(|(shard, _)| *shard).collect();
        for shard in came {
            // A shard whose token is gone is not looked at, and must not be waited for either.
            self.later.remove(&shard);
            self.dirty.insert(shard);
        }
    }

    fn ended(&mut self, piece: Piece<W::Key>, end: End) {
        let shard = piece.shard;
        let due_again = self.queue.ended(&piece);
        // What was written behind the piece's last look, or waited for its end. One that only waits for another is in
        // nobody's way.
        let looked_again = matches!(end, End::Done(Done::More | Done::Behind));
        let in_the_way = !matches!(end, End::Done(Done::Behind));
        if (due_again && !looked_again) || (in_the_way && self.behind.remove(&shard)) {
            self.dirty.insert(shard);
        }
        match end {
            End::Done(done) => {
                metrics::work_done(self.plan.name, done);
                self.failed.remove(&(shard, piece.key.clone()));
                match done {
                    Done::More => self.queue.again(piece),
                    Done::Later(at) => self.moment(shard, at),
                    Done::Behind if self.queue.runs_in(shard) => {
                        self.behind.insert(shard);
                    }
                    // The one in its way has ended meanwhile.
                    Done::Behind => {
                        self.dirty.insert(shard);
                    }
                    Done::Finished if self.queue.is_drained(shard) => {
                        self.dirty.insert(shard);
                    }
                    Done::NotNow if self.queue.is_drained(shard) && self.cut.remove(&shard) => {
                        self.moment(shard, self.clock().now().plus(LOOK_AGAIN));
                    }
                    Done::Finished | Done::NotNow => {}
                }
            }
            End::Failed { reason, fenced } => {
                metrics::work_failed(self.plan.name);
                let key = format!("{:?}", piece.key);
                let wait = self.put_off(piece);
                if !fenced {
                    tracing::warn!(
                        work = self.plan.name,
                        key,
                        ?wait,
                        "a piece failed and is tried again: {reason}"
                    );
                }
            }
            End::Panicked => {
                metrics::work_panicked(self.plan.name);
                let key = format!("{:?}", piece.key);
                let wait = self.put_off(piece);
                tracing::error!(work = self.plan.name, key, ?wait, "a piece panicked and is tried again");
            }
            End::NotBefore(at) => {
                let failed = self.failed.entry((shard, piece.key));
                failed.or_insert_with(|| (Backoff::new(FIRST_WAIT, LONGEST_WAIT), at)).1 = at;
                self.moment(shard, at);
            }
        }
    }

    fn put_off(&mut self, piece: Piece<W::Key>) -> Duration {
        let (shard, now) = (piece.shard, self.clock().now());
        let failed = self.failed.entry((shard, piece.key));
        let (backoff, until) = failed.or_insert_with(|| (Backoff::new(FIRST_WAIT, LONGEST_WAIT), now));
        let wait = backoff.next_wait();
        *until = now.plus(wait);
        self.moment(shard, now.plus(wait));
        wait
    }
}

/// Runs one piece, with its try noted if it is dangerous.
async fn attempt<W: Work>(cluster: &Cluster, work: &W, plan: &Plan, piece: &Piece<W::Key>) -> End {
    let Piece { shard, key, .. } = piece;
    if let Some(max_tries) = plan.max_tries {
        match attempts::begin(cluster, plan, max_tries, *shard, key).await {
            Ok(Attempt::Begun) => {}
            Ok(Attempt::NotBefore(at)) => return End::NotBefore(at),
            Ok(Attempt::Exhausted) => return give_up(cluster, work, plan, piece).await,
            Err(error) => return End::Failed { fenced: error.is_fenced(), reason: error.to_string() },
        }
    }
    let ended = AssertUnwindSafe(work.run(*shard, key)).catch_unwind().await;
    let end = match ended {
        Err(_) => return End::Panicked,
        Ok(Ok(done)) => End::Done(done),
        Ok(Err(error)) => End::Failed { fenced: error.is_fenced(), reason: error.to_string() },
    };
    if plan.max_tries.is_some()
        && let Err(error) = attempts::end(cluster, plan, *shard, key).await
    {
        // It counts as a try that never reported back: at worst a piece of a failing store is given up early.
        tracing::warn!(work = plan.name, ?key, "the end of a try could not be noted: {error}");
    }
    end
}

async fn give_up<W: Work>(cluster: &Cluster, work: &W, plan: &Plan, piece: &Piece<W::Key>) -> End {
    let Piece { shard, key, .. } = piece;
    tracing::error!(work = plan.name, ?key, "a piece is given up: it {KILLED_ITS_WORKER}");
    metrics::work_given_up(plan.name);
    match work.give_up(*shard, key, KILLED_ITS_WORKER).await {
        Ok(()) => match attempts::end(cluster, plan, *shard, key).await {
            Ok(()) => End::Done(Done::Finished),
            Err(error) => End::Failed { fenced: error.is_fenced(), reason: error.to_string() },
        },
        Err(error) => End::Failed { fenced: error.is_fenced(), reason: error.to_string() },
    }
}
