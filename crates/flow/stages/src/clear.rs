//! The end of a stage: its pairs go, page by page, and then its row in the registry. Until then its id is taken.

use std::collections::BTreeSet;

use offers::stages::tables::{
    CALLERS, CALLS_DUE, CALLS_PARKED, PAIRS, REGISTRY, STAGE_WALKS, registry_shard,
};
use offers::stages::{Pairs, callers};
use store::{Range, Read as _, Shard, Tx};
use wire::stages::{PairRow, RegistryRow, WalkRow};

use crate::directory::Entry;
use crate::{Done, Error, ROLE, Result, Stages};

/// Pairs looked at in one transaction.
const PAGE: usize = 500;
/// Callers of saves, each with up to 500 of them.
const CALLERS_PAGE: usize = 10;

impl Stages {
    /// Takes a stage of another program out.
    pub async fn remove(&self, id: &str) -> Result<RegistryRow> {
        self.change(id, |row, now| {
            if row.address.is_empty() {
                return Err(Error::Conflict(format!("{id:?} comes with the program; pause it instead")));
            }
            row.removed_at = now.0;
            row.walk = None;
            Ok(())
        })
        .await
    }

    /// Shards that may still have pairs of a stage that is being removed.
    pub(crate) async fn uncleared(&self, entry: &Entry, shards: &[Shard]) -> Result<Vec<Shard>> {
        let store = &self.offers.store;
        let rows = store.scan_shards(&STAGE_WALKS, shards, Range::prefix((entry.id.as_str(),), 1)?).await?;
        let removed_at = entry.row.removed_at;
        let cleared =
            rows.into_iter().filter(|(_, _, row)| row.generation == -removed_at && row.done_at != 0);
        let cleared: BTreeSet<Shard> = cleared.map(|(shard, _, _)| shard).collect();
        let rest: Vec<_> = shards.iter().copied().filter(|shard| !cleared.contains(shard)).collect();
        let pairs = store.scan_shards(&PAIRS, &rest, Range::all(1)).await?;
        let callers = store.scan_shards(&CALLERS, &rest, Range::all(1)).await?;
        let filled = pairs.into_iter().map(|(shard, _, _)| shard);
        let filled: BTreeSet<_> = filled.chain(callers.into_iter().map(|(shard, _, _)| shard)).collect();
        Ok(filled.into_iter().collect())
    }

    /// The next page of pairs of a stage that is being removed.
    pub(crate) async fn clear(&self, shard: Shard, entry: &Entry) -> Result<Done> {
        let (id, removed_at) = (entry.id.as_str(), entry.row.removed_at);
        if removed_at == 0 {
            return Ok(Done::Nothing);
        }
        let now = self.offers.clock.now();
        let clear = async |tx: &mut Tx| {
            self.offers.cluster.check(tx, ROLE).await?;
            if self.clear_calls(tx, id).await? {
                return Ok(Done::Worked);
            }
            // A walk's generation is never negative, so the two cannot be taken for each other.
            let stored = tx.get(&STAGE_WALKS, (id,)).await?.filter(|row| row.generation == -removed_at);
            let mut row = stored.unwrap_or(WalkRow { generation: -removed_at, ..WalkRow::default() });
            let page = tx.scan(&PAIRS, Range::all(PAGE).from((row.last_offer,))?).await?;
            let mut pairs = Pairs::default();
            for ((offer, stage), pair) in page.iter().filter(|((_, stage), _)| stage == id) {
                pairs.keep(tx, (*offer, stage), Some(pair), &PairRow::default())?;
            }
            pairs.finish(tx).await?;
            // The last offer of a full page may have more pairs, so the next page begins with it.
            row.last_offer = page.last().map_or(row.last_offer, |((offer, _), _)| *offer);
            row.done_at = if page.len() < PAGE { now.0 } else { 0 };
            tx.put(&STAGE_WALKS, (id,), &row)?;
            Ok::<_, Error>(if row.done_at == 0 { Done::Worked } else { Done::Nothing })
        };
        self.offers.store.transact(shard, clear).await
    }

    /// A page of saves that the stage was not told of; says whether there was one.
    async fn clear_calls(&self, tx: &mut Tx, id: &str) -> Result<bool> {
        let due = tx.scan(&CALLS_DUE, Range::prefix((id,), CALLERS_PAGE)?).await?;
        let parked = tx.scan(&CALLS_PARKED, Range::prefix((id,), CALLERS_PAGE)?).await?;
        let offers = due.into_iter().map(|((_, _, offer), ())| offer);
        let keys: Vec<_> = offers
            .chain(parked.into_iter().map(|((_, offer), ())| offer))
            .map(|offer| (offer, id.to_owned()))
            .collect();
        let stored = tx.get_many(&CALLERS, keys.clone()).await?;
        let found: Vec<_> = keys.into_iter().zip(stored).filter_map(|(key, row)| Some((key, row?))).collect();
        callers::remove(tx, &found).await?;
        Ok(!found.is_empty())
    }

    /// Frees the ids of stages of which nothing is left.
    pub(crate) async fn end_removals(&self) -> Result<()> {
        let all: Vec<_> = Shard::all().collect();
        for entry in self.directory.entries().iter().filter(|entry| entry.row.removed_at != 0) {
            if !self.uncleared(entry, &all).await?.is_empty() {
                continue;
            }
            let id = entry.id.as_str();
            let range = Range::prefix((id,), 1)?;
            for (shard, _, _) in self.offers.store.scan_shards(&STAGE_WALKS, &all, range).await? {
                let forget = async |tx: &mut Tx| Ok::<_, Error>(tx.delete(&STAGE_WALKS, (id,))?);
                self.offers.store.transact(shard, forget).await?;
            }
            // Whoever registers the id again after it was freed has another row.
            let free = async |tx: &mut Tx| {
                let stored = tx.get(&REGISTRY, (id,)).await?;
                if stored.is_some_and(|row| row.removed_at == entry.row.removed_at) {
                    tx.delete(&REGISTRY, (id,))?;
                }
                Ok::<_, Error>(())
            };
            self.offers.store.transact(registry_shard(), free).await?;
            self.refresh().await?;
        }
        Ok(())
    }
}
