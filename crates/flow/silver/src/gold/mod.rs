//! Gold: one value per parameter, with everything that it was chosen from.

pub mod preview;
pub mod requeue;
pub mod rules;
pub mod survive;
pub mod work;

use std::collections::BTreeMap;

use wire::silver::{Candidate, GoldValue, Part, SskuRow};
use wire::united::Colour;

use crate::ssku::{BASIC, SourceType, existing_shops};
pub use rules::Rules;

/// The golden values of an SSKU, by parameter; none if no shop has it any more.
pub fn make(rules: &Rules, records: &[(SourceType, &SskuRow)]) -> Vec<GoldValue> {
    let mut candidates: BTreeMap<u32, Vec<Candidate>> = BTreeMap::new();
    for (source, row) in records {
        let shops: Vec<u32> = existing_shops(row).collect();
        if shops.is_empty() {
            continue;
        }
        let mut add = |source: SourceType, shop: u32, part: &Part| {
            for said in &part.value {
                candidates.entry(said.parameter_id).or_default().push(Candidate {
                    value: said.value.clone(),
                    source_type: source.name().to_owned(),
                    shop_id: shop,
                    source: said.source,
                    updated_at: said.updated_at,
                });
            }
        };
        if let Some(basic) = &row.basic {
            add(*source, BASIC, basic);
        }
        for shop in shops {
            let part = &row.services[&shop];
            let source = if part.colour() == Colour::Dbs { SourceType::Dbs } else { SourceType::Supplier };
            add(source, shop, part);
        }
    }
    let survived = candidates.into_iter().map(|(parameter, candidates)| {
        let survivor = survive::survive(rules.of(parameter), candidates);
        GoldValue {
            parameter_id: parameter,
            value: survivor.value,
            candidate: survivor.candidates,
            reason: survivor.reason.to_owned(),
        }
    });
    survived.collect()
}

#[cfg(test)]
mod tests {
    use wire::united::value::Kind;

    use super::*;
    use crate::parameters::value;
    use crate::steps::tests::part;

    fn row(basic: &str, services: &[(u32, Colour, &str)]) -> SskuRow {
        SskuRow {
            basic: Some(part(1, Colour::UnknownColour, basic)),
            services: services.iter().map(|(shop, colour, text)| (*shop, part(1, *colour, text))).collect(),
            ..SskuRow::default()
        }
    }

    #[track_caller]
    fn check(row: &SskuRow, winner: Option<(&str, u32)>, reason: &str) {
        let gold = make(&Rules::default(), &[(SourceType::Supplier, row)]);
        let found = gold.first().map(|gold| (gold.value[0].clone(), gold.candidate[0].shop_id));
        let expected = winner.map(|(text, shop)| (value(Kind::Text(text.to_owned())), shop));
        assert_eq!(found, expected);
        assert_eq!(gold.first().map_or("", |gold| &gold.reason), reason);
    }

    #[test]
    fn only_what_exists_speaks() {
        let (blue, dbs) = (Colour::Blue, Colour::Dbs);
        check(&row("basic", &[(1, blue, "one")]), Some(("one", 1)), "service_over_basic");
        check(&row("basic", &[(1, blue, "")]), Some(("basic", 0)), "only_candidate");
        check(&row("a", &[(1, blue, "a"), (2, dbs, "a")]), Some(("a", 1)), "all_agree");
        check(&row("", &[(1, dbs, "one"), (2, blue, "two")]), Some(("two", 2)), "source_priority");
        check(&row("basic", &[]), None, "");
        let mut gone = row("basic", &[(1, blue, "one"), (2, dbs, "two")]);
        gone.services.get_mut(&1).unwrap().removed = true;
        check(&gone, Some(("two", 2)), "service_over_basic");
        gone.services.get_mut(&2).unwrap().removed = true;
        check(&gone, None, "");
        let mut removed = row("basic", &[(1, blue, "one")]);
        removed.basic.as_mut().unwrap().removed = true;
        check(&removed, None, "");
    }

    #[test]
    fn every_candidate_is_kept_the_winner_first() {
        let gold = make(
            &Rules::default(),
            &[(SourceType::Supplier, &row("basic", &[(1, Colour::Dbs, "one"), (2, Colour::Blue, "two")]))],
        );
        let shops: Vec<_> = gold[0].candidate.iter().map(|candidate| candidate.shop_id).collect();
        assert_eq!(shops, [2, 0, 1]);
    }
}
