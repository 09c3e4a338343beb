//! What is owed: SSKUs that could not be imported and must be read again from their source.
//!
//! A debt is a row under the SSKU's key and, unless it is parked, one in the order of due times. It is paid when every
//! part that it speaks of is stored in that version or a newer one; where the parts are not known, only by reading the
//! whole offer again.

use std::time::Duration;

use kit::Timestamp;
use store::{Range, Read as _, Tx};
use topics::failures::debts::Patience;
use wire::silver::{Debt, PartVersion, SskuRow};

use crate::ssku::{BASIC, Key};
use crate::tables::{FAILURES, FAILURES_DUE};
use crate::{CHANNEL, Result};

const PATIENCE: Patience =
    Patience { first_wait: Duration::from_secs(5), max_wait: Duration::from_secs(3_600), max_tries: 100 };

/// Why an SSKU is read again, when nothing failed.
pub const CUT_BEFORE: &str = "it was cut before we kept it";

/// What the reason begins with when silver is there and no gold can be made of it.
pub const NO_GOLD: &str = "no gold can be made";

/// Writes a debt anew, in the place of what was owed before.
pub fn put(tx: &mut Tx, key: &Key, before: Option<&Debt>, debt: &Debt) -> Result<()> {
    forget_due(tx, key, before)?;
    tx.put(&FAILURES, (key.business, key.shop_sku.as_str()), debt)?;
    if !debt.parked {
        tx.put(&FAILURES_DUE, (Timestamp(debt.not_before), key.business, key.shop_sku.as_str()), &())?;
        tx.wake(CHANNEL);
    }
    Ok(())
}

/// The SSKU owes nothing any more.
pub fn remove(tx: &mut Tx, key: &Key, before: &Debt) -> Result<()> {
    forget_due(tx, key, Some(before))?;
    tx.delete(&FAILURES, (key.business, key.shop_sku.as_str()))?;
    Ok(())
}

/// Writes what is owed now, if that is something else than before.
pub fn settle(tx: &mut Tx, key: &Key, before: Option<&Debt>, owed: Option<&Debt>) -> Result<()> {
    match (before, owed) {
        (before, Some(owed)) if before != Some(owed) => put(tx, key, before, owed),
        (Some(before), None) => remove(tx, key, before),
        _ => Ok(()),
    }
}

fn forget_due(tx: &mut Tx, key: &Key, before: Option<&Debt>) -> Result<()> {
    if let Some(before) = before.filter(|before| !before.parked) {
        tx.delete(&FAILURES_DUE, (Timestamp(before.not_before), key.business, key.shop_sku.as_str()))?;
    }
    Ok(())
}

/// What is owed after another failure of a message: the parts of both.
pub fn after_message(before: Option<&Debt>, reason: &str, parts: &[PartVersion], now: Timestamp) -> Debt {
    let is_known = !parts.is_empty() && before.is_none_or(|before| !before.part.is_empty());
    let mut all = before.map(|before| before.part.clone()).unwrap_or_default();
    for part in parts {
        match all.iter_mut().find(|known| known.shop_id == part.shop_id) {
            Some(known) => known.version = known.version.max(part.version),
            None => all.push(*part),
        }
    }
    let not_before = before
        .filter(|before| !before.parked)
        .map_or(now.plus(PATIENCE.first_wait).0, |before| before.not_before);
    Debt {
        tries: before.map_or(0, |before| before.tries),
        not_before,
        reason: reason.to_owned(),
        since: before.map_or(now.0, |before| before.since),
        parked: false,
        part: if is_known { all } else { Vec::new() },
    }
}

/// What is owed after reading it again did not help.
pub fn after_try(before: &Debt, reason: &str, now: Timestamp) -> Debt {
    let (tries, reason) = (before.tries + 1, reason.to_owned());
    let not_before = now.plus(PATIENCE.wait(tries)).0;
    Debt { tries, reason, not_before, parked: PATIENCE.is_over(tries), ..before.clone() }
}

/// The SSKU is to be read again at once.
pub fn at_once(reason: &str, before: Option<&Debt>, now: Timestamp) -> Debt {
    match before {
        Some(before) => {
            // Of what was cut the parts are not known, so only reading the whole offer pays.
            let part = if reason == CUT_BEFORE { Vec::new() } else { before.part.clone() };
            Debt { not_before: now.0, parked: false, tries: 0, part, ..before.clone() }
        }
        None => Debt { not_before: now.0, reason: reason.to_owned(), since: now.0, ..Debt::default() },
    }
}

/// A person must look at once: trying again changes nothing.
pub fn parked(what: &str, why: &str, before: Option<&Debt>, now: Timestamp) -> Debt {
    let since = before.map_or(now.0, |before| before.since);
    Debt { reason: format!("{what}: {why}"), since, not_before: now.0, parked: true, ..Debt::default() }
}

/// Whether it speaks of gold, and of nothing that silver lacks.
pub fn is_of_gold(debt: &Debt) -> bool {
    debt.reason.starts_with(NO_GOLD)
}

