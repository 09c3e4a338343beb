//! Messages of the topic were removed before they were read: nothing of their businesses is known for sure any more.
//!
//! A gap is an error, and never skipped in silence. Every business whose messages may have been in it is noted in its shard
//! before the reader goes on ([`begin`]), and then read again, a page per transaction with its cursor: first what united
//! has, imported as if it were shipped now; then what silver alone has, which was erased in united meanwhile and goes
//! here too. Both systems live in one shard, so no message is needed for it, and no second gap can undo it. Versions make it
//! harmless beside messages that come meanwhile: what is stored is imported once more and changes nothing.

use std::collections::BTreeSet;

use async_trait::async_trait;
use cluster::work::{Done, Due, Entry, Plan, Work, head_by_owner};
use kit::Timestamp;
use store::{Range, Read as _, Shard, Tx};
use topics::consume::Gap;
use united::{CLOCK, MIGRATIONS_OPEN, OFFERS, cut_page, shard_of};
use wire::silver::{Part, SskuRow};
use wire::united::OfferRow;

use crate::convert::Delivered;
use crate::import::{Imported, import_or_owe};
use crate::ssku::{BASIC, CommonSsku, Key};
use crate::tables::{REREADS, RereadRow, SSKU};
use crate::{Error, REREADS_CHANNEL, ROLE, Result, Silver};

/// Businesses of one question, and offers of one step.
const AT_ONCE: usize = 100;
/// Migrations of a business that are under way.
const MAX_OPEN: usize = 10_000;
/// Businesses that are read again side by side.
const BUSINESSES_AT_ONCE: usize = 2;

/// Notes every business whose messages may have been lost. Done again, it changes nothing.
pub async fn begin(silver: &Silver, gap: &Gap) -> Result<usize> {
    let store = &silver.united.store;
    let (mut after, mut noted) = (None, 0);
    loop {
        let range = Range::all(AT_ONCE);
        let behind = match after {
            Some(business) => Some((shard_of(business), range.clone().after((business,))?)),
            None => None,
        };
        let page = store.scan_after(&CLOCK, &range, behind, AT_ONCE, |(business,), _| Some(business)).await?;
        for business in page.iter().filter(|business| gap.concerns(business.to_string().as_bytes())) {
            let now = silver.united.clock.now();
            let note = async |tx: &mut Tx| {
                tx.put(&REREADS, (*business,), &RereadRow { since: now.0, ..RereadRow::default() })?;
                tx.wake(REREADS_CHANNEL);
                Ok::<_, Error>(())
            };
            store.transact(shard_of(*business), note).await?;
            noted += 1;
        }
        match page.last() {
            Some(last) if page.len() == AT_ONCE => after = Some(*last),
            _ => return Ok(noted),
        }
    }
}

/// Businesses that are read again.
pub struct Rereads(pub Silver);

#[async_trait]
impl Work for Rereads {
    type Key = u32;
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("silver rereads", ROLE, REREADS_CHANNEL, BUSINESSES_AT_ONCE)
    }

    async fn due(&self, shards: &[Shard], _: Timestamp) -> Result<Due<u32>> {
        let entry = |(business,): (u32,), _| {
            let owner = business.to_string();
            Some(Entry { at: Timestamp(0), owner, key: business, long: false })
        };
        Ok(head_by_owner(&self.0.united.store, &REREADS, shards, entry).await?)
    }

    async fn run(&self, shard: Shard, business: &u32) -> Result<Done> {
        let (silver, settings) = (&self.0, self.0.settings());
        let body = async |tx: &mut Tx| {
            silver.united.cluster.check(tx, ROLE).await?;
            step(silver, tx, &settings.import, *business).await
        };
        let (done, imported) = silver.united.store.transact(shard, body).await?;
        silver.count(&imported);
        Ok(done)
    }
}

/// Reads the next page of a business.
async fn step(
    silver: &Silver,
    tx: &mut Tx,
    rules: &crate::steps::Rules,
    business: u32,
) -> Result<(Done, Imported)> {
    let Some(row) = tx.get(&REREADS, (business,)).await? else {
        return Ok((Done::Finished, Imported::default()));
    };
    let (delivered, last) = if row.in_silver {
        gone_from_united(tx, business, &row.after).await?
    } else {
        kept_in_united(silver, tx, business, &row.after).await?
    };
    let imported = import_or_owe(tx, rules, &delivered, silver.united.clock.now()).await?;
    let next = match (last, row.in_silver) {
        (Some(after), _) => Some(RereadRow { after, ..row }),
        (None, false) => Some(RereadRow { in_silver: true, after: String::new(), ..row }),
        (None, true) => None,
    };
    match &next {
        Some(next) => tx.put(&REREADS, (business,), next)?,
        None => {
            answer_for_the_gone(silver, tx, business).await?;
            tx.delete(&REREADS, (business,))?;
        }
    }
    Ok((if next.is_some() { Done::More } else { Done::Finished }, imported))
}

