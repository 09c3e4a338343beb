//! Which seller's offers a shop of a business has.
//!
//! The truth is a row in the business's shard. Each change of it raises the shop's *epoch* and tells the seller's shard by
//! topic `offers.follow` whom to send offers to from now on; offers come back under that epoch, and what is late of an older
//! one is dropped. What older epochs brought is ended by a walk over the business's offers, a page per transaction with
//! its cursor: marked as removed, or, if the seller was erased, deleted and told as erased. The same walk goes over the offers
//! that moved away, and tells their homes.

use std::collections::BTreeMap;

use prost::Message as _;
use store::{Range, Read as _, Tx};
use topics::{Message, outbox};
use wire::offers::Follow;
use wire::united::{Colour, MovedRow, OfferRow, ServicePart, ShopRow};

use crate::give::erase_given;
use crate::moves::forward;
use crate::tables::{ENDINGS, MOVED, OFFERS, SHOPS, cut_page, shard_of};
use crate::write::Writing;
use crate::{CHANNEL, Error, Result, United};

/// Offers looked at in one step of an ending.
pub const OFFERS_AT_ONCE: usize = 100;
/// Shops of a business, each of which may have a word on every offer.
pub const MAX_SHOPS: usize = 1_000;

/// Names a shop as a follower.
pub fn follower(business: u32, shop: u32) -> String {
    format!("united/{business}/{shop}")
}

/// The shop of a follower's name.
pub fn parse_follower(text: &str) -> Option<(u32, u32)> {
    let (business, shop) = text.strip_prefix("united/")?.split_once('/')?;
    let (business, shop) = (business.parse().ok()?, shop.parse().ok()?);
    (text == follower(business, shop)).then_some((business, shop))
}

impl United {
    /// Gives a shop the offers of a seller.
    pub async fn map_shop(&self, business: u32, shop: u32, seller: &str, colour: Colour) -> Result<ShopRow> {
        check_numbers(business, shop)?;
        model::names::check_seller(seller).map_err(|error| Error::Invalid(error.to_string()))?;
        if colour == Colour::UnknownColour {
            return Err(Error::Invalid("a shop has a colour".to_owned()));
        }
        let transaction = async |tx: &mut Tx| {
            let before = tx.get(&SHOPS, (business, shop)).await?;
            let is_same = |row: &ShopRow| !row.gone && row.seller_id == seller && row.colour() == colour;
            if let Some(same) = before.clone().filter(is_same) {
                return Ok(same);
            }
            if before.is_none()
                && tx.scan(&SHOPS, Range::prefix((business,), MAX_SHOPS)?).await?.len() == MAX_SHOPS
            {
                return Err(Error::Invalid(format!("a business has at most {MAX_SHOPS} shops")));
            }
            let row = ShopRow {
                seller_id: seller.to_owned(),
                colour: colour.into(),
                epoch: next_epoch(before.as_ref()),
                gone: false,
                // An erasure that is not finished yet goes on: what it must delete has an older epoch still.
                erased_below: before.as_ref().map_or(0, |before| before.erased_below),
                ending_after: before.is_some().then(String::new),
            };
            if let Some(before) = before.filter(|before| !before.gone && before.seller_id != seller) {
                tell(tx, business, shop, &before.seller_id, row.epoch, true).await?;
            }
            tell(tx, business, shop, seller, row.epoch, false).await?;
            put(tx, business, shop, &row)?;
            Ok(row)
        };
        self.store.transact(shard_of(business), transaction).await
    }

    /// Takes the seller's offers away from a shop. Says whether it had any.
    pub async fn unmap_shop(&self, business: u32, shop: u32) -> Result<bool> {
        let transaction = async |tx: &mut Tx| {
            let Some(before) = tx.get(&SHOPS, (business, shop)).await?.filter(|row| !row.gone) else {
                return Ok(false);
            };
            let epoch = next_epoch(Some(&before));
            tell(tx, business, shop, &before.seller_id, epoch, true).await?;
            let row = ShopRow { epoch, gone: true, ending_after: Some(String::new()), ..before };
            put(tx, business, shop, &row)?;
            Ok(true)
        };
        self.store.transact(shard_of(business), transaction).await
    }

    /// The shops of a business, by number; those that were taken away too.
    pub async fn shops(&self, business: u32) -> Result<Vec<(u32, ShopRow)>> {
        let snapshot = self.store.snapshot(shard_of(business)).await?;
        let rows = snapshot.scan(&SHOPS, Range::prefix((business,), MAX_SHOPS)?).await?;
        Ok(rows.into_iter().map(|((_, shop), row)| (shop, row)).collect())
    }
}

