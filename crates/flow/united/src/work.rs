//! Background work: the ending of older epochs, and mappings that are told again.

use std::time::Duration;

use async_trait::async_trait;
use cluster::walk::{self, Walk};
use cluster::work::{Done, Due, Entry, Plan, Work, head_by_owner};
use kit::Timestamp;
use store::{Shard, Tx};

use crate::shops::{end_step, tell_again};
use crate::tables::{ENDINGS, SHOPS};
use crate::{CHANNEL, Error, ROLE, Result, United};

/// Shops that are worked on side by side.
const AT_ONCE: usize = 4;
/// Every mapping is told to its seller's shard once in this time.
const TELL_EVERY: Duration = Duration::from_secs(3_600);
/// Mappings of one step.
const SHOPS_AT_ONCE: usize = 100;

/// Shops whose former offers are ended, page by page.
pub struct Endings(pub United);

#[async_trait]
impl Work for Endings {
    type Key = (u32, u32);
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("united endings", ROLE, CHANNEL, AT_ONCE)
    }

    async fn due(&self, shards: &[Shard], _: Timestamp) -> Result<Due<(u32, u32)>> {
        let entry = |key: (u32, u32), ()| {
            Some(Entry { at: Timestamp(0), owner: key.0.to_string(), key, long: false })
        };
        Ok(head_by_owner(&self.0.store, &ENDINGS, shards, entry).await?)
    }

    async fn run(&self, shard: Shard, key: &(u32, u32)) -> Result<Done> {
        step(&self.0, shard, key.0, key.1).await
    }
}

async fn step(united: &United, shard: Shard, business: u32, shop: u32) -> Result<Done> {
    let page = async |tx: &mut Tx| {
        united.cluster.check(tx, ROLE).await?;
        Ok(if end_step(united, tx, business, shop).await? { Done::More } else { Done::Finished })
    };
    united.store.transact(shard, page).await
}

/// Mappings, told to their sellers' shards again and again: those who know it do nothing, and one whose first word was lost hears
/// it all the same.
pub struct Retold(pub United);

fn mappings() -> Walk<'static> {
    Walk::over_all("united.mappings", SHOPS_AT_ONCE, TELL_EVERY)
}

#[async_trait]
impl Work for Retold {
    type Key = ();
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("united mappings", ROLE, "united.mappings", 1)
    }

    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<()>> {
        Ok(walk::due(&self.0.store, &SHOPS, &mappings(), shards, now).await?)
    }

    async fn run(&self, shard: Shard, (): &()) -> Result<Done> {
        retell(&self.0, shard).await
    }
}

async fn retell(united: &United, shard: Shard) -> Result<Done> {
    let now = united.clock.now();
    let body = async |tx: &mut Tx| {
        united.cluster.check(tx, ROLE).await?;
        let Some(page) = walk::step(tx, &SHOPS, &mappings(), now).await? else { return Ok(Done::Finished) };
        tell_again(tx, &page.rows).await?;
        Ok::<_, Error>(if page.ended { Done::Finished } else { Done::More })
    };
    united.store.transact(shard, body).await
}
