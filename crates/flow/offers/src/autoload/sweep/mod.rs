//! Takes away what feeds no longer have, beside the stream of loads.
//!
//! A sweep is a row with a phase and a cursor, and every step of it is one transaction that also moves the row: after a
//! crash the next process goes on exactly where the last one came to. The sweeps of a namespace go in the order of their
//! tasks, under the shard's work token.

mod steps;

use async_trait::async_trait;
use cluster::work::{Done, Due, Entry, Plan, Work, head_by_owner};
use kit::Timestamp;
use store::{Read as _, Shard, Tx};
use wire::offers::SweepRow;
use wire::offers::sweep_row::Phase;

use super::Load;
use crate::due::ROLE;
use crate::tables::FEED_SWEEPS;
use crate::{Error, Offers, Result, SWEEP_CHANNEL};

/// Namespaces that are swept side by side.
const AT_ONCE: usize = 8;
/// Steps that one namespace makes before others have their turn.
const STEPS_PER_TURN: usize = 32;

/// The first sweep of each namespace; a held one keeps the later ones waiting.
pub struct Sweeps(pub Offers);

#[async_trait]
impl Work for Sweeps {
    type Key = Load;
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("feed sweeps", ROLE, SWEEP_CHANNEL, AT_ONCE)
    }

    async fn due(&self, shards: &[Shard], _: Timestamp) -> Result<Due<Load>> {
        let mut previous = None;
        let first_of_each = move |(seller, namespace, key): (String, String, i64), row: SweepRow| {
            let feed = Some((seller.clone(), namespace.clone()));
            let is_first = previous != feed;
            previous = feed;
            (is_first && row.phase() != Phase::Held).then(|| Entry {
                at: Timestamp(0),
                owner: seller.clone(),
                key: Load { seller, namespace, task: key.abs(), dry: row.dry_run },
                long: false,
            })
        };
        Ok(head_by_owner(&self.0.store, &FEED_SWEEPS, shards, first_of_each).await?)
    }

    async fn run(&self, shard: Shard, load: &Load) -> Result<Done> {
        for _ in 0..STEPS_PER_TURN {
            if !step(&self.0, shard, load).await? {
                return Ok(Done::Finished);
            }
        }
        Ok(Done::More)
    }
}

/// One step, in one transaction; `false`: nothing more can be done for this sweep now.
async fn step(offers: &Offers, shard: Shard, load: &Load) -> Result<bool> {
    let step = async |tx: &mut Tx| {
        offers.cluster.check(tx, ROLE).await?;
        let key = (&*load.seller, &*load.namespace, load.key());
        let Some(row) = tx.get(&FEED_SWEEPS, key).await? else { return Ok(false) };
        take(tx, offers, load, row).await
    };
    offers.store.transact(shard, step).await
}

async fn take(tx: &mut Tx, offers: &Offers, load: &Load, row: SweepRow) -> Result<bool> {
    match row.phase() {
        Phase::Counting => steps::count(tx, load, row).await,
        Phase::Held => Ok(false),
        Phase::Sweeping => steps::sweep(tx, offers, load, row).await,
        Phase::Clearing => steps::clear(tx, load).await,
    }
}
