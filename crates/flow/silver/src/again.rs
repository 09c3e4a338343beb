//! What is owed is read again from united and imported, and what was cut is owed when it would pass.

use kit::Timestamp;
use store::{Range, Read as _, Tx};
use united::{OFFERS, United};
use wire::united::OfferRow;

use crate::convert::Delivered;
use crate::import::{Imported, import};
use crate::reread::erased;
use crate::ssku::{Key, SOURCE_ID, SourceType};
use crate::steps::{Cut, Rules};
use crate::tables::{CUTS, ERP_QUEUE, FAILURES, GOLD_QUEUE, QueuedRow, SSKU};
use crate::{CHANNEL, Error, Result, debt};

/// Reads an SSKU that is owed from united, as it is shipped now, and imports it. Both live in one shard, so reading, importing
/// and paying are one transaction.
pub async fn import_again(
    united: &United,
    tx: &mut Tx,
    rules: &Rules,
    key: &Key,
    now: Timestamp,
) -> Result<Imported> {
    let row = (key.business, key.shop_sku.as_str());
    let Some(owed) = tx.get(&FAILURES, row).await? else { return Ok(Imported::default()) };
    let offer = tx.get(&OFFERS, row).await?;
    let gone = gone_from_united(tx, key, offer.as_ref()).await?;
    let Some(offer) = offer else {
        if !gone.is_empty() {
            return import(tx, rules, &gone, now).await;
        }
        if owed.reason == debt::CUT_BEFORE {
            debt::remove(tx, key, &owed)?;
        } else {
            let again =
                debt::after_try(&owed, &format!("{}; united has no such offer", first(&owed.reason)), now);
            debt::put(tx, key, Some(&owed), &again)?;
        }
        return Ok(Imported::default());
    };
    let offer = united.subscriptions.shipped_offer(&offer, |_| true);
    let delivered = Delivered::of(&offer).map_err(Error::Invalid)?;
    if let Err(refused) = &delivered.ssku {
        let owed_still = debt::after_try(&owed, &refused.reason, now);
        debt::put(tx, key, Some(&owed), &owed_still)?;
        // What is erased goes all the same.
        return import(tx, rules, &gone, now).await;
    }
    // The whole offer is here: nothing of what was owed or cut before is left to be read.
    debt::remove(tx, key, &owed)?;
    tx.delete(&CUTS, row)?;
    if debt::is_of_gold(&owed) {
        tx.put(&GOLD_QUEUE, row, &QueuedRow::default())?;
        tx.put(&ERP_QUEUE, row, &())?;
        tx.wake(CHANNEL);
    }
    import(tx, rules, &[gone, vec![delivered]].concat(), now).await
}

/// What silver has of an SSKU and united has no longer, as erased: the word on it may be what is owed.
async fn gone_from_united(tx: &Tx, key: &Key, offer: Option<&OfferRow>) -> Result<Vec<Delivered>> {
    let sources =
        SourceType::EVERY.map(|source| (key.business, key.shop_sku.as_str(), source.name(), SOURCE_ID));
    let records = tx.get_many(&SSKU, sources).await?;
    let gone = records.iter().flatten().filter_map(|row| erased(key.clone(), row, offer));
    Ok(gone.map(|ssku| Delivered { key: key.clone(), ssku: Ok(ssku) }).collect())
}

/// What is owed was read again and cannot be saved: it waits longer.
pub(crate) async fn failed_again(tx: &mut Tx, key: &Key, reason: &str, now: Timestamp) -> Result<()> {
    let Some(owed) = tx.get(&FAILURES, (key.business, key.shop_sku.as_str())).await? else { return Ok(()) };
    debt::put(tx, key, Some(&owed), &debt::after_try(&owed, reason, now))
}

/// The reason as it was first said.
fn first(reason: &str) -> &str {
    reason.split("; united").next().unwrap_or(reason)
}

/// Goes over a page of cuts behind `after` and owes those that would pass now. Says where to go on; `None`: that was the end.
pub async fn reopen_cuts(
    tx: &mut Tx,
    rules: &Rules,
    after: Option<&Key>,
    limit: usize,
    now: Timestamp,
) -> Result<Option<Key>> {
    let range = match after {
        Some(after) => Range::all(limit).after((after.business, after.shop_sku.as_str()))?,
        None => Range::all(limit),
    };
    let page = tx.scan(&CUTS, range).await?;
    let keys: Vec<Key> = page
        .iter()
        .map(|((business, shop_sku), _)| Key { business: *business, shop_sku: shop_sku.clone() })
        .collect();
    let debts = tx.get_many(&FAILURES, keys.iter().map(|key| (key.business, key.shop_sku.as_str()))).await?;
    for ((key, (_, cut)), owed) in keys.iter().zip(&page).zip(debts) {
        let has = |reason: Cut| cut.reason.iter().any(|known| known == reason.name());
        let passes = !rules.forbidden.contains(&key.business)
            && (has(Cut::Forbidden) || (has(Cut::Dbs) && rules.takes_dbs(key.business)));
        if passes {
            tx.delete(&CUTS, (key.business, key.shop_sku.as_str()))?;
            debt::put(tx, key, owed.as_ref(), &debt::at_once(debt::CUT_BEFORE, owed.as_ref(), now))?;
        }
    }
    Ok((keys.len() == limit).then(|| keys.into_iter().next_back()).flatten())
}
