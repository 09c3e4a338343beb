use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kit::{Clock, Shutdown, Tasks, Timestamp};
use store::{Read as _, Shard, Store, Tx};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::observe::{Observer, Rules};
use crate::tables::{MemberRow, TOKENS};
use crate::tokens::{Me, Tokens};
use crate::{Error, Kind, Options, Result, beat, hands, metrics};

/// A process's place among the others. Clones share it.
#[derive(Clone)]
pub struct Cluster {
    pub(crate) inner: Arc<Inner>,
}

/// Whether a process shares its store with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Membership {
    Joined,
    Solo,
}

pub(crate) struct Inner {
    membership: Membership,
    pub(crate) id: String,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) options: Options,
    pub(crate) since: Timestamp,
    pub(crate) tasks: Tasks,
    pub(crate) state: Mutex<State>,
    /// The member row has one writer at a time.
    pub(crate) row_turn: tokio::sync::Mutex<()>,
    /// The plan may differ from what is held.
    pub(crate) replan: Notify,
    /// Others should be looked at, or told something, before the next beat.
    pub(crate) look: Notify,
    /// Ends the background work of this member alone.
    pub(crate) ended: Shutdown,
}

pub(crate) struct State {
    pub(crate) session: u64,
    pub(crate) beat: u64,
    /// The session's lease; `None` while it has not been renewed for the first time.
    pub(crate) lease: Option<Lease>,
    /// The roles changed since they were last written.
    pub(crate) news: bool,
    pub(crate) left: bool,
    pub(crate) observer: Observer,
    pub(crate) tokens: Tokens,
}

impl Cluster {
    /// Registers this process and takes its tokens in the background. The tasks should be those that end last: while
    /// they run, the lease is renewed, and work that is being finished is still protected.
    pub async fn join(store: Store, clock: Clock, options: Options, tasks: &Tasks) -> Result<Self> {
        let inner = Arc::new(Inner::new(store, clock, options, tasks, Membership::Joined));
        beat::register(&inner).await?;
        beat::observe(&inner).await?;
        // Listening begins before the first look at the tokens, so no hand-over is missed.
        let wakes = inner.store.wakes().listen(hands::CHANNEL);
        tasks.spawn("cluster beat", beat::run(inner.clone()));
        tasks.spawn("cluster tokens", hands::run(inner.clone(), wakes));
        tracing::info!(member = inner.id, roles = ?inner.options.roles, "joined the cluster");
        Ok(Self { inner })
    }

    /// A process that is alone on its store and shares nothing: it holds every token without a row. For commands and for
    /// tests; the store must not be worked on by anybody else.
    pub fn solo(store: Store, clock: Clock) -> Self {
        let options = Options { alone: true, ..Options::default() };
        let tasks = Tasks::default();
        let inner = Inner::new(store, clock, options, &tasks, Membership::Solo);
        Self { inner: Arc::new(inner) }
    }

    /// Whether this process knows of no others: see [`Self::solo`].
    pub fn is_solo(&self) -> bool {
        self.inner.is_solo()
    }

    pub fn member_id(&self) -> &str {
        &self.inner.id
    }

    /// From now on this process takes its share of the role's tokens, over the first `shards` shards.
    pub fn register_role(&self, role: &str, shards: u16) {
        let is_new = self.inner.state().tokens.register(role, shards);
        self.inner.roles_changed(is_new);
    }

    /// Gives the role's tokens to the others that have it.
    pub fn withdraw_role(&self, role: &str) {
        let was_there = self.inner.state().tokens.withdraw(role);
        self.inner.roles_changed(was_there);
    }

    /// The shards whose token for the role is held now.
    pub fn held(&self, role: &str) -> Vec<Shard> {
        if self.inner.is_solo() {
            return Shard::all().collect();
        }
        let state = self.inner.state();
        if state.lease_left().is_zero() { Vec::new() } else { state.tokens.held(role) }
    }

    pub fn holds(&self, role: &str, shard: Shard) -> bool {
        let state = self.inner.state();
        self.inner.is_solo() || !state.lease_left().is_zero() && state.tokens.epoch(role, shard).is_some()
    }

    /// Changes whenever the set of tokens held for the role may have changed.
    pub fn watch(&self, role: &str) -> watch::Receiver<u64> {
        self.inner.state().tokens.watch(role)
    }

    /// Leave to make a call to the outside that must not overlap with another process's: given only if the token is
    /// held and the lease lasts longer than the call may. While it is kept, the token is not handed over.
    pub fn hold(&self, role: &str, shard: Shard, longest: Duration) -> Option<Hold> {
        let mut state = self.inner.state();
        let may = self.inner.is_solo()
            || (state.lease_left() > longest && state.tokens.epoch(role, shard).is_some());
        if !may {
            return None;
        }
        state.tokens.begin_call(role, shard, Instant::now() + longest);
        Some(Hold { inner: self.inner.clone(), role: role.to_owned(), shard })
    }

