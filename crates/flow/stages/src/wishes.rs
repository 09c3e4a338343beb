//! T1 in the main lane: what changed is told to the stages, and what they want is queued.
//!
//! ```text
//! outside: snapshot of `changed`, offers and pairs ─▶ should_process of every stage concerned
//! T1:      work token, pairs as they are now: queue, timers, pairs, counts; `changed` goes
//! ```
//!
//! A crash before T1 leaves the rows of `changed`, and the stages are asked again. There is no check of versions: an
//! offer that changed meanwhile has a row of its own. A stage that cannot be asked gets the offer queued all the same.

use std::collections::BTreeMap;

use kit::Timestamp;
use model::Offer;
use offers::stages::tables::{CHANGED, PAIRS, QUEUE};
use offers::stages::{Lane, Pairs};
use offers::tables::{CONTENT, OFFER};
use store::{Encode as _, Range, Read as _, Shard, Tx};

use crate::ask::{Concerns, RowKey, Said, ask_all, concerns, first_offers, next_rows, wanted};
use crate::item::load;
use crate::stage::Answer;
use crate::{Done, ROLE, Result, Stages, pair};

/// Offers told at a time.
const OFFERS_AT_ONCE: usize = 200;

/// Something a stage wants, and whose offer it is.
struct Wish {
    offer: i64,
    stage: String,
    seller: String,
    answer: Answer,
    outside: bool,
}

impl Stages {
    /// Tells the stages of the next changes in the main lane.
    pub(crate) async fn tell(&self, shard: Shard) -> Result<Done> {
        let now = self.offers.clock.now();
        let snapshot = self.offers.store.snapshot(shard).await?;
        let rows = next_rows(self, &snapshot, shard, Lane::Main, OFFERS_AT_ONCE).await?;
        if rows.is_empty() {
            return Ok(Done::Nothing);
        }
        let entries = self.directory.entries();
        let offers = first_offers(&rows, usize::MAX);
        let concerns = concerns(&rows, &offers, &entries);
        let items = load(&snapshot, &wanted(&concerns)).await?;
        drop(snapshot);
        let said = ask_all(self, &entries, &items, &concerns, (Lane::Main, now)).await;
        let sellers: BTreeMap<_, _> = items.iter().map(|item| (item.id, &item.current)).collect();
        let wishes = self.wishes(said, &sellers, &concerns);
        let keys: Vec<_> = rows.into_iter().map(|(key, _)| key).collect();
        let write = async |tx: &mut Tx| self.write_wishes(tx, &wishes, &keys, now).await;
        self.offers.store.transact(shard, write).await?;
        Ok(Done::Worked)
    }

    fn wishes(
        &self,
        said: BTreeMap<(i64, String), Said>,
        sellers: &BTreeMap<i64, &Offer>,
        concerns: &Concerns,
    ) -> Vec<Wish> {
        let wish = |((offer, stage), said): ((i64, String), Said)| {
            let outside = concerns[&offer][&stage].outside;
            if outside {
                self.memory.changed_outside(&stage, offer);
            }
            let answer = match said {
                Said::Answer(answer) => answer,
                Said::Nothing => Answer::Yes,
            };
            Wish { offer, stage, seller: sellers[&offer].seller_id.clone(), answer, outside }
        };
        said.into_iter().map(wish).collect()
    }

    async fn write_wishes(
        &self,
        tx: &mut Tx,
        wishes: &[Wish],
        keys: &[RowKey],
        now: Timestamp,
    ) -> Result<()> {
        self.offers.cluster.check(tx, ROLE).await?;
        let stored = tx.get_many(&PAIRS, wishes.iter().map(|wish| (wish.offer, wish.stage.as_str()))).await?;
        let there = exist(tx, wishes).await?;
        let mut heads = BTreeMap::new();
        let mut pairs = Pairs::default();
        for ((wish, before), there) in wishes.iter().zip(stored).zip(there) {
            // Only answers that do nothing to a pair which is not there need nothing else.
            if !there || (wish.answer == Answer::No && before.is_none()) {
                continue;
            }
            let head = match heads.get(&wish.stage) {
                Some(head) => *head,
                None => head(tx, &wish.stage).await?,
            };
            let old = before.clone().unwrap_or_default();
            let waits = old.queued_at != 0;
            let will_wait = pair::asked(&old, wish.answer, wish.outside, now, 0).queued_at != 0;
            let turn = if waits || !will_wait {
                0
            } else {
                self.memory.turn(tx.shard(), &wish.stage, &wish.seller, head)
            };
            heads.insert(
                wish.stage.clone(),
                if waits || !will_wait { head } else { Some(head.unwrap_or(turn)) },
            );
            let after = pair::asked(&old, wish.answer, wish.outside, now, turn);
            pairs.keep(tx, (wish.offer, &wish.stage), before.as_ref(), &after)?;
        }
        pairs.finish(tx).await?;
        for key in keys {
            tx.delete(&CHANGED, key)?;
        }
        Ok(())
    }
}

/// The first turn in the stage's queue.
pub(crate) async fn head(tx: &Tx, stage: &str) -> Result<Option<i64>> {
    let first = tx.scan(&QUEUE, Range::prefix((stage,), 1)?).await?;
    Ok(first.first().map(|((_, turn, _), _)| *turn))
}

/// Which of the wishes' offers still exist: one that left for the archive meanwhile gets no pair.
async fn exist(tx: &Tx, wishes: &[Wish]) -> Result<Vec<bool>> {
    let keys = wishes.iter().map(|wish| (wish.offer, CONTENT).encode()).collect::<store::Result<Vec<_>>>()?;
    Ok(tx.get_many_raw(tx.id(&OFFER)?, keys).await?.iter().map(Option::is_some).collect())
}
