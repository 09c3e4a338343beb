//! Changes in the lanes without a queue (timers, bulk, low): the runs follow the asking at once.
//!
//! All stages of this program that want an offer run one after another on what was loaded once, and are saved together.
//! A stage of another program is only asked: its runs are noted as owed, among its timers, and follow on their own, so
//! that a slow one keeps nobody waiting. A row of `changed` goes only in the transaction that saves or notes every run of
//! it; offers that are busy or conflict stay in the row. A crash repeats the runs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kit::Timestamp;
use offers::stages::Lane;
use offers::stages::tables::CHANGED;
use store::{Shard, Tx};
use wire::stages::ChangedRow;

use crate::ask::{Concerns, RowKey, Said, ask, ask_all, concerns, first_offers, next_rows, wanted};
use crate::directory::Entry;
use crate::item::{self, Item};
use crate::pair::{self, Cause};
use crate::run::Processed;
use crate::stage::Answer;
use crate::turns::BATCH;
use crate::{Done, ROLE, Result, Stages, metrics};

/// Runs of a stage that is not available are tried again after this.
const NOT_AVAILABLE: Duration = Duration::from_secs(10);

impl Stages {
    /// The next changes of a lane, of a few sellers in turn.
    pub(crate) async fn follow(&self, shard: Shard, lane: Lane) -> Result<Done> {
        let now = self.offers.clock.now();
        let snapshot = self.offers.store.snapshot(shard).await?;
        let rows = next_rows(self, &snapshot, shard, lane, BATCH).await?;
        if rows.is_empty() {
            return Ok(Done::Nothing);
        }
        let offers = first_offers(&rows, BATCH);
        let mut concerns = concerns(&rows, &offers, &self.directory.entries());
        let busy = self.memory.take(shard, concerns.keys().copied(), BATCH);
        let late: BTreeSet<_> = concerns.keys().copied().filter(|id| !busy.has(*id)).collect();
        concerns.retain(|id, _| !late.contains(id));
        if late.len() == offers.len() {
            return Ok(Done::NotNow);
        }
        let mut items = item::load(&snapshot, &wanted(&concerns)).await?;
        drop(snapshot);
        self.run_all(shard, lane, &mut items, &concerns, now).await?;
        let saved_at = self.offers.clock.now();
        let save = async |tx: &mut Tx| {
            self.offers.cluster.check(tx, ROLE).await?;
            let conflicts = item::save(tx, self, lane, &items, saved_at).await?;
            let left: BTreeSet<_> = late.iter().copied().chain(conflicts).collect();
            take_out(tx, &rows, |id| !offers.contains(&id) || left.contains(&id))?;
            Ok::<_, crate::Error>(())
        };
        self.offers.store.transact(shard, save).await?;
        Ok(Done::Worked)
    }

    /// Asks the stages one after another and runs those that want it.
    pub(crate) async fn run_all(
        &self,
        shard: Shard,
        lane: Lane,
        items: &mut [Item],
        concerns: &Concerns,
        now: Timestamp,
    ) -> Result<()> {
        let entries = self.directory.entries();
        // Other programs are asked all at the same time; what the stages here then change is told to them as a change.
        let remote: Vec<_> = entries.iter().filter(|entry| !entry.is_local).cloned().collect();
        let mut answered = ask_all(self, &remote, items, concerns, (lane, now)).await;
        for entry in entries.iter() {
            let said: BTreeMap<_, _> = if entry.is_local {
                ask(self, entry, items, concerns, (lane, now)).await.into_iter().collect()
            } else {
                answered.extract_if(.., |(_, stage), _| *stage == entry.id).collect()
            };
            let mut places = Vec::new();
            for (place, item) in items.iter_mut().enumerate() {
                let Some(said) = said.get(&(item.id, entry.id.clone())) else { continue };
                let outside = concerns[&item.id][&entry.id].outside;
                if self.note(entry, item, *said, outside, now) {
                    places.push(place);
                }
            }
            if places.is_empty() {
                continue;
            }
            match self.process(shard, entry, items, &places, (lane, Cause::Change), now).await? {
                Processed::Settled => metrics::ran(&entry.id, lane, places.len(), 0),
                Processed::Unavailable | Processed::TimedOut => {
                    for place in places {
                        let later = now.plus(NOT_AVAILABLE);
                        let owed = pair::owed(items[place].pair(&entry.id), true, later);
                        items[place].set_pair(&entry.id, owed);
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes what the stage said in the item's pair; says whether it is to run now.
    fn note(&self, entry: &Entry, item: &mut Item, said: Said, outside: bool, now: Timestamp) -> bool {
        if outside {
            self.memory.changed_outside(&entry.id, item.id);
        }
        let before = item.pair(&entry.id).clone();
        let waits = before.retry_at != 0 || before.parked_at != 0;
        let wanted = match said {
            Said::Answer(Answer::Yes) | Said::Nothing => true,
            Said::Answer(Answer::No) => before.parked_at != 0 && outside,
            Said::Answer(answer @ (Answer::At(_) | Answer::Clear)) => {
                item.set_pair(&entry.id, pair::asked(&before, answer, false, now, 0));
                before.parked_at != 0 && outside
            }
        };
        // What failed before is left to its own retry, unless something changed from outside.
        if !wanted || (waits && !outside) {
            return false;
        }
        if entry.is_local && entry.may_run() {
            let fresh =
                if waits { pair::dropped(item.pair(&entry.id)) } else { item.pair(&entry.id).clone() };
            item.set_pair(&entry.id, fresh);
            return true;
        }
        let owed = pair::owed(item.pair(&entry.id), outside, now);
        item.set_pair(&entry.id, owed);
        false
    }
}

/// Rewrites the rows without the offers that are dealt with.
fn take_out(tx: &mut Tx, rows: &[(RowKey, ChangedRow)], is_left: impl Fn(i64) -> bool) -> Result<()> {
    for (key, row) in rows {
        let mut rest = row.clone();
        rest.offers.retain(|change| is_left(change.offer_id));
        if rest.offers.is_empty() {
            tx.delete(&CHANGED, key)?;
        } else if rest.offers.len() < row.offers.len() {
            tx.put(&CHANGED, key, &rest)?;
        }
    }
    Ok(())
}
