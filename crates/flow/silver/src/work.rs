//! Background work: what is owed, gold and ERP, cuts after a change of settings, the purge.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use cluster::walk::{self, Walk};
use cluster::work::{Done, Due, Entry, Piece, Plan, Work, head};
use kit::Timestamp;
use store::{Range, Read as _, Shard, Tx};
use topics::consume::Blame as _;

use crate::again::{failed_again, import_again, reopen_cuts};
use crate::forget::is_purged;
use crate::ssku::Key;
use crate::tables::{CUTS, ERP_QUEUE, FAILURES_DUE, GOLD_QUEUE, SETTINGS_WALKS, SSKU, SettingsWalkRow};
use crate::{CHANNEL, Error, ROLE, Result, Settings, Silver, gold};

/// Pieces of one kind at the same time.
const AT_ONCE: usize = 4;
/// Keys of one transaction.
const KEYS_AT_ONCE: usize = 100;
/// A shard is purged once in this time.
const PURGE_EVERY: Duration = Duration::from_secs(86_400);
/// The walk over cuts, in [`SETTINGS_WALKS`].
const CUTS_WALK: &str = "cuts";
/// Batches under older settings are over by then, so cuts that are looked at later are all there.
const SETTLED_AFTER: Duration = Duration::from_secs(30);

/// What is owed and due.
pub struct Debts(pub Silver);

#[async_trait]
impl Work for Debts {
    type Key = Key;
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("silver debts", ROLE, CHANNEL, AT_ONCE)
    }

    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<Key>> {
        let entry = |(at, business, shop_sku): (Timestamp, u32, String), ()| Entry {
            at,
            owner: business.to_string(),
            key: Key { business, shop_sku },
            long: false,
        };
        Ok(head(&self.0.united.store, &FAILURES_DUE, shards, now, entry).await?)
    }

    async fn run(&self, shard: Shard, key: &Key) -> Result<Done> {
        pay(&self.0, shard, key).await
    }
}

async fn pay(silver: &Silver, shard: Shard, key: &Key) -> Result<Done> {
    let settings = silver.settings();
    let body = async |tx: &mut Tx| {
        silver.united.cluster.check(tx, ROLE).await?;
        import_again(&silver.united, tx, &settings.import, key, silver.united.clock.now()).await
    };
    match silver.united.store.transact(shard, body).await {
        Err(error) if error.is_records_fault() => {
            let note = async |tx: &mut Tx| {
                silver.united.cluster.check(tx, ROLE).await?;
                failed_again(tx, key, &error.to_string(), silver.united.clock.now()).await
            };
            silver.united.store.transact(shard, note).await?;
        }
        imported => silver.count(&imported?),
    }
    Ok(Done::Finished)
}

/// The queues of gold and ERP, in the order of their keys with a cursor that wraps.
pub struct Queued {
    silver: Silver,
    cursors: Mutex<BTreeMap<Shard, Key>>,
}

impl Queued {
    pub fn new(silver: Silver) -> Self {
        Self { silver, cursors: Mutex::default() }
    }
}

#[async_trait]
impl Work for Queued {
    type Key = ();
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("gold", ROLE, CHANNEL, AT_ONCE)
    }

    async fn due(&self, shards: &[Shard], _: Timestamp) -> Result<Due<()>> {
        let store = &self.silver.united.store;
        let (gold, erp) = futures::try_join!(
            store.scan_shards(&GOLD_QUEUE, shards, Range::all(1)),
            store.scan_shards(&ERP_QUEUE, shards, Range::all(1)),
        )?;
        let gold = gold.into_iter().map(|(shard, ..)| shard);
        let waiting: BTreeSet<Shard> = gold.chain(erp.into_iter().map(|(shard, ..)| shard)).collect();
        let piece = |shard| Piece { shard, owner: String::new(), key: (), long: false };
        Ok(Due { pieces: waiting.into_iter().map(piece).collect(), ..Due::default() })
    }

    async fn run(&self, shard: Shard, (): &()) -> Result<Done> {
        let after = self.cursors.lock().unwrap_or_else(PoisonError::into_inner).remove(&shard);
        let next = drain(&self.silver, shard, after.as_ref()).await?;
        let is_more = next.is_some() || after.is_some();
        if let Some(next) = next {
            self.cursors.lock().unwrap_or_else(PoisonError::into_inner).insert(shard, next);
        }
        Ok(if is_more { Done::More } else { Done::Finished })
    }
}

