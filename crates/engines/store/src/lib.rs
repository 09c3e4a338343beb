//! Typed ordered tables, and transactions that each live in one shard.
//!
//! All state of Dvor is rows in tables that are declared once ([`Table`]) and gathered into a [`Schema`].
//! There are [`SHARDS`] shards; every row belongs to one, and every transaction touches exactly one, so there
//! are no distributed transactions and nothing to retry: **transactions of one shard run one after another,
//! those of different shards in parallel.**
//!
//! ```text
//! let answer = store.transact(shard, async |tx| {      // all or nothing; durable when it returns
//!     let offer = tx.get(&OFFERS, (seller, id)).await?; // reads see the tx's own writes
//!     tx.put(&OFFERS, (seller, id), &changed)?;         // buffered, goes out at commit
//!     tx.wake("relay");                                 // after the commit is durable
//!     Ok::<_, store::Error>(offer)
//! }).await?;
//! ```
//!
//! What holds on every engine, and is checked by [`conformance`] on every engine:
//! - a body reads what the last transaction of its shard wrote, plus its own writes;
//! - nothing is visible to a snapshot, another transaction's answer or the outside before it is durable;
//! - a dropped or failed body did not happen; an [`Error`] says whether a write *did not happen* or *may have
//!   happened* ([`Error::may_have_happened`]);
//! - rows come in the order of their keys (text by bytes), in both directions.
//!
//! A body waits for nothing but its own reads: no network, no sleep, no other lock, since it holds its shard.
//! What crosses shards goes through the outbox (crate `topics`), never through a wider transaction.
//!
//! Engines implement the narrow trait [`engine::Engine`]; `embedded` (fjall), `postgres` and `memory` (for
//! simulation) stand beside it, and `fault` wraps any of them to break things from a seed.

mod backup;
pub mod conformance;
mod copy;
mod embedded;
pub mod engine;
mod fault;
mod key;
mod memory;
mod overlay;
mod postgres;
mod range;
mod schema;
mod shard;
mod store;
mod table;
mod tx;
mod wakes;

pub use backup::{backup, restore};
pub use copy::copy;
pub use fault::{FaultPlan, Faults};
pub use key::{ColumnType, Decode, Encode, KeyBytes, Part};
pub use kit::{Error, Kind, Result};
pub use range::Range;
pub use schema::{Schema, TableId};
pub use shard::{SHARDS, Shard};
pub use store::{Options, Store};
pub use table::{Space, Table, TableSpec, Value};
pub use tx::{Mark, Read, Snapshot, Tx};
pub use wakes::{WakeReceiver, Wakes};

/// Longest encoded key; PostgreSQL's B-tree takes no entry over a third of a page.
pub const MAX_KEY_BYTES: usize = 2_048;
/// Largest encoded value of one row.
pub const MAX_VALUE_BYTES: usize = 16 << 20;
/// Most bytes that one transaction may write.
pub const MAX_TRANSACTION_BYTES: usize = 64 << 20;
