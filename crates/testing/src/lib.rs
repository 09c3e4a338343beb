//! What the tests of several crates share: nothing of it is shipped.
//!
//! - [`Counted`] is a store that counts what transactions ask for: rows by system, and round trips.
//! - [`schema`], [`embedded`] and [`postgres`] make stores that have the tables of a system and of the engines.
//! - [`OUTBOX`] is what was sent and no relay has taken yet.
//! - [`apply`] does to a handler what a consumer does, without a topic.
#![allow(clippy::unwrap_used)]

mod counting;
mod outbox;
mod stores;

use store::{Store, Tx};
use topics::Record;
use topics::consume::{Failure, Handler};

pub use counting::Counted;
pub use outbox::{OUTBOX, OutboxMessage, OutboxRow};
pub use stores::{embedded, postgres, schema};

/// A record as a topic gives it.
pub fn record(offset: i64, key: impl Into<Vec<u8>>, payload: Vec<u8>) -> Record {
    let payload = payload.into();
    Record {
        partition: 0,
        offset,
        key: key.into(),
        payload,
        headers: Vec::new(),
        timestamp: kit::Timestamp(0),
    }
}

/// Applies records that all have their effect in one shard, in one transaction.
pub async fn apply<H: Handler>(store: &Store, handler: &H, records: &[Record]) -> Result<(), Failure> {
    let mut shard = None;
    let mut messages = Vec::new();
    for record in records {
        let (of, message) = handler.decode(record).map_err(|reason| Failure::Determinate(reason.0))?;
        assert!(shard.replace(of).is_none_or(|before| before == of), "records of several shards");
        messages.push(message);
    }
    let Some(shard) = shard else { return Ok(()) };
    store.transact(shard, async |tx: &mut Tx| handler.apply(tx, messages).await).await
}

/// How many round trips the handler makes for these records.
pub async fn trips<H: Handler>(store: &Store, counted: &Counted, handler: &H, records: &[Record]) -> usize {
    counted.take_trips();
    apply(store, handler, records).await.unwrap();
    counted.take_trips()
}
