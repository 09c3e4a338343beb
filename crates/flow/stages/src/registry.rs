//! Which stages there are, and what those who run Dvor want of them.
//!
//! A row of the registry changes in one transaction of the registry's shard; every process has it in memory within
//! [`offers::stages::interests::MAX_AGE`]. So whatever must not be missed is made up for by a walk that begins
//! [`SETTLED`] after the change, when every writer of offers knows of it.

use std::time::Duration;

use kit::Timestamp;
use offers::stages::interests::MAX_STAGES;
use offers::stages::meets;
use offers::stages::tables::{REGISTRY, registry_shard};
use store::{Range, Read as _, Tx};
use wire::stages::{RegistryRow, Walk};

use crate::directory::Builtin;
use crate::{Error, Result, Stages};

/// When a change of the registry is known everywhere.
pub(crate) const SETTLED: Duration = Duration::from_secs(10);
/// How far the clocks of processes may be apart.
const SKEW: Duration = Duration::from_secs(60);

impl Stages {
    /// Enters the stages of this program, at every start. A new one, or one whose masks have widened, walks over all
    /// offers.
    pub async fn register(&self) -> Result<()> {
        let now = self.offers.clock.now();
        let register = async |tx: &mut Tx| {
            let stored = tx.scan(&REGISTRY, Range::all(MAX_STAGES)).await?;
            for builtin in &self.directory.builtins {
                let before = stored.iter().find(|((id,), _)| id == builtin.id).map(|(_, row)| row);
                let after = entered(builtin, before, now, self.settings.walk_per_second);
                if before != Some(&after) {
                    tx.put(&REGISTRY, (builtin.id,), &after)?;
                }
            }
            Ok::<_, Error>(())
        };
        self.offers.store.transact(registry_shard(), register).await?;
        self.refresh().await
    }

    /// Reads the registry: what this process tells, asks and runs follows it from now on.
    pub async fn refresh(&self) -> Result<()> {
        let rows = self.offers.interests.refresh(&self.offers.store).await?;
        self.directory.set(rows);
        Ok(())
    }

    /// From now on nothing runs and nothing is told; what changes meanwhile is owed.
    pub async fn pause(&self, id: &str) -> Result<RegistryRow> {
        self.change(id, |row, now| {
            if row.paused_at == 0 {
                row.paused_at = now.0;
                if !row.untold {
                    owe(row, now);
                }
            }
            Ok(())
        })
        .await
    }

    /// Goes on with what waits, and walks over what changed meanwhile.
    pub async fn resume(&self, id: &str) -> Result<RegistryRow> {
        let rate = self.settings.walk_per_second;
        self.change(id, |row, now| {
            if row.paused_at != 0 {
                row.paused_at = 0;
                if !row.untold {
                    catch_up(row, now, rate);
                }
            }
            Ok(())
        })
        .await
    }

    /// Changes a row, and lets this process know it at once.
    pub(crate) async fn change(
        &self,
        id: &str,
        change: impl Fn(&mut RegistryRow, Timestamp) -> Result<()> + Send + Sync,
    ) -> Result<RegistryRow> {
        let now = self.offers.clock.now();
        let write = async |tx: &mut Tx| {
            let row = tx.get(&REGISTRY, (id,)).await?.filter(|row| row.removed_at == 0);
            let before = row.ok_or_else(|| Error::NoStage(id.to_owned()))?;
            let mut after = before.clone();
            change(&mut after, now)?;
            if after != before {
                after.generation += 1;
                tx.put(&REGISTRY, (id,), &after)?;
            }
            Ok::<_, Error>(after)
        };
        let row = self.offers.store.transact(registry_shard(), write).await?;
        self.refresh().await?;
        Ok(row)
    }
}

