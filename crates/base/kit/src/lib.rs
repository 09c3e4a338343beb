//! What every crate needs and no crate should write twice: time, identifiers, back-off, the error of
//! the engines, and an orderly end.
//!
//! Nothing here knows a word of the domain. Time comes through [`Clock`], so that a simulation can turn it;
//! waiting goes through `tokio::time`, which a paused runtime turns likewise. Background tasks live in a
//! [`Tasks`] group and end when its [`Shutdown`] is called, so a process stops without losing what it began.

mod backoff;
mod beside;
mod clock;
mod error;
mod ids;
pub mod suite;
mod tasks;
pub mod trace;

pub use backoff::Backoff;
pub use beside::beside;
pub use clock::{Clock, Timestamp};
pub use error::{Error, Kind, Result};
pub use ids::{random_bytes, random_id};
pub use tasks::{Shutdown, Tasks};
