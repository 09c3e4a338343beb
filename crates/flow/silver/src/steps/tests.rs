//! What the steps' tests share, and the steps in a row.

use wire::silver::{ParameterValue, Part};
use wire::united::Colour;
use wire::united::value::Kind;

use super::*;
use crate::parameters::value;

pub(crate) fn key(business: u32) -> Key {
    Key { business, shop_sku: "sku".to_owned() }
}

/// A part whose name is `text`; none if it is empty.
pub(crate) fn part(version: i64, colour: Colour, text: &str) -> Part {
    let name = ParameterValue {
        parameter_id: 1,
        value: vec![value(Kind::Text(text.to_owned()))],
        ..ParameterValue::default()
    };
    let value = if text.is_empty() { Vec::new() } else { vec![name] };
    Part { value, version, colour: colour.into(), removed: false, by_hand: false }
}

/// An offer whose parts all have one version.
pub(crate) fn offer(key: &Key, version: i64, services: &[(u32, Colour, &str)]) -> CommonSsku {
    let mut offer = CommonSsku::new(key.clone());
    offer.basic = Some(part(version, Colour::UnknownColour, "basic"));
    for (shop, colour, text) in services {
        offer.services.insert(*shop, part(version, *colour, text));
    }
    offer
}

/// What a row of offers leaves stored, each imported alone.
pub(crate) fn stored_after(rules: &Rules, offers: &[CommonSsku]) -> Stored {
    let mut stored = Stored::default();
    for offer in offers {
        let plan = plan(rules, &offer.key, std::slice::from_ref(offer), &stored);
        save(&mut stored, plan);
    }
    stored
}

pub(crate) fn save(stored: &mut Stored, plan: Plan) {
    match plan.detected {
        Some(Detected::Changed { source, row } | Detected::Versions { source, row }) => {
            for source in detect::garbage(stored, source) {
                stored.rows.remove(&source);
            }
            stored.exists = crate::ssku::existing_shops(&row).next().is_some();
            stored.rows.insert((source.name().to_owned(), SOURCE_ID.to_owned()), row);
        }
        Some(Detected::Erased) => *stored = Stored::default(),
        _ => {}
    }
}

#[track_caller]
fn check(rules: &Rules, before: &[CommonSsku], came: &[CommonSsku], outcome: &str, cuts: &[Cut]) -> Plan {
    let stored = stored_after(rules, before);
    let plan = plan(rules, &came[0].key, came, &stored);
    let last = plan.trace.last().map_or("", |trace| trace.outcome);
    assert_eq!((last, plan.cuts.iter().copied().collect::<Vec<_>>().as_slice()), (outcome, cuts), "{plan:?}");
    plan
}

const BLUE: Colour = Colour::Blue;
const WHITE: Colour = Colour::White;
const DBS: Colour = Colour::Dbs;

#[test]
fn the_steps_in_a_row() {
    let rules = Rules::default();
    let some = Rules { dbs_mode: DbsMode::BlueAndSomeDbs, ..Rules::default() };
    let forbidden = Rules { forbidden: [7].into(), ..Rules::default() };
    let of = |version, services: &[(u32, Colour, &str)]| offer(&key(7), version, services);
    let blue = of(5, &[(1, BLUE, "a")]);
    check(&rules, &[], std::slice::from_ref(&blue), "changed", &[]);
    check(&rules, std::slice::from_ref(&blue), std::slice::from_ref(&blue), "repeated", &[]);
    check(&rules, std::slice::from_ref(&blue), &[of(4, &[(1, BLUE, "b")])], "older", &[]);
    check(&rules, std::slice::from_ref(&blue), &[of(6, &[(1, BLUE, "a")])], "same_data", &[]);
    check(&rules, &[], &[of(5, &[])], "no_services", &[Cut::NoServices]);
    check(&rules, std::slice::from_ref(&blue), &[of(6, &[])], "same_data", &[]);
    check(&forbidden, &[], std::slice::from_ref(&blue), "forbidden", &[Cut::Forbidden]);
    // An unsupported offer ends with the answer to its migration.
    check(&rules, &[], &[of(5, &[(1, WHITE, "a")])], "unsupported", &[Cut::Colour]);
    // In a mode that does not take it, a DBS offer has no services left and none stored.
    check(&some, &[], &[of(5, &[(1, DBS, "a")])], "no_services", &[Cut::NoServices, Cut::Dbs]);
    check(&some, std::slice::from_ref(&blue), &[of(6, &[(2, DBS, "a")])], "changed", &[]);
}

#[test]
fn what_is_cut_passes_as_soon_as_the_ssku_is_kept() {
    let some = Rules { dbs_mode: DbsMode::BlueAndSomeDbs, ..Rules::default() };
    let mixed = offer(&key(7), 5, &[(1, BLUE, "a"), (2, DBS, "b"), (3, WHITE, "c")]);
    let plan = check(&some, &[], std::slice::from_ref(&mixed), "changed", &[]);
    let Some(Detected::Changed { row, source }) = plan.detected else { panic!() };
    assert_eq!(source, SourceType::Supplier);
    assert!(!row.services[&2].removed && row.services[&3].removed);
    // The same parts in two messages of one batch, the basic one alone first.
    let basic = offer(&key(7), 6, &[]);
    let both = check(&some, &[], &[basic.clone(), mixed], "changed", &[]);
    let Some(Detected::Changed { row, .. }) = both.detected else { panic!() };
    assert_eq!(row.basic, basic.basic);
}

/// BLUE → WHITE: the service leaves with its version, and its old state does not come back.
#[test]
fn a_service_that_turned_white_leaves() {
    let rules = Rules::default();
    let blue = offer(&key(7), 5, &[(1, BLUE, "a")]);
    let white = offer(&key(7), 6, &[(1, WHITE, "a")]);
    let stored = stored_after(&rules, &[blue.clone(), white, blue]);
    let row = stored.row(SourceType::Supplier).unwrap();
    assert!(row.services[&1].removed && row.services[&1].version == 6 && !stored.exists);
}