/// The seller of a shop was erased: nothing that the epoch brought stays. The seller's shard has forgotten us already.
pub(crate) async fn erase_shop(
    tx: &mut Tx,
    business: u32,
    shop: u32,
    seller: &str,
    epoch: i64,
) -> Result<()> {
    let Some(before) = tx.get(&SHOPS, (business, shop)).await? else { return Ok(()) };
    if before.erased_below > epoch {
        return Ok(());
    }
    let erased_below = epoch + 1;
    let row = if before.epoch == epoch && before.seller_id == seller {
        let epoch = next_epoch(Some(&before));
        let (seller_id, gone) = (String::new(), true);
        ShopRow { epoch, gone, seller_id, erased_below, ending_after: Some(String::new()), ..before }
    } else {
        // The shop is another seller's by now, or nobody's; what the erased one brought may still be here.
        let is_theirs = before.gone && before.seller_id == seller;
        let seller_id = if is_theirs { String::new() } else { before.seller_id.clone() };
        ShopRow { seller_id, erased_below, ending_after: Some(String::new()), ..before }
    };
    put(tx, business, shop, &row)
}

/// Messages of followed sellers were lost: every shop that may have missed some is filled anew, under a new epoch. Among the
/// missing may be the word that a seller was erased, so nothing of the older epochs stays. Returns how many shops there are.
/// Done again, it begins anew.
pub(crate) async fn refill(united: &United, is_meant: impl Fn(u32) -> bool) -> Result<usize> {
    let (mut after, mut refilled): (Option<(u32, u32)>, usize) = (None, 0);
    loop {
        let range = Range::all(OFFERS_AT_ONCE);
        let behind = match after {
            Some(key) => Some((shard_of(key.0), range.clone().after(key)?)),
            None => None,
        };
        let page =
            united.store.scan_after(&SHOPS, &range, behind, OFFERS_AT_ONCE, |key, _| Some(key)).await?;
        for (business, shop) in page.iter().filter(|(business, _)| is_meant(*business)) {
            let body = async |tx: &mut Tx| refill_shop(tx, *business, *shop).await;
            refilled += usize::from(united.store.transact(shard_of(*business), body).await?);
        }
        match page.last() {
            Some(last) if page.len() == OFFERS_AT_ONCE => after = Some(*last),
            _ => return Ok(refilled),
        }
    }
}

async fn refill_shop(tx: &mut Tx, business: u32, shop: u32) -> Result<bool> {
    let Some(before) = tx.get(&SHOPS, (business, shop)).await? else { return Ok(false) };
    let epoch = next_epoch(Some(&before));
    if !before.gone {
        tell(tx, business, shop, &before.seller_id, epoch, false).await?;
    }
    let row = ShopRow { epoch, erased_below: epoch, ending_after: Some(String::new()), ..before };
    put(tx, business, shop, &row)?;
    Ok(true)
}

/// Tells the sellers' shards of a page of mappings what they should know: should the first word be lost, this one is heard.
pub(crate) async fn tell_again(tx: &mut Tx, page: &[((u32, u32), ShopRow)]) -> Result<()> {
    for ((business, shop), row) in page.iter().filter(|(_, row)| !row.gone) {
        tell(tx, *business, *shop, &row.seller_id, row.epoch, false).await?;
    }
    Ok(())
}

fn put(tx: &mut Tx, business: u32, shop: u32, row: &ShopRow) -> Result<()> {
    tx.put(&SHOPS, (business, shop), row)?;
    if row.ending_after.is_some() {
        tx.put(&ENDINGS, (business, shop), &())?;
        tx.wake(CHANNEL);
    }
    Ok(())
}

fn next_epoch(before: Option<&ShopRow>) -> i64 {
    before.map_or(1, |before| before.epoch + 1)
}

fn check_numbers(business: u32, shop: u32) -> Result<()> {
    if business == 0 || shop == 0 {
        return Err(Error::Invalid("no business and no shop has the number 0".to_owned()));
    }
    Ok(())
}

async fn tell(tx: &mut Tx, business: u32, shop: u32, seller: &str, epoch: i64, gone: bool) -> Result<()> {
    let wish = Follow {
        seller_id: seller.to_owned(),
        follower: follower(business, shop),
        topic: model::topics::UNITED_PARTS.to_owned(),
        key: business.to_string(),
        epoch,
        gone,
    };
    let message = Message::new(seller.to_owned(), wish.encode_to_vec());
    outbox::send(tx, model::topics::OFFERS_FOLLOW, vec![message]).await?;
    Ok(())
}

