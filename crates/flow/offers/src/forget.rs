//! Rows that are to be forgotten at some time: anonymous drafts, traces of drafts, idempotency keys.

use std::time::Duration;

use async_trait::async_trait;
use cluster::work::{Done, Due, Piece, Plan, Work};
use kit::Timestamp;
use store::{Range, Read as _, Shard, Tx};

use crate::due::ROLE;
use crate::tables::{DRAFT, DRAFT_MOVED, DRAFT_PUBLISHED, FORGET_DUE, IDEMPOTENCY};
use crate::{Error, Offers, Result, drafts};

/// Rows of one step.
const STEP: usize = 200;
/// Nobody wakes it.
const CHANNEL: &str = "offers.forget";
/// Rows that end soon after one another go together.
const GATHER: Duration = Duration::from_secs(60);

pub(crate) enum Trace<'a> {
    Draft(&'a str),
    Moved(&'a str),
    Published(&'a str),
    /// Owner, and call with key.
    Key(&'a str, &'a str),
}

impl Trace<'_> {
    fn columns(&self) -> (&'static str, &str, &str) {
        match self {
            Self::Draft(id) => ("draft", id, ""),
            Self::Moved(id) => ("moved", id, ""),
            Self::Published(id) => ("published", id, ""),
            Self::Key(owner, key) => ("key", owner, key),
        }
    }
}

pub(crate) fn at(tx: &mut Tx, moment: i64, what: &Trace<'_>) -> Result<()> {
    let (kind, first, second) = what.columns();
    Ok(tx.put(&FORGET_DUE, (moment, kind, first, second), &())?)
}

pub(crate) fn cancel(tx: &mut Tx, moment: i64, what: &Trace<'_>) -> Result<()> {
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
    drafts::erase_rows(tx, id, &row).await
}

/// Shards with rows that are to be forgotten now.
pub struct Forgotten(pub Offers);

#[async_trait]
impl Work for Forgotten {
    type Key = ();
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("forgotten rows", ROLE, CHANNEL, 1)
    }

    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<()>> {
        let mut due = Due::default();
        for (shard, (at, ..), ()) in self.0.store.scan_shards(&FORGET_DUE, shards, Range::all(1)).await? {
            if at < now.0 {
                due.pieces.push(Piece { shard, owner: String::new(), key: (), long: false });
            } else {
                // Together with others: there is no hurry.
                due.later.push((shard, Timestamp(at).plus(GATHER)));
            }
        }
        Ok(due)
    }

    async fn run(&self, shard: Shard, (): &()) -> Result<Done> {
        let step = async |tx: &mut Tx| {
            self.0.cluster.check(tx, ROLE).await?;
            step(tx, self.0.clock.now()).await
        };
        let rows = self.0.store.transact(shard, step).await?;
        Ok(if rows == STEP { Done::More } else { Done::Finished })
    }
}
