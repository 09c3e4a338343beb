//! Rows that are to be forgotten at some time: anonymous drafts, traces of drafts, idempotency keys.

use kit::Timestamp;
use store::{Range, Read as _, Shard, Tx};

use crate::tables::{CURRENT_DRAFT, DRAFT, DRAFT_MOVED, DRAFT_PUBLISHED, FORGET_DUE, IDEMPOTENCY};
use crate::{Offers, Result};

/// Rows of one step.
const STEP: usize = 200;

pub(crate) enum Forgotten<'a> {
    Draft(&'a str),
    Moved(&'a str),
    Published(&'a str),
    /// Owner, and call with key.
    Key(&'a str, &'a str),
}

impl Forgotten<'_> {
    fn columns(&self) -> (&'static str, &str, &str) {
        match self {
            Self::Draft(id) => ("draft", id, ""),
            Self::Moved(id) => ("moved", id, ""),
            Self::Published(id) => ("published", id, ""),
            Self::Key(owner, key) => ("key", owner, key),
        }
    }
}

pub(crate) fn at(tx: &mut Tx, moment: i64, what: &Forgotten<'_>) -> Result<()> {
    let (kind, first, second) = what.columns();
    Ok(tx.put(&FORGET_DUE, (moment, kind, first, second), &())?)
}

pub(crate) fn cancel(tx: &mut Tx, moment: i64, what: &Forgotten<'_>) -> Result<()> {
    let (kind, first, second) = what.columns();
    Ok(tx.delete(&FORGET_DUE, (moment, kind, first, second))?)
}

/// Forgets what is due in the shard, in a step; how many rows it was.
pub(crate) async fn step(tx: &mut Tx, now: Timestamp) -> Result<usize> {
    let rows = tx.scan(&FORGET_DUE, Range::all(STEP).before((now.0,))?).await?;
    for ((moment, kind, first, second), ()) in &rows {
        match kind.as_str() {
            "draft" => forget_draft(tx, first).await?,
            "moved" => tx.delete(&DRAFT_MOVED, (first.as_str(),))?,
            "published" => tx.delete(&DRAFT_PUBLISHED, (first.as_str(),))?,
            _ => tx.delete(&IDEMPOTENCY, (first.as_str(), second.as_str()))?,
        }
        tx.delete(&FORGET_DUE, (*moment, kind.as_str(), first.as_str(), second.as_str()))?;
    }
    Ok(rows.len())
}

async fn forget_draft(tx: &mut Tx, id: &str) -> Result<()> {
    let Some(row) = tx.get(&DRAFT, (id,)).await? else { return Ok(()) };
    tx.delete(&DRAFT, (id,))?;
    if tx.get(&CURRENT_DRAFT, (row.owner.as_str(),)).await?.as_deref() == Some(id) {
        tx.delete(&CURRENT_DRAFT, (row.owner.as_str(),))?;
    }
    Ok(())
}

/// The shards among these where something is due.
pub(crate) async fn due(offers: &Offers, shards: &[Shard]) -> Result<Vec<Shard>> {
    let range = Range::all(1).before((offers.clock.now().0,))?;
    let rows = offers.store.scan_shards(&FORGET_DUE, shards, range).await?;
    Ok(rows.into_iter().map(|(shard, ..)| shard).collect())
}
