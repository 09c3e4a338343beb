//! Step 4: one silver record per SSKU of a batch.

use std::collections::btree_map::Entry;

use wire::silver::Part;

use crate::ssku::CommonSsku;

/// Collapses the offers of one SSKU, part by part, to the newest. The record's source is the one that all imports have
/// ([`crate::ssku::SOURCE_ID`]); its type is known when it is merged with what is stored.
pub fn to_silver(offers: Vec<CommonSsku>) -> Option<CommonSsku> {
    let mut offers = offers.into_iter();
    let mut newest = offers.next()?;
    for offer in offers {
        take_erased(&mut newest, &offer);
        if let Some(basic) = offer.basic
            && newest.basic.as_ref().is_none_or(|known| is_newer(&basic, known))
        {
            newest.basic = Some(basic);
        }
        for (shop, part) in offer.services {
            match newest.services.entry(shop) {
                Entry::Vacant(place) => {
                    place.insert(part);
                }
                Entry::Occupied(mut known) => {
                    if is_newer(&part, known.get()) {
                        known.insert(part);
                    }
                }
            }
        }
    }
    Some(newest)
}

pub(super) fn is_newer(one: &Part, other: &Part) -> bool {
    one.version > other.version
}

/// Whether a part is erased is said by its newest state.
fn take_erased(newest: &mut CommonSsku, offer: &CommonSsku) {
    for (shop, part) in offer.parts() {
        let known = newest.parts().find(|(known, _)| *known == shop).map(|(_, part)| part.version);
        if known.is_some_and(|known| known >= part.version) {
            continue;
        }
        if offer.erased.contains(&shop) {
            newest.erased.insert(shop);
        } else {
            newest.erased.remove(&shop);
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::united::Colour;

    use super::super::tests::{key, offer};
    use super::*;

    #[test]
    fn one_offer_stays_as_it_is() {
        let one = offer(&key(7), 5, &[(1, Colour::Blue, "a")]);
        assert_eq!(to_silver(vec![one.clone()]), Some(one));
        assert_eq!(to_silver(Vec::new()), None);
    }

    /// v5 {shop 1} and v6 {shop 2} in one batch keep both.
    #[test]
    fn the_newest_of_each_part_wins_not_the_newest_offer() {
        let five = offer(&key(7), 5, &[(1, Colour::Blue, "one")]);
        let six = offer(&key(7), 6, &[(2, Colour::Dbs, "two")]);
        let four = offer(&key(7), 4, &[(1, Colour::Blue, "old"), (2, Colour::Blue, "old")]);
        for order in [[&five, &six, &four], [&four, &six, &five], [&six, &four, &five], [&five, &five, &six]]
        {
            let silver = to_silver(order.into_iter().cloned().collect()).unwrap();
            assert_eq!(silver.basic, six.basic);
            assert_eq!(silver.services[&1], five.services[&1]);
            assert_eq!(silver.services[&2], six.services[&2]);
        }
    }

    #[test]
    fn an_erasure_counts_if_it_is_the_newest_word() {
        let mut erased = offer(&key(7), 5, &[(1, Colour::Blue, "")]);
        erased.erased.insert(1);
        let older = offer(&key(7), 4, &[(1, Colour::Blue, "a")]);
        let newer = offer(&key(7), 6, &[(1, Colour::Blue, "b")]);
        for (order, expected) in [
            ([&older, &erased], true),
            ([&erased, &older], true),
            ([&erased, &newer], false),
            ([&newer, &erased], false),
        ] {
            let silver = to_silver(order.into_iter().cloned().collect()).unwrap();
            assert_eq!(silver.erased.contains(&1), expected, "{order:?}");
        }
    }
}