/// Whether everything that these parts would have brought is stored.
pub fn is_covered(parts: &[PartVersion], stored: Option<&SskuRow>) -> bool {
    let Some(row) = stored else { return false };
    let version = |shop: u32| {
        let part = if shop == BASIC { row.basic.as_ref() } else { row.services.get(&shop) };
        part.map_or(0, |part| part.version)
    };
    !parts.is_empty() && parts.iter().all(|part| version(part.shop_id) >= part.version)
}

/// The keys that are due by now, the earliest first.
pub async fn due(tx: &impl store::Read, now: Timestamp, limit: usize) -> Result<Vec<Key>> {
    let rows = tx.scan(&FAILURES_DUE, Range::all(limit).up_to((now,))?).await?;
    Ok(rows.into_iter().map(|((_, business, shop_sku), ())| Key { business, shop_sku }).collect())
}

/// Lets a debt be tried at once, if there is one.
pub async fn retry(tx: &mut Tx, key: &Key, now: Timestamp) -> Result<Option<Debt>> {
    let Some(before) = tx.get(&FAILURES, (key.business, key.shop_sku.as_str())).await? else {
        return Ok(None);
    };
    let owed = at_once("", Some(&before), now);
    put(tx, key, Some(&before), &owed)?;
    Ok(Some(owed))
}

/// Forgets these debts. A migration that waits for what was owed has nothing to wait for any more, and is answered.
pub async fn give_up(tx: &mut Tx, debts: &[(Key, Debt)], now: Timestamp) -> Result<()> {
    let keys = debts.iter().map(|(key, _)| (key.business, key.shop_sku.as_str()));
    let open = tx.get_many(&united::MIGRATIONS_OPEN, keys).await?;
    for ((key, owed), open) in debts.iter().zip(open) {
        remove(tx, key, owed)?;
        if let Some(open) = open {
            united::migrations::answer(tx, key.business, &key.shop_sku, &open, now).await?;
        }
    }
    Ok(())
}

/// Forgets a debt, if there is one.
pub async fn drop_debt(tx: &mut Tx, key: &Key, now: Timestamp) -> Result<Option<Debt>> {
    let before = tx.get(&FAILURES, (key.business, key.shop_sku.as_str())).await?;
    if let Some(before) = &before {
        give_up(tx, &[(key.clone(), before.clone())], now).await?;
    }
    Ok(before)
}

#[cfg(test)]
mod tests {
    use wire::silver::Part;

    use super::*;

    fn parts(versions: &[(u32, i64)]) -> Vec<PartVersion> {
        versions
            .iter()
            .map(|(shop_id, version)| PartVersion { shop_id: *shop_id, version: *version })
            .collect()
    }

    #[test]
    fn a_debt_is_covered_part_by_part() {
        let part = |version| Part { version, ..Part::default() };
        let row = SskuRow {
            basic: Some(part(6)),
            services: [(1, part(3)), (2, part(6))].into(),
            version: 6,
            ..SskuRow::default()
        };
        for (owed, expected) in [
            (&[(0, 6), (2, 6)][..], true),
            (&[(0, 5), (1, 3)], true),
            // The offer's version is greater, and yet the part is missing.
            (&[(0, 5), (1, 5)], false),
            (&[(3, 1)], false),
            (&[], false),
        ] {
            assert_eq!(is_covered(&parts(owed), Some(&row)), expected, "{owed:?}");
        }
        assert!(!is_covered(&parts(&[(0, 1)]), None));
    }

    #[test]
    fn failures_add_up() {
        let first = after_message(None, "a", &parts(&[(0, 5), (1, 5)]), Timestamp(10));
        assert_eq!(
            (first.since, first.tries, first.not_before),
            (10, 0, Timestamp(10).plus(PATIENCE.first_wait).0)
        );
        let second = after_message(Some(&first), "b", &parts(&[(0, 4), (2, 7)]), Timestamp(20));
        assert_eq!(second.part, parts(&[(0, 5), (1, 5), (2, 7)]));
        assert_eq!((second.since, second.reason.as_str(), second.not_before), (10, "b", first.not_before));
        // What one of them would have brought is not known: so it is of both.
        assert!(after_message(Some(&second), "c", &[], Timestamp(30)).part.is_empty());
        let unknown = after_message(None, "c", &[], Timestamp(30));
        assert!(after_message(Some(&unknown), "b", &parts(&[(0, 4)]), Timestamp(30)).part.is_empty());
    }

    #[test]
    fn tries_wait_longer_and_end_with_a_person() {
        let mut debt = after_message(None, "a", &[], Timestamp(0));
        let mut waits = Vec::new();
        while !debt.parked {
            debt = after_try(&debt, "again", Timestamp(0));
            waits.push(debt.not_before / 1_000_000);
        }
        assert_eq!(&waits[..4], [5, 10, 20, 40]);
        assert_eq!((waits.len(), waits[99]), (100, 3_600));
        assert!(!at_once("", Some(&debt), Timestamp(7)).parked);
    }

    #[test]
    fn what_was_cut_is_paid_by_the_whole_offer_alone() {
        let owed = after_message(None, "a", &parts(&[(1, 5)]), Timestamp(0));
        assert!(at_once(CUT_BEFORE, Some(&owed), Timestamp(7)).part.is_empty());
        assert_eq!(
            at_once("", Some(&owed), Timestamp(7)).part,
            owed.part,
            "a person's retry changes nothing"
        );
    }
}