/// Offers that moved away are ended where they live. Told again, it changes nothing.
async fn forward_endings(
    tx: &mut Tx,
    shop: u32,
    row: &ShopRow,
    page: &[((u32, String), OfferRow)],
    moved: &[((u32, String), MovedRow)],
) -> Result<()> {
    let offers: BTreeMap<&str, &OfferRow> =
        page.iter().map(|((_, shop_sku), offer)| (shop_sku.as_str(), offer)).collect();
    for ((business, shop_sku), moved) in moved {
        let left = || offers.get(shop_sku.as_str())?.services.get(&shop).map(|part| part.epoch);
        let epoch = moved.shops.get(&shop).copied().or_else(left);
        let Some(epoch) = epoch.filter(|epoch| *epoch != 0 && *epoch < row.epoch) else { continue };
        let ended = ServicePart {
            business_id: moved.home,
            shop_sku: shop_sku.clone(),
            shop_id: shop,
            removed: true,
            erased: epoch < row.erased_below,
            ..ServicePart::default()
        };
        if moved.pieces > 0 && ended.erased {
            erase_given(tx, *business, shop_sku, shop, moved).await?;
        }
        forward(tx, ended).await?;
    }
    Ok(())
}

/// A page of a business's offers and of those that moved away, up to the same id: the last one, if there may be more.
struct EndingPage {
    offers: Vec<((u32, String), OfferRow)>,
    moved: Vec<((u32, String), MovedRow)>,
    last: Option<String>,
}

async fn ending_page(tx: &Tx, business: u32, after: &str) -> Result<EndingPage> {
    let mut range = Range::prefix((business,), OFFERS_AT_ONCE)?;
    if !after.is_empty() {
        range = range.after((business, after))?;
    }
    let (offers, moved) = futures::join!(tx.scan(&OFFERS, range.clone()), tx.scan(&MOVED, range));
    let (mut offers, mut moved) = (offers?, moved?);
    let is_more = cut_page(&mut offers, OFFERS_AT_ONCE);
    let last_offer = offers.last().filter(|_| is_more).map(|((_, shop_sku), _)| shop_sku.clone());
    let is_more = cut_page(&mut moved, OFFERS_AT_ONCE);
    let last_moved = moved.last().filter(|_| is_more).map(|((_, shop_sku), _)| shop_sku.clone());
    let last = [last_offer, last_moved].into_iter().flatten().min();
    if let Some(last) = &last {
        offers.retain(|((_, shop_sku), _)| shop_sku <= last);
        moved.retain(|((_, shop_sku), _)| shop_sku <= last);
    }
    Ok(EndingPage { offers, moved, last })
}

/// One step of ending what older epochs of a shop brought. Says whether there is more.
pub async fn end_step(united: &United, tx: &mut Tx, business: u32, shop: u32) -> Result<bool> {
    let row = tx.get(&SHOPS, (business, shop)).await?;
    let Some((row, after)) = row.and_then(|row| row.ending_after.clone().map(|after| (row, after))) else {
        tx.delete(&ENDINGS, (business, shop))?;
        return Ok(false);
    };
    let EndingPage { offers: page, moved, last } = ending_page(tx, business, &after).await?;
    let is_old = |offer: &OfferRow| {
        let part = offer.services.get(&shop).filter(|part| part.epoch != 0);
        part.is_some_and(|part| part.epoch < row.epoch && (!part.removed || part.epoch < row.erased_below))
    };
    let old: Vec<(String, i64)> = page
        .iter()
        .filter(|(_, offer)| is_old(offer))
        .map(|((_, shop_sku), offer)| (shop_sku.clone(), offer.services[&shop].epoch))
        .collect();
    if !old.is_empty() {
        let shop_skus: Vec<String> = old.iter().map(|(shop_sku, _)| shop_sku.clone()).collect();
        let mut writing = Writing::begin(united, tx, business, shop_skus, [shop]).await?;
        for (shop_sku, epoch) in &old {
            if *epoch < row.erased_below {
                writing.erase(shop_sku, shop)?;
            } else {
                writing.remove(shop_sku, shop)?;
            }
        }
        writing.finish(tx).await?;
    }
    forward_endings(tx, shop, &row, &page, &moved).await?;
    let is_more = last.is_some();
    tx.put(&SHOPS, (business, shop), &ShopRow { ending_after: last, ..row })?;
    if !is_more {
        tx.delete(&ENDINGS, (business, shop))?;
    }
    Ok(is_more)
}