/// Migrations that wait for an offer, or for a part of one, that is there no longer have nothing to wait for.
async fn answer_for_the_gone(silver: &Silver, tx: &mut Tx, business: u32) -> Result<()> {
    let open = tx.scan(&MIGRATIONS_OPEN, Range::prefix((business,), MAX_OPEN)?).await?;
    let keys: Vec<_> = open.iter().map(|((_, sku), _)| (business, sku.as_str())).collect();
    let offers = tx.get_many(&OFFERS, keys).await?;
    for (((_, sku), mut open), offer) in open.into_iter().zip(offers) {
        let waited = open.parts.len();
        let is_there = |shop: &u32| {
            let offer = offer.as_ref();
            offer.is_some_and(|offer| *shop == BASIC || offer.services.contains_key(shop))
        };
        open.parts.retain(|shop, _| is_there(shop));
        if offer.is_none() || (waited > 0 && open.parts.is_empty()) {
            united::migrations::answer(tx, business, &sku, &open, silver.united.clock.now()).await?;
        } else if open.parts.len() < waited {
            tx.put(&MIGRATIONS_OPEN, (business, sku.as_str()), &open)?;
        }
    }
    Ok(())
}

/// A page of united's offers as they would be shipped now, and where it ends; none: that was the end.
async fn kept_in_united(
    silver: &Silver,
    tx: &Tx,
    business: u32,
    after: &str,
) -> Result<(Vec<Delivered>, Option<String>)> {
    let range = Range::prefix((business,), AT_ONCE)?.after((business, after))?;
    let mut page = tx.scan(&OFFERS, range).await?;
    let is_more = cut_page(&mut page, AT_ONCE);
    let last = page.last().filter(|_| is_more).map(|((_, sku), _)| sku.clone());
    let shipped = |(_, row): &(_, OfferRow)| {
        Delivered::of(&silver.united.subscriptions.shipped_offer(row, |_| true)).map_err(Error::Invalid)
    };
    Ok((page.iter().map(shipped).collect::<Result<_>>()?, last))
}

/// A page of silver's records: services that united has no longer, as erased. What came by hand united never had.
async fn gone_from_united(tx: &Tx, business: u32, after: &str) -> Result<(Vec<Delivered>, Option<String>)> {
    // Behind all sources of the last SSKU: none sorts after this one.
    let range = Range::prefix((business,), AT_ONCE)?.after((business, after, "\u{10ffff}"))?;
    let mut page = tx.scan(&SSKU, range).await?;
    let is_more = cut_page(&mut page, AT_ONCE);
    let last = page.last().filter(|_| is_more).map(|((_, sku, ..), _)| sku.clone());
    let keys = page.iter().map(|((_, sku, ..), _)| (business, sku.as_str()));
    let offers = tx.get_many(&OFFERS, keys).await?;
    let mut delivered = Vec::new();
    for (((_, sku, ..), row), offer) in page.iter().zip(offers) {
        let key = Key { business, shop_sku: sku.clone() };
        let gone = erased(key.clone(), row, offer.as_ref());
        delivered.extend(gone.map(|ssku| Delivered { key, ssku: Ok(ssku) }));
    }
    Ok((delivered, last))
}

/// The services of a record that united has no longer, as erased.
pub(crate) fn erased(key: Key, row: &SskuRow, offer: Option<&OfferRow>) -> Option<CommonSsku> {
    let is_there = |shop: &u32| offer.is_some_and(|offer| offer.services.contains_key(shop));
    let is_gone = |(shop, part): &(&u32, &Part)| !part.by_hand && !is_there(shop);
    let gone: Vec<_> = row.services.iter().filter(is_gone).collect();
    let shops: BTreeSet<u32> = gone.iter().map(|(shop, _)| **shop).collect();
    let services = gone.into_iter().map(|(shop, part)| (*shop, part.clone())).collect();
    (!shops.is_empty()).then(|| CommonSsku { services, erased: shops, ..CommonSsku::new(key) })
}
