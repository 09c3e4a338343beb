//! What time does to offers: the active expire, and those that ended long ago leave for the archive.
//!
//! Every offer that time will touch has a row in `due`, kept by [`crate::changes`]. The holder of a shard's work token in
//! role [`ROLE`] takes the rows that are due and looks at each offer again in the transaction that acts: a row that is too
//! early by the settings of today is written anew, one without an offer goes.
//!
//! Expiry acts as the stage `expire`: it is signed by it, told in the lane of timers, and while that stage is paused the
//! rows are put off. Its timer is the offer's own due row; there is no second one.
//!
//! Expiry is prompt. The archive is not: every batch makes a file, so offers of a shard become due for it together, once a
//! day ([`archive_moment`]), each shard at its own time of the day.

use std::time::Duration;

use async_trait::async_trait;
use cluster::work::{Done, Due, Piece, Plan, Work};
use kit::Timestamp;
use model::{Offer, OfferId, Status};
use store::{Range, Read as _, SHARDS, Shard, Tx};
use wire::offers::{Actor, actor};

use crate::changes::Changes;
use crate::read::find_many;
use crate::stages::{EXPIRE, Lane};
use crate::tables::DUE;
use crate::{DUE_CHANNEL, Error, Offers, Result, archive};

pub const ROLE: &str = "offers-scheduler";
/// Offers that leave for the archive together.
pub const BATCH: usize = 512;
/// Bytes of a batch; each offer may have 100 kB.
const BATCH_BYTES: usize = 16 << 20;
const ROWS_AT_ONCE: usize = 100;
/// Shards whose offers are dealt with side by side.
const AT_ONCE: usize = 4;
/// Wake-ups are gathered this long: a row that was just written is rarely due at once.
const GATHER: Duration = Duration::from_secs(1);
/// While expiry is paused, what is due is looked at again after this.
const PAUSED: Duration = Duration::from_secs(600);
const DAY: Duration = Duration::from_secs(86_400);

/// The time's own signature.
pub fn by_time(reason: &str) -> Actor {
    Actor { kind: actor::Kind::System.into(), who: String::new(), task_id: 0, reason: reason.to_owned() }
}

/// The signature of the stage that expires offers.
fn by_expiry() -> Actor {
    Actor {
        kind: actor::Kind::Stage.into(),
        who: EXPIRE.to_owned(),
        task_id: 0,
        reason: "expired".to_owned(),
    }
}

/// When an offer that may leave from `at` on does leave: at the next of its shard's moments, one a day.
pub fn archive_moment(at: Timestamp, id: i64) -> Timestamp {
    let day = DAY.as_micros() as i64;
    let shard = OfferId::from_raw(id).map_or(0, OfferId::shard);
    let offset = day / i64::from(SHARDS) * i64::from(shard);
    let days = (at.0 - offset).div_euclid(day) + i64::from((at.0 - offset).rem_euclid(day) != 0);
    Timestamp(days * day + offset)
}

/// What a turn did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    pub expired: usize,
    pub archived: usize,
    pub rewritten: usize,
}

/// Shards with offers that time touches.
pub struct DueOffers(pub Offers);

#[async_trait]
impl Work for DueOffers {
    type Key = ();
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan { gather: GATHER, ..Plan::new("due offers", ROLE, DUE_CHANNEL, AT_ONCE) }
    }

    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<()>> {
        let mut due = Due::default();
        for (shard, (at, _), ()) in self.0.store.scan_shards(&DUE, shards, Range::all(1)).await? {
            if at <= now.0 {
                due.pieces.push(Piece { shard, owner: String::new(), key: (), long: false });
            } else {
                due.later.push((shard, Timestamp(at)));
            }
        }
        Ok(due)
    }

    async fn run(&self, shard: Shard, (): &()) -> Result<Done> {
        take_turn(&self.0, shard).await?;
        Ok(Done::Finished)
    }
}

