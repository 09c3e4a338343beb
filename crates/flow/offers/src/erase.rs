//! Everything of a seller goes: what he listed, its history, what his feeds brought, his numbers, his rows in the archive.
//!
//! The wish is a row in `erasures`, written with a message to [`ERASURES_TOPIC`] by which other systems (feeds, photos,
//! snippets) hear that they must forget him too. The scheduler of the shard then goes through phases in steps, each a
//! transaction that also notes how far it is, so a crash repeats nothing and forgets nothing:
//!
//! 1. `offers`: all offers of the shard are walked; his are deleted, which tells everybody who follows the changes, and
//!    their rows go at once. Their ids stay noted, so that none is given again.
//! 2. `archive`: every file that has an offer of his is written anew without them.
//! 3. `rows`: all rows of the offers' tables that begin with him, and his draft. Should a load have brought offers meanwhile, the first
//!    phase begins again.
//! 4. `done`: the row stays as the proof, with its times.
//!
//! What feeds had under way arrives late, when all of it may be done. So from the wish on only loads count that were
//! made after the feeds had heard of it: each says so in its messages ([`made_since`]).
//!
//! Asking again is the same wish; asking after it was done is a new one.

use cluster::Cluster;
use kit::Timestamp;
use model::{Offer, Status};
use store::{Range, Read as _, Shard, Tx};
use topics::{Message, outbox};
use wire::offers::Erasure;
use wire::offers::erasure::Phase;

use crate::archive::{self, ids};
use crate::changes::Changes;
use crate::tables::{CONTENT, ERASURES, OFFER, PRESETS};
use crate::{DUE_CHANNEL, ERASURES_TOPIC, Offers, Result, due};

/// Rows of offers looked at in one step, each of up to 100 kB.
const OFFERS_AT_ONCE: usize = 100;
const ROWS_AT_ONCE: usize = 1_000;
/// Erasures of a shard that are looked at.
const MAX_ERASURES: usize = 1_000;

impl Offers {
    /// Wishes that nothing of the seller stays.
    pub async fn erase(&self, seller: &str, asked_by: &str) -> Result<Erasure> {
        let wish = async |tx: &mut Tx| {
            let before = tx.get(&ERASURES, (seller,)).await?;
            if let Some(under_way) = before.as_ref().filter(|row| row.phase() != Phase::Done) {
                return Ok(under_way.clone());
            }
            // It also tells one wish from another, so it grows whatever the clocks say.
            let asked_at = before.map_or(0, |row| row.asked_at + 1).max(self.clock.now().0);
            let row = Erasure { asked_at, asked_by: asked_by.to_owned(), ..Erasure::default() };
            tx.put(&ERASURES, (seller,), &row)?;
            let word = Message::new(seller.to_owned(), model::erasure::write(seller, asked_at));
            outbox::send(tx, ERASURES_TOPIC, vec![word]).await?;
            tx.wake(DUE_CHANNEL);
            Ok(row)
        };
        self.store.transact(Shard::of(seller), wish).await
    }

    /// How far the erasure of a seller is, if one was wished.
    pub async fn erasure(&self, seller: &str) -> Result<Option<Erasure>> {
        Ok(self.store.get(&ERASURES, Shard::of(seller), (seller,)).await?)
    }
}

/// Whether a load that was made when `after_erasure` was the seller's last known erasure may still be taken.
pub(crate) fn made_since(erasure: Option<&Erasure>, after_erasure: i64) -> bool {
    erasure.is_none_or(|erasure| after_erasure >= erasure.asked_at)
}

/// Finishes the erasures of a shard.
pub async fn go_on(offers: &Offers, cluster: Option<&Cluster>, shard: Shard) -> Result<()> {
    let rows = offers.store.snapshot(shard).await?.scan(&ERASURES, Range::all(MAX_ERASURES)).await?;
    for ((seller,), row) in rows {
        let mut phase = row.phase();
        while phase != Phase::Done {
            phase = step(offers, cluster, shard, &seller, phase).await?;
        }
    }
    Ok(())
}

