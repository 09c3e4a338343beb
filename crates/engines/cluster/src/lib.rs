//! Processes that share the work: membership, work tokens, locks, and limits over processes.
//!
//! Each process registers with its roles in one **member row** and renews it every beat (2 s), without the shard's
//! turn. All member rows live in one shard ([`members_shard`]), so that everybody is observed with one short scan
//! per beat. A member is dead when an observer has read the same value at least 4 times over at least 6 s of its own
//! monotonic clock, without having been blind in between: an outage of the store or a suspended machine steals
//! nothing. One's own lease ends 6 s after the *start* of the last successful renewal, that is, before anybody can
//! have seen it end.
//!
//! A **work token** is the right to work on one shard for one role. Its row lives in that shard and is written only
//! when the token changes hands: owner, session, epoch. Everybody computes the same plan (`plan`) from the members
//! that live and have the role; who should hold a token takes it when its row names nobody, or somebody gone; who
//! should not hold it gives it back. Nobody leads, and nothing is polled per token: rows are read only while plan and
//! reality differ.
//!
//! - **Fencing.** [`Cluster::check`] reads the token row in the transaction of the work, so a process that lost the
//!   token cannot commit, however late it wakes up.
//! - **Sessions.** A process whose lease ended begins a new session with nothing in its hands; rows that name the old
//!   one are free for all. So a verdict "dead" never hits somebody who came back, and at no moment do two
//!   processes believe that they hold the same token.
//! - **Calls to the outside** cannot be fenced. They begin only if they end before the lease does, and
//!   [`Cluster::hold`] keeps the token from being handed over while one is under way.
//! - A leaving process marks its row and is at once as good as dead; a process alone on its store waits for nobody.
//!
//! **Locks** ([`Cluster::try_lock`]) are rows beside what they protect, taken when free or when their holder is gone,
//! and fenced by a nonce when the work commits. **Limits** ([`Cluster::limiter`]) are rows from which processes with
//! work lease a second's worth of calls, by demand.
//!
//! **Tallies** ([`tally`]) are statistics by hour that all processes add to.
//!
//! What is not done here: deciding what the work is, and telling a slow process from a dead one by anything but its
//! heartbeat. Time is `tokio::time`; the wall clock serves only people, the age of locks and the refill of limits.

mod beat;
mod cluster;
mod hands;
mod limiter;
mod limits;
mod locks;
mod members;
mod metrics;
mod observe;
mod options;
mod plan;
mod tables;
pub mod tally;
mod tokens;
pub mod walk;
pub mod work;

pub use cluster::{Cluster, Hold};
pub use kit::{Error, Kind, Result};
pub use limiter::{Limiter, Permit};
pub use locks::Lock;
pub use members::Member;
pub use options::Options;
pub use tables::{members_shard, tables};
