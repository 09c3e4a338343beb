//! Forgets the rows of what went long ago: a walk over a shard's feed rows, once a day.

use std::time::Duration;

use async_trait::async_trait;
use cluster::walk::{self, Walk};
use cluster::work::{Done, Due, Plan, Work};
use kit::Timestamp;
use store::{Shard, Tx};

use crate::due::ROLE;
use crate::tables::FEED;
use crate::{Error, Offers, Result};

const ROWS_AT_ONCE: usize = 1_000;
const EVERY: Duration = Duration::from_secs(86_400);
/// Nobody wakes it.
const CHANNEL: &str = "offers.feed_rows";

/// Feed rows that have been dead for longer than a feed may bring their offers back.
pub struct DeadFeedRows(pub Offers);

fn feed_rows() -> Walk<'static> {
    Walk::over_all("offers.feed_rows", ROWS_AT_ONCE, EVERY)
}

#[async_trait]
impl Work for DeadFeedRows {
    type Key = ();
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("dead feed rows", ROLE, CHANNEL, 1)
    }

    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<()>> {
        Ok(walk::due(&self.0.store, &FEED, &feed_rows(), shards, now).await?)
    }

    async fn run(&self, shard: Shard, (): &()) -> Result<Done> {
        let offers = &self.0;
        let page = async |tx: &mut Tx| {
            offers.cluster.check(tx, ROLE).await?;
            let now = offers.clock.now();
            let Some(page) = walk::step(tx, &FEED, &feed_rows(), now).await? else {
                return Ok(Done::Finished);
            };
            let before = now.minus(offers.settings.revive_within).0;
            for (key, _) in page.rows.iter().filter(|(_, row)| row.dead_at != 0 && row.dead_at <= before) {
                tx.delete(&FEED, (&*key.0, &*key.1, &*key.2))?;
            }
            Ok(if page.ended { Done::Finished } else { Done::More })
        };
        offers.store.transact(shard, page).await
    }
}
