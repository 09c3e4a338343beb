//! How many rows the queues of a stage have, changed in the transactions that change the queues.

use std::collections::BTreeMap;

use store::{Read as _, Tx};
use wire::stages::CountRow;

use super::tables::COUNTS;
use crate::Result;

/// What a transaction adds to the counts, by stage and lane.
#[derive(Default)]
pub(super) struct Counts(BTreeMap<(String, u32), CountRow>);

impl Counts {
    pub(super) fn of(&mut self, stage: &str, lane: u32) -> &mut CountRow {
        self.0.entry((stage.to_owned(), lane)).or_default()
    }

    /// Adds up; a count of nothing has no row.
    pub(super) async fn finish(self, tx: &mut Tx) -> Result<()> {
        let deltas: Vec<_> = self.0.into_iter().filter(|(_, delta)| *delta != CountRow::default()).collect();
        let keys = deltas.iter().map(|((stage, lane), _)| (stage.as_str(), *lane));
        let stored = tx.get_many(&COUNTS, keys).await?;
        for (((stage, lane), delta), count) in deltas.iter().zip(stored) {
            let count = count.unwrap_or_default();
            let sum = CountRow {
                waiting: count.waiting + delta.waiting,
                parked: count.parked + delta.parked,
                failing: count.failing + delta.failing,
            };
            let key = (stage.as_str(), *lane);
            if sum == CountRow::default() {
                tx.delete(&COUNTS, key)?;
            } else {
                tx.put(&COUNTS, key, &sum)?;
            }
        }
        Ok(())
    }
}