/// The row of a built-in stage: what the program says, and what those who run it have changed since.
fn entered(builtin: &Builtin, before: Option<&RegistryRow>, now: Timestamp, rate: u32) -> RegistryRow {
    let masks: Vec<String> = builtin.masks.iter().map(ToString::to_string).collect();
    let Some(before) = before else {
        let mut row = RegistryRow {
            generation: 1,
            masks,
            saved: builtin.saved.into(),
            traverse_every_hours: builtin.traverse_every_hours,
            registered_at: now.0,
            untold: builtin.untold,
            revision: builtin.revision,
            ..RegistryRow::default()
        };
        if !builtin.untold {
            walk_all(&mut row, now, rate);
        }
        return row;
    };
    let mut row = before.clone();
    if before.masks != masks || before.saved != i32::from(builtin.saved) {
        let widened = is_wider(&masks, &before.masks);
        (row.masks, row.saved) = (masks, builtin.saved.into());
        row.generation += 1;
        if widened {
            walk_all(&mut row, now, rate);
        }
    }
    // A process of before, with an earlier one, changes nothing.
    if builtin.revision > before.revision {
        row.revision = builtin.revision;
        row.generation += 1;
        walk_all(&mut row, now, rate);
    }
    row
}

/// Whether some path meets the new masks and not the old ones.
pub(crate) fn is_wider(new: &[String], old: &[String]) -> bool {
    if old.is_empty() {
        return false;
    }
    new.is_empty() || new.iter().any(|path| !covers(old, path))
}

/// Whether every path below this one meets the masks.
fn covers(masks: &[String], path: &str) -> bool {
    meets(masks, path) && masks.iter().any(|mask| path == mask || path.starts_with(&format!("{mask}.")))
}

/// Changes are not told from now on.
pub(crate) fn owe(row: &mut RegistryRow, now: Timestamp) {
    if row.owes_since == 0 {
        row.owes_since = now.0;
    }
}

/// Orders the walk that makes up for what the stage owes. One that still has to look at more offers goes on from its
/// beginning instead.
pub(crate) fn catch_up(row: &mut RegistryRow, now: Timestamp, rate: u32) {
    let since = match &row.walk {
        Some(walk) if walk.done_at == 0 => row.owes_since.min(walk.since),
        _ => row.owes_since,
    };
    // Clocks of processes may differ a little.
    let since = Timestamp(since).minus(SKEW).0.max(0);
    order(row, since, now.plus(SETTLED), now, rate);
}

/// Orders a walk over all offers.
pub(crate) fn walk_all(row: &mut RegistryRow, now: Timestamp, rate: u32) {
    owe(row, now);
    order(row, 0, now.plus(SETTLED), now, rate);
}

/// A new walk, in the place of one that may be under way.
pub(crate) fn order(
    row: &mut RegistryRow,
    since: i64,
    not_before: Timestamp,
    now: Timestamp,
    per_second: u32,
) {
    let generation = row.walk.as_ref().map_or(0, |walk| walk.generation) + 1;
    row.walk = Some(Walk {
        generation,
        since,
        not_before: not_before.0,
        per_second,
        ordered_at: now.0,
        ..Walk::default()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_that_let_more_through_are_wider() {
        let check = |new: &[&str], old: &[&str], expected: bool| {
            let owned = |masks: &[&str]| masks.iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(is_wider(&owned(new), &owned(old)), expected, "{new:?} after {old:?}");
        };
        check(&["price"], &["price"], false);
        check(&["price"], &[], false);
        check(&[], &["price"], true);
        check(&["price", "title"], &["price"], true);
        check(&["attributes.color"], &["attributes"], false);
        check(&["attributes"], &["attributes.color"], true);
    }

    #[test]
    fn a_pause_within_a_walk_over_everything_leads_to_a_walk_over_everything() {
        let mut row = RegistryRow::default();
        walk_all(&mut row, Timestamp(100), 5);
        owe(&mut row, Timestamp(200));
        catch_up(&mut row, Timestamp(300), 5);
        let walk = row.walk.unwrap();
        assert_eq!((walk.generation, walk.since, row.owes_since), (2, 0, 100));
        if let Some(walk) = &mut row.walk {
            walk.done_at = 400;
        }
        row.owes_since = 0;
        owe(&mut row, Timestamp(500));
        catch_up(&mut row, Timestamp(600), 5);
        assert_eq!(row.walk.unwrap().since, Timestamp(500).minus(SKEW).0.max(0));
    }
}
