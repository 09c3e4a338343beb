//! The way of a batch out of the tables; the steps are those of the module's essay.

use std::collections::BTreeMap;
use std::time::Duration;

use files::{Hash, Referrer};
use kit::Timestamp;
use model::Offer;
use store::{Range, Read as _, Shard, Tx};
use wire::offers::ArchiveFile;

use super::pipe::{self, Written};
use super::{ids, merge, month_of, new_referrer};
use crate::changes::Changes;
use crate::read::{find_many, is_fed};
use crate::tables::{ARCHIVE_FILES, EVENTS, OFFER};
use crate::{Offers, Result, due};

/// Offers that leave in one transaction.
const LEAVE_AT_ONCE: usize = 100;
/// Kinds or versions of an offer that go at a time.
const PARTS_AT_ONCE: usize = 1_000;
/// An offer that its feed still names is looked at again after this.
const STILL_FED: Duration = Duration::from_secs(30 * 86_400);

/// What became of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    pub archived: usize,
    /// Changed meanwhile, or still in a feed.
    pub stayed: usize,
}

/// A month of a shard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) shard: Shard,
    pub(super) month: u32,
}

/// Moves offers of a shard that ended long ago into the archive.
pub async fn leave(offers: &Offers, shard: Shard, batch: Vec<Offer>) -> Result<Left> {
    let mut left = Left::default();
    let mut by_month = BTreeMap::<u32, Vec<Offer>>::new();
    for offer in batch {
        by_month.entry(month_of(Timestamp(offer.status_at))).or_default().push(offer);
    }
    for (month, batch) in by_month {
        let place = Place { shard, month };
        let moved = leave_month(offers, place, batch).await?;
        left.archived += moved.archived;
        left.stayed += moved.stayed;
        merge::if_many(offers, place).await?;
    }
    Ok(left)
}

async fn leave_month(offers: &Offers, place: Place, mut batch: Vec<Offer>) -> Result<Left> {
    let files = &offers.files;
    batch.sort_unstable_by_key(|offer| offer.id);
    batch.dedup_by_key(|offer| offer.id);
    let versions: Vec<_> = batch.iter().map(|offer| (offer.id, offer.version)).collect();
    let referrer = new_referrer(place.shard, place.month)?;
    let produce = move |writer: &mut super::format::Writer<pipe::Pipe>| {
        batch.into_iter().try_for_each(|offer| writer.push(as_archived(offer)))
    };
    let Some(written) = pipe::store(files, &referrer, produce).await? else { return Ok(Left::default()) };
    let name = async |tx: &mut Tx| {
        offers.cluster.check(tx, due::ROLE).await?;
        name_file(tx, place.month, &written, &referrer)
    };
    offers.store.transact(place.shard, name).await?;
    files.confirm(&written.hash, &referrer).await?;
    let mut left = Left::default();
    for step in versions.chunks(LEAVE_AT_ONCE) {
        let moved = offers
            .store
            .transact(place.shard, async |tx| step_out(tx, offers, place.month, step).await)
            .await?;
        left.archived += moved.archived;
        left.stayed += moved.stayed;
    }
    Ok(left)
}

/// T1.
pub(super) fn name_file(tx: &mut Tx, month: u32, written: &Written, referrer: &Referrer) -> Result<()> {
    let row = ArchiveFile {
        min_id: written.summary.min_id,
        max_id: written.summary.max_id,
        offers: written.summary.offers,
        bytes: written.bytes as i64,
        referrer: referrer.as_str().to_owned(),
    };
    Ok(tx.put(&ARCHIVE_FILES, file_key(month, &written.hash), &row)?)
}

pub(super) fn file_key(month: u32, hash: &Hash) -> (u32, &[u8]) {
    (month, hash.as_bytes().as_slice())
}

/// T2.
async fn step_out(tx: &mut Tx, offers: &Offers, month: u32, step: &[(i64, i64)]) -> Result<Left> {
    offers.cluster.check(tx, due::ROLE).await?;
    let step_ids: Vec<_> = step.iter().map(|(id, _)| *id).collect();
    let now = find_many(tx, &step_ids).await?;
    let mut changes = Changes::new(offers, offers.clock.now());
    let mut gone = Vec::new();
    for ((_, version), offer) in step.iter().zip(now) {
        let Some(offer) = offer.filter(|offer| offer.version == *version) else { continue };
        if is_fed(tx, &offer).await? {
            changes.postpone(tx, &offer, STILL_FED)?;
            continue;
        }
        remove_whole(tx, &mut changes, &offer).await?;
        gone.push(offer.id);
        changes.tell_archived(&as_archived(offer));
    }
    ids::note(tx, &gone, ids::Known::In(month)).await?;
    changes.finish(tx).await?;
    Ok(Left { archived: gone.len(), stayed: step.len() - gone.len() })
}

/// The offer as the archive has it. That is a version of its own, so that nobody takes the news of it for a repeat.
fn as_archived(offer: Offer) -> Offer {
    Offer { archived: true, due_at: 0, version: offer.version + 1, ..offer }
}

/// Every row that is this offer's alone.
pub(crate) async fn remove_whole(tx: &mut Tx, changes: &mut Changes<'_>, offer: &Offer) -> Result<()> {
    changes.remove(tx, offer)?;
    for ((id, kind), _) in tx.scan(&OFFER, Range::prefix((offer.id,), PARTS_AT_ONCE)?).await? {
        tx.delete(&OFFER, (id, kind.as_str()))?;
    }
    for ((id, version), _) in tx.scan(&EVENTS, Range::prefix((offer.id,), PARTS_AT_ONCE)?).await? {
        tx.delete(&EVENTS, (id, version))?;
    }
    Ok(())
}
