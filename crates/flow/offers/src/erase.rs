//! Everything of a seller goes: what he listed, its history, what his feeds brought, his numbers, his rows in the archive.
//!
//! The wish is a row in `erasures`, written with a message to [`model::topics::OFFERS_ERASURES`] by which other systems (feeds, photos,
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

use async_trait::async_trait;
use cluster::work::{Done, Due, Entry, Plan, Work, head_by_owner};
use kit::Timestamp;
use model::{Offer, Status};
use store::{Range, Read as _, Shard, Tx};
use topics::{Message, outbox};
use wire::offers::Erasure;
use wire::offers::erasure::Phase;

use crate::archive::{self, ids};
use crate::changes::Changes;
use crate::tables::{CONTENT, ERASURES, ERASURES_QUEUE, FOLLOWER_WALKS, FOLLOWERS, OFFER, PRESETS};
use crate::{ERASE_CHANNEL, Error, Offers, Result, due, follow};

/// Rows of offers looked at in one step, each of up to 100 kB.
const OFFERS_AT_ONCE: usize = 100;
const ROWS_AT_ONCE: usize = 1_000;
/// Sellers that are erased side by side.
const AT_ONCE: usize = 2;

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
            tx.put(&ERASURES_QUEUE, (seller,), &())?;
            let word = Message::new(seller.to_owned(), model::erasure::write(seller, asked_at));
            outbox::send(tx, model::topics::OFFERS_ERASURES, vec![word]).await?;
            follow::tell_erased(tx, seller).await?;
            tx.wake(ERASE_CHANNEL);
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

/// Sellers of whom something is left.
pub struct SellerErasures(pub Offers);

#[async_trait]
impl Work for SellerErasures {
    type Key = String;
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("erasures", due::ROLE, ERASE_CHANNEL, AT_ONCE)
    }

    async fn due(&self, shards: &[Shard], _: Timestamp) -> Result<Due<String>> {
        let entry = |(seller,): (String,), ()| {
            Some(Entry { at: Timestamp(0), owner: seller.clone(), key: seller, long: false })
        };
        Ok(head_by_owner(&self.0.store, &ERASURES_QUEUE, shards, entry).await?)
    }

    async fn run(&self, shard: Shard, seller: &String) -> Result<Done> {
        let row = self.0.store.get(&ERASURES, shard, (&**seller,)).await?;
        let phase = step(&self.0, shard, seller, row.map_or(Phase::Done, |row| row.phase())).await?;
        Ok(if phase == Phase::Done { Done::Finished } else { Done::More })
    }
}

/// Does one step and says in which phase the erasure is then.
pub async fn step(offers: &Offers, shard: Shard, seller: &str, phase: Phase) -> Result<Phase> {
    let erased = match phase {
        Phase::Archive => archive::erase(offers, shard, seller).await?,
        Phase::Offers | Phase::Rows | Phase::Done => 0,
    };
    let transaction = async |tx: &mut Tx| {
        offers.cluster.check(tx, due::ROLE).await?;
        let row = tx.get(&ERASURES, (seller,)).await?.filter(|row| row.phase() != Phase::Done);
        let Some(mut row) = row else {
            tx.delete(&ERASURES_QUEUE, (seller,))?;
            return Ok(Phase::Done);
        };
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
        if row.phase() == Phase::Done {
            tx.delete(&ERASURES_QUEUE, (seller,))?;
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
    let mut changes = Changes::new(offers, offers.clock.now());
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
        // Followers that came meanwhile wait for what the seller writes next.
        let stays = [ERASURES.name(), ERASURES_QUEUE.name(), FOLLOWERS.name(), FOLLOWER_WALKS.name()];
        if stays.contains(&spec.name) || spec.columns.first() != Some(&"seller_id") {
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
    follow::forget_gone(tx, seller).await?;
    row.set_phase(Phase::Done);
    row.done_at = now.0;
    Ok(())
}
