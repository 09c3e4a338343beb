//! The history of offers is forgotten when it is old, by a walk that goes on where it was.

use std::time::Duration;

use async_trait::async_trait;
use cluster::walk::{self, Walk};
use cluster::work::{Done, Due, Plan, Work};
use kit::Timestamp;
use store::{Shard, Tx};

use crate::due::ROLE;
use crate::tables::EVENTS;
use crate::{Error, Offers, Result};

const ROWS_AT_ONCE: usize = 1_000;
/// A shard is walked once in this time.
const EVERY: Duration = Duration::from_secs(86_400);
/// Nobody wakes it.
const CHANNEL: &str = "offers.events";

/// Events older than `events_kept`.
pub struct OldEvents(pub Offers);

fn events() -> Walk<'static> {
    Walk::over_all("offers.events", ROWS_AT_ONCE, EVERY)
}

#[async_trait]
impl Work for OldEvents {
    type Key = ();
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("old events", ROLE, CHANNEL, 1)
    }

    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<()>> {
        Ok(walk::due(&self.0.store, &EVENTS, &events(), shards, now).await?)
    }

    async fn run(&self, shard: Shard, (): &()) -> Result<Done> {
        let offers = &self.0;
        let page = async |tx: &mut Tx| {
            offers.cluster.check(tx, ROLE).await?;
            let now = offers.clock.now();
            let Some(page) = walk::step(tx, &EVENTS, &events(), now).await? else {
                return Ok(Done::Finished);
            };
            let oldest = now.minus(offers.settings.events_kept).0;
            for (key, _) in page.rows.iter().filter(|(_, row)| row.at < oldest) {
                tx.delete(&EVENTS, *key)?;
            }
            Ok(if page.ended { Done::Finished } else { Done::More })
        };
        offers.store.transact(shard, page).await
    }
}