/// Deals with all rows of a shard that are due now.
pub async fn take_turn(offers: &Offers, shard: Shard) -> Result<Turn> {
    let now = offers.clock.now();
    let (mut turn, mut passed, mut leaving) = (Turn::default(), None, Vec::new());
    loop {
        let mut range = Range::all(ROWS_AT_ONCE).up_to((now.0,))?;
        if let Some(passed) = passed {
            range = range.after(passed)?;
        }
        let rows = offers.store.snapshot(shard).await?.scan(&DUE, range).await?;
        let due: Vec<_> = rows.into_iter().map(|(key, ())| key).collect();
        if !due.is_empty() {
            let page = async |tx: &mut Tx| page_of(tx, offers, &due, now).await;
            let (did, ended) = offers.store.transact(shard, page).await?;
            turn.expired += did.expired;
            turn.rewritten += did.rewritten;
            leaving.extend(ended);
            passed = due.last().copied();
        }
        let is_last = due.len() < ROWS_AT_ONCE;
        if leaving.len() >= BATCH || (is_last && !leaving.is_empty()) {
            turn.archived += archive_rows(offers, shard, std::mem::take(&mut leaving)).await?;
        }
        if is_last {
            return Ok(turn);
        }
    }
}

/// Expires what must, corrects rows, and gives the rows of those that are for the archive.
async fn page_of(
    tx: &mut Tx,
    offers: &Offers,
    rows: &[(i64, i64)],
    now: Timestamp,
) -> Result<(Turn, Vec<(i64, i64)>)> {
    offers.cluster.check(tx, ROLE).await?;
    let (mut done, mut ended) = (Turn::default(), Vec::new());
    let row_ids: Vec<_> = rows.iter().map(|(_, id)| *id).collect();
    let found = find_many(tx, &row_ids).await?;
    let is_paused = offers.interests.masks().is_paused(EXPIRE);
    let mut changes = Changes::new(offers, now).in_lane(Lane::Timers);
    for (row, offer) in rows.iter().zip(found) {
        let Some(offer) = offer.filter(|offer| offer.due_at == row.0) else {
            tx.delete(&DUE, *row)?;
            done.rewritten += 1;
            continue;
        };
        let due_at = changes.due_at(&offer);
        if due_at == 0 || due_at > now.0 {
            changes.save(tx, Some(&offer), offer.clone(), &by_time("due"))?;
            done.rewritten += 1;
        } else if offer.status() == Status::Active && is_paused {
            changes.postpone(tx, &offer, PAUSED)?;
            done.rewritten += 1;
        } else if offer.status() == Status::Active {
            let mut after = offer.clone();
            after.set_status(Status::Expired);
            changes.save(tx, Some(&offer), after, &by_expiry())?;
            done.expired += 1;
        } else {
            ended.push(*row);
        }
    }
    changes.finish(tx).await?;
    Ok((done, ended))
}

/// Moves the offers of these rows, as many at a time as a batch may have.
async fn archive_rows(offers: &Offers, shard: Shard, mut rows: Vec<(i64, i64)>) -> Result<usize> {
    let mut archived = 0;
    while !rows.is_empty() {
        let snapshot = offers.store.snapshot(shard).await?;
        let (mut batch, mut bytes, mut taken) = (Vec::<Offer>::new(), 0_usize, 0);
        for page in rows.chunks(ROWS_AT_ONCE) {
            let row_ids: Vec<_> = page.iter().map(|(_, id)| *id).collect();
            let found = find_many(&snapshot, &row_ids).await?;
            let still =
                page.iter().zip(found).filter_map(|((at, _), offer)| offer.filter(|o| o.due_at == *at));
            batch.extend(still);
            taken += page.len();
            bytes = batch.iter().map(prost::Message::encoded_len).sum();
            if bytes >= BATCH_BYTES || taken >= BATCH {
                break;
            }
        }
        drop(snapshot);
        let count = batch.len();
        let left = archive::leave(offers, shard, batch).await?;
        rows.drain(..taken);
        archived += left.archived;
        tracing::info!(
            shard = shard.number(),
            count,
            bytes,
            archived = left.archived,
            "offers left for the archive"
        );
    }
    Ok(archived)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_of_a_shard_leave_together_once_a_day() {
        let day = DAY.as_micros() as i64;
        for shard in [0, 1, 1_023] {
            let id = OfferId::new(shard, 7).raw();
            let moment = archive_moment(Timestamp(10 * day + 5), id);
            assert!(moment.0 >= 10 * day + 5 && moment.0 < 11 * day + 5);
            assert_eq!(archive_moment(moment, id), moment, "a moment is its own");
            assert_eq!(archive_moment(Timestamp(moment.0 + 1), id).0, moment.0 + day);
        }
        let other = |shard| archive_moment(Timestamp(0), OfferId::new(shard, 7).raw());
        assert_ne!(other(1), other(2), "not all shards at once");
    }
}
