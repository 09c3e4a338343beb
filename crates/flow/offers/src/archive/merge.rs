//! Many small files of a month become one, without the rows that are waste; and one file becomes another without a
//! seller who is to be forgotten.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use files::{Files, Referrer};
use model::Offer;
use store::{Read as _, Shard, Tx};

use super::format::{self, Scan, Writer};
use super::leave::{Place, file_key, name_file};
use super::pipe::{self, Pipe};
use super::ranges::Ranges;
use super::{Member, ids, members_of, new_referrer, next_members};
use crate::tables::ARCHIVE_FILES;
use crate::{Error, Offers, Result, due};

/// A month of a shard with this many files is merged.
const MOST_FILES: usize = 8;
/// Rows whose place in the index is asked for at once.
const ROWS_AT_ONCE: usize = 256;

pub(super) async fn if_many(offers: &Offers, place: Place) -> Result<()> {
    let members = members_of(&offers.store.snapshot(place.shard).await?, place.month).await?;
    if members.len() >= MOST_FILES {
        rewrite(offers, place, members, None).await?;
    }
    Ok(())
}

/// Rewrites every file of the shard that has an offer of the seller. Says how many offers went.
pub(crate) async fn erase(offers: &Offers, shard: Shard, seller: &str) -> Result<usize> {
    let files = &offers.files;
    let (mut erased, mut behind) = (0, None);
    while let Some(member) = next_members(offers, shard, behind.as_ref(), 1).await?.pop() {
        let name = seller.to_owned();
        let has = super::read(files, member.hash, move |ranges| {
            let mut has = false;
            format::each_of_seller(ranges, &name, |_| {
                has = true;
                false
            })?;
            Ok(has)
        });
        if has.await? {
            let place = Place { shard, month: member.month };
            erased += rewrite(offers, place, vec![member.clone()], Some(seller)).await?;
        }
        behind = Some(member);
    }
    Ok(erased)
}

/// Puts one file in the place of some of a month, without waste and without the seller. Says how many of the seller's
/// offers went.
///
/// The new file is put before the transaction that exchanges the names; that transaction fails when any of the old ones
/// is not there any more. The old files are released in it. A crash leaves the old ones, or the new one. The same rows make
/// the same file: then it stays, under its new name.
async fn rewrite(
    offers: &Offers,
    place: Place,
    members: Vec<Member>,
    without: Option<&str>,
) -> Result<usize> {
    let files = &offers.files;
    let mut sources = Vec::new();
    for member in &members {
        sources.push(Ranges::open(files, member.hash).await?);
    }
    let referrer = new_referrer(place.shard, place.month)?;
    let (store, runtime) = (offers.store.clone(), tokio::runtime::Handle::current());
    let (forget, erased) = (without.map(str::to_owned), Arc::new(Mutex::new(Vec::new())));
    let noted = erased.clone();
    let produce = move |writer: &mut Writer<Pipe>| {
        let mut merged = Merged::new(sources)?;
        loop {
            let rows = merged.next_rows(ROWS_AT_ONCE)?;
            if rows.is_empty() {
                return Ok(());
            }
            let row_ids: Vec<_> = rows.iter().map(|offer| offer.id).collect();
            let known = runtime.block_on(async {
                let snapshot = store.snapshot(place.shard).await?;
                ids::known(&snapshot, &row_ids).await
            })?;
            for (offer, known) in rows.into_iter().zip(known) {
                if forget.as_deref() == Some(offer.seller_id.as_str()) {
                    noted.lock().unwrap_or_else(PoisonError::into_inner).push(offer.id);
                } else if known == Some(ids::Known::In(place.month)) {
                    writer.push(offer)?;
                }
            }
        }
    };
    let written = pipe::store(files, &referrer, produce).await?;
    let erased = std::mem::take(&mut *erased.lock().unwrap_or_else(PoisonError::into_inner));
    let exchange = async |tx: &mut Tx| {
        offers.cluster.check(tx, due::ROLE).await?;
        for member in &members {
            let key = file_key(member.month, &member.hash);
            if tx.get(&ARCHIVE_FILES, key).await?.is_none() {
                return Err(Error::Archive(format!("the file {} was replaced meanwhile", member.hash)));
            }
            tx.delete(&ARCHIVE_FILES, key)?;
            Files::release(tx, &member.hash, &Referrer::new(member.row.referrer.as_str())?).await?;
        }
        if let Some(written) = &written {
            name_file(tx, place.month, written, &referrer)?;
        }
        ids::note(tx, &erased, ids::Known::Erased).await
    };
    offers.store.transact(place.shard, exchange).await?;
    if let Some(written) = &written {
        files.confirm(&written.hash, &referrer).await?;
    }
    Ok(erased.len())
}

/// Several files as one, sorted by id; of an id that several have, the newest version.
struct Merged {
    scans: Vec<Scan<Ranges>>,
    heads: BTreeMap<(i64, usize), Offer>,
}

impl Merged {
    fn new(sources: Vec<Ranges>) -> Result<Self> {
        let scans = sources.into_iter().map(Scan::new).collect::<Result<Vec<_>>>()?;
        let mut merged = Self { scans, heads: BTreeMap::new() };
        for number in 0..merged.scans.len() {
            merged.advance(number)?;
        }
        Ok(merged)
    }

    fn advance(&mut self, number: usize) -> Result<()> {
        if let Some(offer) = self.scans[number].read()? {
            self.heads.insert((offer.id, number), offer);
        }
        Ok(())
    }

    fn next_rows(&mut self, most: usize) -> Result<Vec<Offer>> {
        let mut rows: Vec<Offer> = Vec::new();
        while let Some(((id, number), offer)) = self.heads.pop_first() {
            self.advance(number)?;
            match rows.last_mut().filter(|last| last.id == id) {
                Some(last) if last.version < offer.version => *last = offer,
                Some(_) => {}
                None => rows.push(offer),
            }
            let next = self.heads.first_key_value().map(|((id, _), _)| *id);
            if rows.len() >= most && next != Some(id) {
                break;
            }
        }
        Ok(rows)
    }
}
