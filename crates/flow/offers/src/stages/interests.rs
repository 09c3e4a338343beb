//! Which changes any stage cares for, as every writer of offers knows it from memory.
//!
//! Masks are at most [`MAX_AGE`] old; a process that could not read the registry for so long takes every change for
//! wanted, which costs rows and loses nothing. The walk of a new or widened stage begins after that age, so no change
//! falls between a writer's old masks and the walk.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use store::{Range, Read as _, Store};
use tokio::time::Instant;
use wire::stages::RegistryRow;

use super::tables::{REGISTRY, registry_shard};
use crate::Result;

/// The registry is read anew after this.
pub const REFRESH: Duration = Duration::from_secs(4);
/// Masks older than this are not relied on.
pub const MAX_AGE: Duration = Duration::from_secs(9);
/// Most stages that there may be.
pub const MAX_STAGES: usize = 256;

/// The masks of a process. Clones share them.
#[derive(Clone, Default)]
pub struct Interests(Arc<RwLock<View>>);

#[derive(Default)]
struct View {
    masks: Arc<Masks>,
    /// `None`: this process has nothing to do with stages.
    read_at: Option<Instant>,
}

/// What the stages cared for at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Masks {
    stages: Vec<(String, Vec<String>)>,
    paused: Vec<String>,
    /// The masks are too old: everything counts as wanted.
    unknown: bool,
}

impl Interests {
    /// As they are now, for one transaction.
    pub fn masks(&self) -> Arc<Masks> {
        let view = self.0.read().unwrap_or_else(PoisonError::into_inner);
        match view.read_at {
            Some(at) if at.elapsed() > MAX_AGE => Arc::new(Masks { unknown: true, ..(*view.masks).clone() }),
            _ => view.masks.clone(),
        }
    }

    /// Reads the registry, and gives it.
    pub async fn refresh(&self, store: &Store) -> Result<Vec<(String, RegistryRow)>> {
        let asked_at = Instant::now();
        let snapshot = store.snapshot(registry_shard()).await?;
        let rows = snapshot.scan(&REGISTRY, Range::all(MAX_STAGES)).await?;
        let rows: Vec<_> = rows.into_iter().map(|((stage,), row)| (stage, row)).collect();
        self.set(&rows, asked_at);
        Ok(rows)
    }

    fn set(&self, rows: &[(String, RegistryRow)], asked_at: Instant) {
        let masks = Masks::of(rows);
        let mut view = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if view.read_at.is_none_or(|at| at <= asked_at) {
            *view = View { masks: Arc::new(masks), read_at: Some(asked_at) };
        }
    }
}

impl Masks {
    pub fn of(rows: &[(String, RegistryRow)]) -> Self {
        let told = rows.iter().filter(|(_, row)| is_told(row));
        let paused = rows.iter().filter(|(_, row)| row.paused_at != 0);
        Self {
            stages: told.map(|(stage, row)| (stage.clone(), row.masks.clone())).collect(),
            paused: paused.map(|(stage, _)| stage.clone()).collect(),
            unknown: false,
        }
    }

    /// Whether no change can be wanted by anybody.
    pub(crate) fn is_empty(&self) -> bool {
        self.stages.is_empty() && !self.unknown
    }

    /// Whether a stage other than `by` cares for one of these paths (`None`: for anything of the offer).
    pub fn wants<'p>(&self, by: &str, paths: Option<impl Iterator<Item = &'p str> + Clone>) -> bool {
        let others = || self.stages.iter().filter(|(stage, _)| stage != by);
        self.unknown
            || match paths {
                None => others().next().is_some(),
                Some(paths) => others().any(|(_, masks)| paths.clone().any(|path| meets(masks, path))),
            }
    }

    pub fn is_paused(&self, stage: &str) -> bool {
        self.paused.iter().any(|paused| paused == stage)
    }
}

/// Whether changes are told to the stage as they happen; else it owes them.
pub fn is_told(row: &RegistryRow) -> bool {
    row.paused_at == 0 && row.suspended_at == 0 && row.removed_at == 0 && !row.untold
}

/// Whether a mask meets a changed path: one is the other, or lies below it. No masks: every path.
pub fn meets(masks: &[String], path: &str) -> bool {
    let below = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    masks.is_empty() || masks.iter().any(|mask| below(mask, path) || below(path, mask))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(masks: &[&str]) -> RegistryRow {
        RegistryRow { masks: masks.iter().map(ToString::to_string).collect(), ..RegistryRow::default() }
    }

    #[test]
    fn masks_meet_themselves_and_what_lies_below() {
        let check = |masks: &[&str], path: &str, expected: bool| {
            assert_eq!(meets(&row(masks).masks, path), expected, "{masks:?} and {path}");
        };
        check(&[], "price", true);
        check(&["price"], "price", true);
        check(&["price"], "price_list", false);
        check(&["attributes"], "attributes.color", true);
        check(&["attributes.color"], "attributes.color", true);
        check(&["attributes.color"], "attributes.colors", false);
        check(&["attributes.color"], "attributes", true);
        check(&["title", "status"], "status", true);
    }

    #[test]
    fn a_stage_is_not_told_of_its_own_change_nor_while_it_owes() {
        let paused = RegistryRow { paused_at: 1, ..row(&[]) };
        let owing = RegistryRow { suspended_at: 1, ..row(&[]) };
        let rows = [("a".to_owned(), row(&["price"])), ("b".into(), paused), ("c".into(), owing)];
        let masks = Masks::of(&rows);
        let wants = |by: &str, path: &str| masks.wants(by, Some([path].into_iter()));
        assert!(wants("", "price") && wants("b", "price"));
        assert!(!wants("a", "price") && !wants("", "title"));
        assert!(masks.wants("", None::<std::iter::Empty<&str>>));
        assert!(!masks.wants("a", None::<std::iter::Empty<&str>>));
        assert!(masks.is_paused("b") && !masks.is_paused("a"));
    }

    #[tokio::test(start_paused = true)]
    async fn old_masks_take_everything_for_wanted() {
        let interests = Interests::default();
        assert!(interests.masks().is_empty(), "a process without stages writes no row for them");
        interests.set(&[], Instant::now());
        assert!(interests.masks().is_empty());
        tokio::time::advance(MAX_AGE + Duration::from_secs(1)).await;
        assert!(interests.masks().wants("", Some(["title"].into_iter())));
    }
}