/// Does one step and says in which phase the erasure is then.
pub async fn step(
    offers: &Offers,
    cluster: Option<&Cluster>,
    shard: Shard,
    seller: &str,
    phase: Phase,
) -> Result<Phase> {
    let erased = match phase {
        Phase::Archive => archive::erase(offers, cluster, shard, seller).await?,
        Phase::Offers | Phase::Rows | Phase::Done => 0,
    };
    let transaction = async |tx: &mut Tx| {
        due::check(tx, cluster).await?;
        let Some(mut row) = tx.get(&ERASURES, (seller,)).await? else { return Ok(Phase::Done) };
        if row.phase() != phase {
            return Ok(row.phase());
        }
        match phase {
            Phase::Offers => offers_step(tx, offers, seller, &mut row).await?,
            Phase::Archive => {
                row.archived += erased as i64;
                row.set_phase(Phase::Rows);
            }
            Phase::Rows => rows_step(tx, seller, &mut row, offers.clock.now()).await?,
            Phase::Done => {}
        }
        tx.put(&ERASURES, (seller,), &row)?;
        Ok(row.phase())
    };
    offers.store.transact(shard, transaction).await
}

async fn offers_step(tx: &mut Tx, offers: &Offers, seller: &str, row: &mut Erasure) -> Result<()> {
    let page = tx.scan(&OFFER, Range::all(OFFERS_AT_ONCE).after((row.cursor,))?).await?;
    let (Some(((first, _), _)), Some(((last, _), _))) = (page.first(), page.last()) else {
        row.set_phase(Phase::Archive);
        return Ok(());
    };
    // The last offer of a full page may have its content behind it, so it is looked at once more.
    let may_go_on = page.len() == OFFERS_AT_ONCE && first != last;
    row.cursor = if may_go_on { *last - 1 } else { *last };
    let his: Vec<Offer> = page
        .into_iter()
        .filter(|((_, kind), _)| kind == CONTENT)
        .filter_map(|(_, part)| crate::read::content(part))
        .filter(|offer| offer.seller_id == seller)
        .collect();
    let mut changes = Changes::new(&offers.settings, offers.clock.now());
    for offer in &his {
        let mut deleted = offer.clone();
        deleted.set_status(Status::Deleted);
        let deleted = changes.save(tx, Some(offer), deleted, &due::by_time("erased"))?;
        archive::remove_whole(tx, &mut changes, &deleted).await?;
    }
    changes.finish(tx).await?;
    let gone: Vec<_> = his.iter().map(|offer| offer.id).collect();
    ids::note(tx, &gone, ids::Known::Erased).await?;
    row.offers += gone.len() as i64;
    Ok(())
}

/// Removes rows that begin with the seller, whatever table of the offers they are in.
async fn rows_step(tx: &mut Tx, seller: &str, row: &mut Erasure, now: Timestamp) -> Result<()> {
    if !tx.scan(&PRESETS, Range::prefix((seller,), 1)?).await?.is_empty() {
        row.set_phase(Phase::Offers);
        row.cursor = 0;
        return Ok(());
    }
    for spec in crate::tables() {
        let is_his = spec.columns.first() == Some(&"seller_id") && spec.name != ERASURES.name();
        if !is_his {
            continue;
        }
        let table = tx.schema().id(spec.system, spec.name)?;
        let rows = tx.scan_raw(table, Range::prefix((seller,), ROWS_AT_ONCE)?).await?;
        if !rows.is_empty() {
            for (key, _) in rows {
                tx.write_raw(table, key, None)?;
            }
            return Ok(());
        }
    }
    crate::drafts::forget_owner(tx, seller).await?;
    row.set_phase(Phase::Done);
    row.done_at = now.0;
    Ok(())
}
