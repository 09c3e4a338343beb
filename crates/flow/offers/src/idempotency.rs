//! A call with an `Idempotency-Key` happens once: the key's row is written in the owner's shard, in the transaction of
//! the effect, and kept for 24 hours. A call that needs a second shard writes the row first, as running.

use std::time::Duration;

use kit::Timestamp;
use store::{Read as _, Shard, Tx};
use web::{Code, Problem};
use wire::offers::IdempotencyRow;

use crate::forget::{self, Trace};
use crate::tables::IDEMPOTENCY;
use crate::{Error, Offers, Result};

const KEPT: Duration = Duration::from_secs(86_400);
/// A call that did not end by then died; its repeat takes over.
const RUNNING_AT_MOST: Duration = Duration::from_secs(60);
const MAX_KEY_BYTES: usize = 255;

/// A key of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Call and key.
    text: String,
    /// Hash of what was asked for.
    request: [u8; 32],
}

impl Key {
    pub fn new(call: &str, key: &str, request: &[u8]) -> Result<Self> {
        let sane = !key.is_empty() && key.len() <= MAX_KEY_BYTES && !key.chars().any(char::is_control);
        if !sane {
            let detail = "an Idempotency-Key has 1 to 255 printable characters";
            return Err(refused(Problem::new(Code::BadRequest, detail)));
        }
        Ok(Self { text: format!("{call}:{key}"), request: *blake3::hash(request).as_bytes() })
    }
}

/// The offer that an earlier call with this key made; `None`: go on, and [`finish`] in the same transaction.
pub(crate) async fn begin(tx: &Tx, owner: &str, key: &Key, now: Timestamp) -> Result<Option<i64>> {
    let row = tx.get(&IDEMPOTENCY, (owner, key.text.as_str())).await?;
    let Some(row) = row.filter(|row| row.forget_at > now.0) else { return Ok(None) };
    if row.request != key.request {
        let detail = "this Idempotency-Key was used with another request";
        return Err(refused(Problem::named(Code::Invalid, "idempotency_key_reused", detail)));
    }
    if row.offer_id != 0 {
        return Ok(Some(row.offer_id));
    }
    if now.since(Timestamp(row.began_at)) < RUNNING_AT_MOST {
        let detail = "the first call with this Idempotency-Key is still running".to_owned();
        return Err(Error::Conflict { name: "idempotency_running", detail });
    }
    Ok(None)
}

pub(crate) async fn finish(tx: &mut Tx, owner: &str, key: &Key, offer_id: i64, now: Timestamp) -> Result<()> {
    let old = tx.get(&IDEMPOTENCY, (owner, key.text.as_str())).await?;
    if let Some(old) = old {
        forget::cancel(tx, old.forget_at, &Trace::Key(owner, &key.text))?;
    }
    let forget_at = now.plus(KEPT).0;
    let row = IdempotencyRow { request: key.request.to_vec(), offer_id, forget_at, began_at: now.0 };
    tx.put(&IDEMPOTENCY, (owner, key.text.as_str()), &row)?;
    forget::at(tx, forget_at, &Trace::Key(owner, &key.text))
}

impl Offers {
    /// Notes that the call runs, for one whose effect needs a second shard.
    pub(crate) async fn begin_key(&self, owner: &str, key: Option<&Key>) -> Result<Option<i64>> {
        let Some(key) = key else { return Ok(None) };
        let now = self.clock.now();
        let note = async |tx: &mut Tx| {
            let made = begin(tx, owner, key, now).await?;
            if made.is_none() {
                finish(tx, owner, key, 0, now).await?;
            }
            Ok(made)
        };
        self.store.transact(Shard::of(owner), note).await
    }

    /// A call that was refused leaves its key free.
    pub(crate) async fn drop_key(&self, owner: &str, key: Option<&Key>) -> Result<()> {
        let Some(key) = key else { return Ok(()) };
        let drop = async |tx: &mut Tx| {
            let row = tx.get(&IDEMPOTENCY, (owner, key.text.as_str())).await?;
            if let Some(row) = row.filter(|row| row.offer_id == 0 && row.request == key.request) {
                forget::cancel(tx, row.forget_at, &Trace::Key(owner, &key.text))?;
                tx.delete(&IDEMPOTENCY, (owner, key.text.as_str()))?;
            }
            Ok(())
        };
        self.store.transact(Shard::of(owner), drop).await
    }
}

fn refused(problem: Problem) -> Error {
    Error::Refused(Box::new(problem))
}
