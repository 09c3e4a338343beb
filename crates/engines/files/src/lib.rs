//! Files: blobs by the hash of their content (BLAKE3), streamed in and out, kept as long as somebody refers to them.
//!
//! ```text
//! let incoming = files.receive(stream, Limits::up_to(4 << 30)).await?; // to a temp file: hash and size are known
//! let stored = files.put(incoming, &referrer).await?;                  // whole in a folder or S3; reference pending
//! store.transact(owner_shard, …write stored.hash into the owner's row…).await?;
//! files.confirm(&stored.hash, &referrer).await?;                       // reference held
//! …
//! store.transact(owner_shard, async |tx| { …forget the hash…; Files::release(tx, &hash, &referrer).await }).await?;
//! ```
//!
//! The bytes are objects in a folder or in S3 ([`objects`]), the truth about them is rows in the shard of the hash
//! ([`tables`]). The owner's row is in another shard and the object in no transaction at all, so a file lives by
//! ordered steps, each of which can be repeated and each of which leaves a row by which its rest is found;
//! `protocol.rs` lists them, with what a crash leaves behind each. [`Files::sweep`] finishes what was left.
//!
//! What holds, after any crash and with any answer lost:
//! - a file that is held can be read; a whole read brings the bytes that were received, or an error;
//! - the same content is stored once, however many hold it and however many send it at the same time;
//! - an object that nobody holds is deleted; no object lies there that no row knows;
//! - a DELETE or a PUT that arrives late harms nobody: a name that was deleted is never used again;
//! - memory does not grow with the file, and a disk that fills up is noticed while there is still room.
//!
//! An [`Error`] says whether what failed *did not happen* or *may have happened*; everything here may be repeated.
//!
//! Not done here: who may read a file, its type and name (the owner's rows say that), and when a stream has stalled
//! (its source knows its patience). A referrer is used once per file, see [`Referrer`]. Releases travel through the
//! outbox to the topic [`RELEASES`], whose consumer is [`Files::releases`].

mod audit;
pub mod conformance;
mod error;
mod files;
mod incoming;
mod metrics;
mod names;
pub mod objects;
mod options;
mod protocol;
mod read;
mod release;
mod sweep;
pub mod tables;

pub use audit::Audit;
pub use files::{Files, Stored, open};
pub use incoming::{Body, BodyReader, Incoming};
pub use kit::{Error, Kind, Result};
pub use names::{Hash, MAX_REFERRER_BYTES, ObjectName, Referrer};
pub use options::{Limits, Options};
pub use read::Reading;
pub use release::{RELEASES, Release, Releases};
pub use sweep::{Answer, Swept};
pub use tables::tables;

/// Woken when an object may be deleted.
pub const WAKE_CHANNEL: &str = "files";
