//! The one loop of background work: take what is due, else wait for a wake-up or for the next due moment.
//!
//! A kind of work says how to find what is due ([`Work::due`]) and how to do one piece of it ([`Work::run`]); [`run`] does
//! the rest, and [`run_due`] does the same in a test, one piece after another. Wake-ups and moments in memory carry no
//! data: the tables are the truth, and a poll of all held shards finds what a lost wake-up left. Only shards whose work
//! token is held are looked at.
//!
//! - **Fair.** Shards are served in turn, and within a shard its owners in turn, so one owner's thousand pieces never
//!   hide another's one. While another owner waits, an owner has at most a quarter of the slots; long pieces always leave
//!   one slot to short ones, and those of one owner half of them to others.
//! - **Poison is bounded.** Work that can kill its process ([`Plan::max_tries`]) notes each try before it begins, in a
//!   transaction under the token. A piece that never reports back waits longer from try to try and is given up
//!   ([`Work::give_up`]) after that many, so no input puts a process into a crash loop.
//! - **A panic costs one piece**, which is tried again later; a panic of the loop itself restarts it. Both are logged and
//!   counted, and a held token is always served.

mod attempts;
mod head;
mod queue;
mod run;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use kit::Timestamp;
use store::Shard;

pub(crate) use attempts::ATTEMPTS;
pub use head::{Entry, head, head_by_owner};
pub use run::{run, run_due, start};

/// The reason with which a piece is given up that never reported back.
pub const KILLED_ITS_WORKER: &str = "kept killing its worker";

/// What does not change while a kind of work runs.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// For people: logs and metrics.
    pub name: &'static str,
    /// Whose work tokens the work is done under.
    pub role: &'static str,
    /// A wake-up of this channel makes the loop look at its shards.
    pub channel: &'static str,
    /// Pieces at the same time.
    pub at_once: usize,
    /// Wake-ups are gathered this long before anybody looks.
    pub gather: Duration,
    /// For work that can kill its process: a piece is given up after this many tries that never reported back.
    pub max_tries: Option<u32>,
}

impl Plan {
    /// Work that looks at once and cannot kill its process.
    pub const fn new(name: &'static str, role: &'static str, channel: &'static str, at_once: usize) -> Self {
        Self { name, role, channel, at_once, gather: Duration::ZERO, max_tries: None }
    }
}

/// A kind of background work.
#[async_trait]
pub trait Work: Send + Sync {
    /// Names a piece of a shard's work. A piece is done by one worker at a time.
    type Key: Ord + Clone + fmt::Debug + Send + Sync;
    type Error: WorkError;

    fn plan(&self) -> Plan;

    /// What is due in these shards, and when there will be more. One question over all shards: see [`head`].
    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<Self::Key>, Self::Error>;

    /// Does one piece. Looks again at what it was told, in its own transaction, which is fenced by
    /// [`Cluster::check`](crate::Cluster::check) or by a lock.
    async fn run(&self, shard: Shard, key: &Self::Key) -> Result<Done, Self::Error>;

    /// Ends a piece that must not be tried again. Only called with [`Plan::max_tries`].
    async fn give_up(&self, _shard: Shard, _key: &Self::Key, _reason: &str) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// What the loop asks of an error.
pub trait WorkError: fmt::Display + Send {
    /// Whether another process may be at it now: then this one drops it without a word.
    fn is_fenced(&self) -> bool;
}

impl WorkError for crate::Error {
    fn is_fenced(&self) -> bool {
        Self::is_fenced(self)
    }
}

/// A piece of work that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece<K> {
    pub shard: Shard,
    /// Whose it is: a seller, or whoever must not delay others.
    pub owner: String,
    pub key: K,
    /// Takes long: such pieces leave one slot to others.
    pub long: bool,
}

/// What a look found.
#[derive(Clone, Debug)]
pub struct Due<K> {
    pub pieces: Vec<Piece<K>>,
    /// When the next piece of a shard will be due.
    pub later: Vec<(Shard, Timestamp)>,
    /// Shards where more is due than was listed.
    pub cut: Vec<Shard>,
}

impl<K> Default for Due<K> {
    fn default() -> Self {
        Self { pieces: Vec::new(), later: Vec::new(), cut: Vec::new() }
    }
}

/// What became of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// It is done.
    Finished,
    /// A step is done and there is more: it goes on behind the other pieces of its owner.
    More,
    /// Somebody else is at it, or it is not its turn: a wake-up will come.
    NotNow,
    /// Another piece of the shard that runs here is in its way: it is looked for when that one ends.
    Behind,
    /// It is looked for again at this moment.
    Later(Timestamp),
}