/// Makes a page of gold, and tells ERP of what has its gold.
async fn drain(silver: &Silver, shard: Shard, after: Option<&Key>) -> Result<Option<Key>> {
    match drain_by(silver, shard, after, &silver.settings()).await {
        Err(Error::OlderRules { .. }) => {
            let newest = silver.read_settings().await?;
            drain_by(silver, shard, after, &newest).await
        }
        drained => drained,
    }
}

async fn drain_by(
    silver: &Silver,
    shard: Shard,
    after: Option<&Key>,
    settings: &Settings,
) -> Result<Option<Key>> {
    let now = silver.united.clock.now();
    let body = async |tx: &mut Tx| {
        silver.united.cluster.check(tx, ROLE).await?;
        gold::requeue::check_rules(tx, settings.gold_version).await?;
        gold::work::work_off(tx, &settings.gold, after, KEYS_AT_ONCE, now).await
    };
    silver.united.store.transact(shard, body).await
}

/// Cuts that may pass since a setting changed.
pub struct Reopened(pub Silver);

#[async_trait]
impl Work for Reopened {
    type Key = ();
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("silver cuts", ROLE, CHANNEL, 1)
    }

    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<()>> {
        let store = &self.0.united.store;
        let settings = self.0.settings();
        let filled = store.scan_shards(&CUTS, shards, Range::all(1)).await?;
        let rows = store.scan_shards(&SETTINGS_WALKS, shards, Range::prefix((CUTS_WALK,), 1)?).await?;
        let walked: BTreeMap<Shard, i64> =
            rows.into_iter().map(|(shard, _, row)| (shard, row.settings_version)).collect();
        let mut due = Due::default();
        let settled = Timestamp(settings.changed_at).plus(SETTLED_AFTER);
        for (shard, ..) in filled {
            if walked.get(&shard).is_some_and(|version| *version >= settings.version) {
                continue;
            }
            if settled > now {
                due.later.push((shard, settled));
            } else {
                due.pieces.push(Piece { shard, owner: String::new(), key: (), long: false });
            }
        }
        Ok(due)
    }

    async fn run(&self, shard: Shard, (): &()) -> Result<Done> {
        reopen(&self.0, shard).await
    }
}

async fn reopen(silver: &Silver, shard: Shard) -> Result<Done> {
    let (settings, now) = (silver.settings(), silver.united.clock.now());
    let body = async |tx: &mut Tx| {
        silver.united.cluster.check(tx, ROLE).await?;
        let row = tx.get(&SETTINGS_WALKS, (CUTS_WALK,)).await?.unwrap_or_default();
        let after = (row.walking_version == settings.version && row.after_business != 0)
            .then(|| Key { business: row.after_business, shop_sku: row.after_shop_sku.clone() });
        let next = reopen_cuts(tx, &settings.import, after.as_ref(), KEYS_AT_ONCE, now).await?;
        let is_more = next.is_some();
        let row = match next {
            Some(Key { business, shop_sku }) => SettingsWalkRow {
                settings_version: row.settings_version,
                walking_version: settings.version,
                after_business: business,
                after_shop_sku: shop_sku,
            },
            None => SettingsWalkRow { settings_version: settings.version, ..SettingsWalkRow::default() },
        };
        tx.put(&SETTINGS_WALKS, (CUTS_WALK,), &row)?;
        Ok::<_, Error>(if is_more { Done::More } else { Done::Finished })
    };
    silver.united.store.transact(shard, body).await
}

/// Records that were removed long ago, and those of a source that no import writes.
pub struct Purge(pub Silver);

fn records() -> Walk<'static> {
    Walk::over_all("silver.purge", KEYS_AT_ONCE, PURGE_EVERY)
}

#[async_trait]
impl Work for Purge {
    type Key = ();
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("silver purge", ROLE, "silver.purge", 1)
    }

    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<()>> {
        Ok(walk::due(&self.0.united.store, &SSKU, &records(), shards, now).await?)
    }

    async fn run(&self, shard: Shard, (): &()) -> Result<Done> {
        purge(&self.0, shard).await
    }
}

async fn purge(silver: &Silver, shard: Shard) -> Result<Done> {
    let now = silver.united.clock.now();
    let body = async |tx: &mut Tx| {
        silver.united.cluster.check(tx, ROLE).await?;
        let Some(page) = walk::step(tx, &SSKU, &records(), now).await? else { return Ok(Done::Finished) };
        for (key, row) in page.rows {
            if is_purged(&key, &row, now) {
                tx.delete(&SSKU, key)?;
            }
        }
        Ok::<_, Error>(if page.ended { Done::Finished } else { Done::More })
    };
    silver.united.store.transact(shard, body).await
}
