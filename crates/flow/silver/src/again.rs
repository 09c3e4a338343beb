//! What is owed is read again from united and imported, and what was cut is owed when it would pass.

use kit::Timestamp;
use store::{Range, Read as _, Tx};
use united::United;

use crate::convert::Delivered;
use crate::import::{Imported, import};
use crate::ssku::Key;
use crate::steps::{Cut, Rules};
use crate::tables::{CUTS, ERP_QUEUE, FAILURES, GOLD_QUEUE, QueuedRow};
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
    let offers = united.shipped(tx, key.business, std::slice::from_ref(&key.shop_sku)).await?;
    let Some(offer) = offers.into_iter().next().flatten() else {
        if owed.reason == debt::CUT_BEFORE {
            debt::remove(tx, key, &owed)?;
        } else {
            let again =
                debt::after_try(&owed, &format!("{}; united has no such offer", first(&owed.reason)), now);
            debt::put(tx, key, Some(&owed), &again)?;
        }
        return Ok(Imported::default());
    };
    let delivered = Delivered::of(&offer).map_err(Error::Invalid)?;
    if let Err(refused) = &delivered.ssku {
        debt::put(tx, key, Some(&owed), &debt::after_try(&owed, &refused.reason, now))?;
        return Ok(Imported::default());
    }
    // The whole offer is here: nothing of what was owed or cut before is left to be read.
    debt::remove(tx, key, &owed)?;
    tx.delete(&CUTS, row)?;
    if debt::is_of_gold(&owed) {
        tx.put(&GOLD_QUEUE, row, &QueuedRow::default())?;
        tx.put(&ERP_QUEUE, row, &())?;
        tx.wake(CHANNEL);
    }
    import(tx, rules, &[delivered], now).await
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
