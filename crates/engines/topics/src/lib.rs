//! Logs of records by which the systems talk: append, read in order, commit a position.

pub mod backend;
pub mod conformance;
pub mod consume;
pub mod dead_letters;
mod embedded;
mod error;
mod kafka;
pub mod outbox;
pub mod partition;
mod record;
pub mod relay;
mod retention;
mod subscription;
mod tables;
mod tokens;
mod topics;

pub use backend::{Description, Ends};
pub use error::{Error, Kind, Result};
pub use record::{Headers, Message, Placed, Position, Record};
pub use subscription::Subscription;
pub use tables::tables;
pub use tokens::Tokens;
pub use topics::{Lag, Options, To, TopicInfo, Topics};

/// Largest message: key, payload and headers. Kafka's topics are made for 4 MiB, of which it needs some for itself.
pub const MAX_MESSAGE_BYTES: usize = (4 << 20) - (64 << 10);
