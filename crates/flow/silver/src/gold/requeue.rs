//! Other rules hold: every SSKU is queued again, shard by shard, a page per transaction with its cursor.
//!
//! A shard that was begun under some rules never makes gold by older ones: [`check_rules`] reads the walk's row in the
//! transaction that makes gold, so a process that has not heard of the new rules yet reads them first.

use std::collections::BTreeMap;

use async_trait::async_trait;
use cluster::work::{Done, Due, Piece, Plan, Work};
use kit::Timestamp;
use store::{Range, Read as _, Shard, Tx};

use crate::tables::{GOLD_QUEUE, QueuedRow, SETTINGS_WALKS, SSKU, SettingsWalkRow};
use crate::{CHANNEL, Error, ROLE, RULES_CHANNEL, Result, Silver};

/// Its row in [`SETTINGS_WALKS`].
pub(crate) const WALK: &str = "gold";
/// Records of one step.
const RECORDS_AT_ONCE: usize = 200;

/// Shards whose gold is of older rules.
pub struct Requeued(pub Silver);

#[async_trait]
impl Work for Requeued {
    type Key = ();
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("gold rules", ROLE, RULES_CHANNEL, 1)
    }

    async fn due(&self, shards: &[Shard], _: Timestamp) -> Result<Due<()>> {
        let version = self.0.settings().gold_version;
        if version == 0 {
            return Ok(Due::default());
        }
        let store = &self.0.united.store;
        let filled = store.scan_shards(&SSKU, shards, Range::all(1)).await?;
        let rows = store.scan_shards(&SETTINGS_WALKS, shards, Range::prefix((WALK,), 1)?).await?;
        let walked: BTreeMap<Shard, i64> =
            rows.into_iter().map(|(shard, _, row)| (shard, row.settings_version)).collect();
        let behind = filled.into_iter().map(|(shard, ..)| shard);
        let behind = behind.filter(|shard| walked.get(shard).is_none_or(|walked| *walked < version));
        let piece = |shard| Piece { shard, owner: String::new(), key: (), long: false };
        Ok(Due { pieces: behind.map(piece).collect(), ..Due::default() })
    }

    async fn run(&self, shard: Shard, (): &()) -> Result<Done> {
        step(&self.0, shard).await
    }
}

async fn step(silver: &Silver, shard: Shard) -> Result<Done> {
    let version = silver.settings().gold_version;
    let body = async |tx: &mut Tx| {
        silver.united.cluster.check(tx, ROLE).await?;
        let row = tx.get(&SETTINGS_WALKS, (WALK,)).await?.unwrap_or_default();
        if row.settings_version >= version {
            return Ok(Done::Finished);
        }
        if row.walking_version > version {
            // Newer rules are known to others; they wake everybody.
            return Ok(Done::NotNow);
        }
        let mut range = Range::all(RECORDS_AT_ONCE);
        if row.walking_version == version && row.after_business != 0 {
            // Behind all sources of the SSKU: none sorts after this one.
            range = range.after((row.after_business, row.after_shop_sku.as_str(), "\u{10ffff}"))?;
        }
        let page = tx.scan(&SSKU, range).await?;
        let keys: Vec<_> = page.iter().map(|((business, sku, ..), _)| (*business, sku.as_str())).collect();
        let queued = tx.get_many(&GOLD_QUEUE, keys.clone()).await?;
        for (key, queued) in keys.into_iter().zip(queued) {
            if queued.is_none() {
                tx.put(&GOLD_QUEUE, key, &QueuedRow::default())?;
            }
        }
        let last = page.last().filter(|_| page.len() == RECORDS_AT_ONCE);
        let next = match last {
            Some(((business, sku, ..), _)) => SettingsWalkRow {
                settings_version: row.settings_version,
                walking_version: version,
                after_business: *business,
                after_shop_sku: sku.clone(),
            },
            None => SettingsWalkRow { settings_version: version, ..SettingsWalkRow::default() },
        };
        tx.put(&SETTINGS_WALKS, (WALK,), &next)?;
        tx.wake(CHANNEL);
        Ok::<_, Error>(if last.is_some() { Done::More } else { Done::Finished })
    };
    silver.united.store.transact(shard, body).await
}

/// Refuses to make gold by rules that are older than those under which this shard was gone over.
pub(crate) async fn check_rules(tx: &Tx, version: i64) -> Result<()> {
    let row = tx.get(&SETTINGS_WALKS, (WALK,)).await?.unwrap_or_default();
    let known = row.walking_version.max(row.settings_version);
    if known > version {
        return Err(Error::OlderRules { known, version });
    }
    Ok(())
}