    /// Fencing: fails unless the token row of the transaction's shard names this process as it knows it. What the
    /// transaction writes is then written under the token, or not at all.
    pub async fn check(&self, tx: &mut Tx, role: &str) -> Result<()> {
        if self.inner.is_solo() {
            return Ok(());
        }
        let shard = tx.shard();
        let known = {
            let state = self.inner.state();
            state.tokens.epoch(role, shard).map(|epoch| (state.session, epoch))
        };
        let row = tx.get(&TOKENS, (role,)).await?;
        if let Some((session, epoch)) = known {
            let me = Me { id: &self.inner.id, session };
            if row.is_some_and(|row| me.owns(&row) && row.epoch == epoch) {
                return Ok(());
            }
            let mut state = self.inner.state();
            // Unless it was taken anew meanwhile, what was believed about this token is wrong.
            if state.session == session && state.tokens.epoch(role, shard) == Some(epoch) {
                state.tokens.settled(role, shard, None);
                self.inner.replan.notify_one();
            }
        }
        metrics::fenced(role);
        tracing::debug!(member = self.inner.id, role, shard = shard.number(), "a transaction was fenced off");
        let text = format!(
            "the work token of role {role} for shard {shard} is not held by this process",
            shard = shard.number()
        );
        Err(Error::new(Kind::Fenced, text))
    }

    /// Until the own lease ends; zero when it is over.
    pub fn lease_left(&self) -> Duration {
        if self.inner.is_solo() { Duration::MAX } else { self.inner.state().lease_left() }
    }

    /// Gives everything up at once. Calls under [`Self::hold`] are waited for, so end the workers first.
    pub async fn leave(&self) -> Result<()> {
        if self.inner.is_solo() { Ok(()) } else { beat::leave(&self.inner).await }
    }
}

impl Inner {
    fn new(store: Store, clock: Clock, options: Options, tasks: &Tasks, membership: Membership) -> Self {
        let id = options.id.clone().unwrap_or_else(kit::random_id);
        let rules = Rules {
            beat: options.beat,
            lease: options.lease,
            reads: options.reads,
            forget: options.forget,
            alone: options.alone,
        };
        let mut tokens = Tokens::default();
        for role in &options.roles {
            tokens.register(role, store::SHARDS);
        }
        let state = State {
            session: 1,
            beat: 0,
            lease: None,
            news: true,
            left: false,
            observer: Observer::new(&id, rules),
            tokens,
        };
        Self {
            since: clock.now(),
            id,
            store,
            clock,
            options,
            membership,
            tasks: tasks.clone(),
            state: Mutex::new(state),
            row_turn: tokio::sync::Mutex::default(),
            replan: Notify::new(),
            look: Notify::new(),
            ended: tasks.shutdown().child(),
        }
    }

    fn is_solo(&self) -> bool {
        self.membership == Membership::Solo
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn roles_changed(&self, changed: bool) {
        if changed {
            let mut state = self.state();
            state.news = true;
            self.replan(&mut state);
            self.look.notify_one();
        }
    }

    /// Computes anew what this process should hold.
    pub(crate) fn replan(&self, state: &mut State) {
        let roles = |row: &MemberRow| row.roles.iter().map(|role| role.name.clone()).collect();
        let others: Vec<_> = state.observer.live().map(|(id, row)| (id.to_owned(), roles(row))).collect();
        metrics::live_members(others.len() + 1);
        state.tokens.replan(&self.id, &others);
        self.replan.notify_one();
    }
}

impl State {
    pub(crate) fn lease_left(&self) -> Duration {
        self.lease.as_ref().map_or(Duration::ZERO, Lease::left)
    }
}

/// The time in which nobody else may take what this process holds. While the machine is suspended its other clocks stand
/// still, but the other processes' do not, so that time counts too.
pub(crate) struct Lease {
    until: Instant,
    /// How long the machine had been suspended when the lease began.
    suspended: Duration,
    clock: Clock,
}

impl Lease {
    /// A lease whose renewal is about to be written.
    pub(crate) fn begin(clock: &Clock, length: Duration) -> Self {
        Self { until: Instant::now() + length, suspended: clock.suspended(), clock: clock.clone() }
    }

    fn left(&self) -> Duration {
        let suspended = self.clock.suspended().saturating_sub(self.suspended);
        self.until.saturating_duration_since(Instant::now()).saturating_sub(suspended)
    }
}

/// A call under a token is under way; see [`Cluster::hold`].
pub struct Hold {
    inner: Arc<Inner>,
    role: String,
    shard: Shard,
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.inner.state().tokens.end_call(&self.role, self.shard) {
            self.inner.replan.notify_one();
        }
    }
}
