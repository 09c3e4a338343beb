//! Limits over processes, as one process uses them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::{Read as _, Shard, WakeReceiver};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::cluster::Inner;
use crate::limits::{Ask, Grant, Limits, gives_back, step};
use crate::tables::LIMITS;
use crate::{Cluster, Error, Result, beat};

/// A lease of the limit is looked at anew after this time, as long as there is work.
const ROUND: Duration = Duration::from_secs(1);
/// Wakes those who got nothing when others have given something back.
const CHANNEL: &str = "cluster-limits";
/// Who got nothing and is not woken asks again after this time.
const RETRY: Duration = Duration::from_millis(200);

/// Calls per second and calls at a time, over all processes that use the same name. Clones share it.
#[derive(Clone)]
pub struct Limiter {
    shared: Arc<Shared>,
}

struct Shared {
    cluster: Arc<Inner>,
    name: String,
    limits: Mutex<Limits>,
    local: Mutex<Local>,
    /// Who wants to begin a call stands in line here; the first asks the row for all.
    line: tokio::sync::Mutex<()>,
    waiting: AtomicU32,
    freed: Notify,
    wakes: WakeReceiver,
}

struct Local {
    session: u64,
    grant: Grant,
    in_use: u32,
    /// When the rate allows the next call.
    next_call: Instant,
    /// When the row was last asked.
    asked: Option<Instant>,
    /// Others gave something back since then.
    news: bool,
    /// A task looks after the lease.
    tended: bool,
}

enum Turn {
    Begin,
    Ask,
    Wait(Instant),
}

/// A call that may be under way; ends when dropped.
pub struct Permit {
    shared: Arc<Shared>,
}

impl Cluster {
    /// A limit shared by all processes that use this name. `f64::INFINITY` and `u32::MAX` mean no limit. All should
    /// give the same numbers; keep the limiter, and clone it.
    pub fn limiter(&self, name: &str, per_second: f64, parallel: u32) -> Limiter {
        let local = Local {
            session: 0,
            grant: Grant::default(),
            in_use: 0,
            next_call: Instant::now(),
            asked: None,
            news: false,
            tended: false,
        };
        Limiter {
            shared: Arc::new(Shared {
                cluster: self.inner.clone(),
                name: name.to_owned(),
                limits: Mutex::new(Limits { per_second, parallel }),
                local: Mutex::new(local),
                line: tokio::sync::Mutex::default(),
                waiting: AtomicU32::new(0),
                freed: Notify::new(),
                wakes: self.inner.store.wakes().listen(CHANNEL),
            }),
        }
    }
}

impl Limiter {
    /// Waits until one more call may begin, anywhere. First come, first served within the process.
    pub async fn acquire(&self) -> Result<Permit> {
        let shared = &self.shared;
        let _waiting = Waiting::new(shared);
        let _line = shared.line.lock().await;
        loop {
            let turn = shared.turn();
            match turn {
                Turn::Begin => return Ok(Permit { shared: shared.clone() }),
                Turn::Ask => {
                    shared.ask().await?;
                    shared.tend();
                }
                Turn::Wait(until) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(until) => {}
                        () = shared.freed.notified() => {}
                        shards = shared.wakes.woken() => {
                            lock(&shared.local).news |= shards.contains(&Shard::of(&shared.name));
                        }
                    }
                }
            }
        }
    }

    /// Calls of this process that wait for their turn.
    pub fn waiting(&self) -> u32 {
        self.shared.waiting.load(Ordering::SeqCst)
    }

    /// Changes the limit; takes effect within a second.
    pub fn change(&self, per_second: f64, parallel: u32) {
        *lock(&self.shared.limits) = Limits { per_second, parallel };
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut local = lock(&self.shared.local);
        local.in_use = local.in_use.saturating_sub(1);
        self.shared.freed.notify_one();
    }
}

