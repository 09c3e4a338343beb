//! Writes that are not in the base yet, laid over what the base says.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::Range;
use crate::engine::RawRow;
use crate::key::KeyBytes;
use crate::schema::TableId;

pub(crate) type Rows = BTreeMap<(TableId, KeyBytes), Option<Bytes>>;

/// The changes of one table within a range, newest value of each row.
#[derive(Default)]
pub(crate) struct Changes(BTreeMap<KeyBytes, Option<Bytes>>);

impl Changes {
    /// Adds a layer over those added before.
    pub(crate) fn add(&mut self, rows: &Rows, table: TableId, range: &Range) {
        let (from, to) = range.byte_bounds();
        for ((_, key), value) in rows
            .range((table, KeyBytes(from))..)
            .take_while(|((id, key), _)| *id == table && to.as_ref().is_none_or(|to| key.0 < *to))
        {
            self.0.insert(key.clone(), value.clone());
        }
    }

    /// How many rows to ask the base for so that enough are left when those deleted here are taken out.
    pub(crate) fn base_limit(&self, limit: usize) -> usize {
        limit.saturating_add(self.0.values().filter(|value| value.is_none()).count())
    }

    /// The base's rows (asked for with [`Self::base_limit`]) with the changes laid over them.
    pub(crate) fn over(self, base: Vec<RawRow>, range: &Range) -> Vec<RawRow> {
        if self.0.is_empty() {
            return base;
        }
        // A base that filled its limit keeps at least `range.limit` rows after the deletions, so cutting there also
        // cuts every change that lies behind base rows which were not read.
        let mut merged: BTreeMap<KeyBytes, Option<Bytes>> =
            base.into_iter().map(|(key, value)| (key, Some(value))).collect();
        merged.extend(self.0);
        let rows = merged.into_iter().filter_map(|(key, value)| value.map(|value| (key, value)));
        if range.reverse {
            let mut rows: Vec<_> = rows.collect();
            rows.reverse();
            rows.truncate(range.limit);
            rows
        } else {
            rows.take(range.limit).collect()
        }
    }
}