impl Shared {
    /// What the first in line can do now; a call that begins is counted.
    fn turn(&self) -> Turn {
        let now = Instant::now();
        let limits = *lock(&self.limits);
        let (session, lease) = self.session();
        let mut local = lock(&self.local);
        if limits.per_second.is_infinite() && limits.parallel == u32::MAX {
            local.in_use += 1;
            return Turn::Begin;
        }
        if lease.is_zero() {
            return Turn::Wait(now + RETRY);
        }
        let valid = local.session == session;
        let fresh = local.asked.is_some_and(|asked| now < asked + ROUND);
        if !(valid && fresh) {
            return Turn::Ask;
        }
        let asked = local.asked.unwrap_or(now);
        if local.grant.slots <= local.in_use || local.grant.rate <= 0.0 {
            // What has become free beyond the own share goes back at once: others wait for it.
            if local.grant.leased > local.grant.slots.max(local.in_use) {
                return Turn::Ask;
            }
            let lacking = local.grant.slots == 0 || local.grant.rate <= 0.0;
            let again = asked + if lacking { RETRY } else { ROUND };
            return if now >= again || (lacking && local.news) { Turn::Ask } else { Turn::Wait(again) };
        }
        if now < local.next_call {
            return Turn::Wait(local.next_call.min(asked + ROUND));
        }
        local.in_use += 1;
        // A slow rate must not sleep beyond all measure if it is raised later.
        let pause = Duration::try_from_secs_f64(1.0 / local.grant.rate).unwrap_or(Duration::MAX);
        local.next_call = now + pause.min(Duration::from_hours(1));
        Turn::Begin
    }

    /// One step at the row. What is not in use is put down first, so that an unknown outcome leaves nothing over.
    async fn ask(&self) -> Result<()> {
        let limits = *lock(&self.limits);
        let (session, lease) = self.session();
        if self.cluster.state().left {
            return Err(beat::left());
        }
        if lease.is_zero() {
            return Ok(());
        }
        let in_use = {
            let mut local = lock(&self.local);
            local.grant = Grant { slots: 0, leased: local.in_use, rate: 0.0 };
            (local.session, local.asked, local.news) = (session, Some(Instant::now()), false);
            local.in_use
        };
        let demand = in_use.saturating_add(self.waiting.load(Ordering::SeqCst));
        let ask = Ask { member: &self.cluster.id, session, in_use, demand };
        let (name, cluster) = (self.name.as_str(), &self.cluster);
        let grant = cluster
            .store
            .transact(Shard::of(name), async |tx| {
                let row = tx.get(&LIMITS, (name,)).await?.unwrap_or_default();
                let before = row.clone();
                let (after, grant) = step(row, limits, ask, |share| {
                    cluster.state().observer.gone(&share.member, share.session, Instant::now())
                });
                if after.shares.is_empty() {
                    tx.delete(&LIMITS, (name,))?;
                } else if after != before {
                    tx.put(&LIMITS, (name,), &after)?;
                }
                if gives_back(&before, &after, ask.member) {
                    tx.wake(CHANNEL);
                }
                Ok::<_, Error>(grant)
            })
            .await?;
        let mut local = lock(&self.local);
        if local.session == session {
            local.grant = grant;
        }
        Ok(())
    }

    fn session(&self) -> (u64, Duration) {
        let state = self.cluster.state();
        (state.session, state.lease_left())
    }

    /// Sees to it that the lease is given back when the work is over.
    fn tend(self: &Arc<Self>) {
        if !std::mem::replace(&mut lock(&self.local).tended, true) {
            self.cluster.tasks.spawn("cluster limit", tend(self.clone()));
        }
    }
}

/// While there is work, someone steps at the row every second; when there is none left, the lease is given back.
async fn tend(shared: Arc<Shared>) {
    while shared.cluster.ended.sleep(ROUND).await {
        let Ok(_line) = shared.line.try_lock() else { continue };
        let (idle, stale) = {
            let local = lock(&shared.local);
            let idle = local.in_use == 0 && shared.waiting.load(Ordering::SeqCst) == 0;
            (idle, local.asked.is_none_or(|asked| asked.elapsed() >= ROUND))
        };
        if !stale {
            continue;
        }
        match shared.ask().await {
            Ok(()) if idle => {
                let mut local = lock(&shared.local);
                (local.asked, local.tended) = (None, false);
                return;
            }
            Ok(()) => {}
            Err(error) => {
                tracing::warn!(limit = shared.name, "the lease of a limit was not updated: {error}");
            }
        }
    }
}

/// Counts who waits, also when the waiting is given up.
struct Waiting<'a>(&'a AtomicU32);

impl<'a> Waiting<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.waiting.fetch_add(1, Ordering::SeqCst);
        Self(&shared.waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
