use super::super::tests::{key, offer, part, save, stored_after};
use super::super::{Plan, Rules};
use super::*;

const BLUE: Colour = Colour::Blue;
const DBS: Colour = Colour::Dbs;

fn stored(offers: &[CommonSsku]) -> Stored {
    stored_after(&Rules::default(), offers)
}

fn came(version: i64, services: &[(u32, Colour, &str)]) -> CommonSsku {
    offer(&key(7), version, services)
}

fn changed(stored: &Stored, offer: &CommonSsku) -> (SourceType, SskuRow) {
    match detect(stored, offer) {
        Detected::Changed { source, row } => (source, row),
        other => panic!("{other:?}"),
    }
}

#[test]
fn older_equal_and_newer_parts() {
    let here = stored(&[came(5, &[(1, BLUE, "a")])]);
    for (offer, expected) in [
        (came(4, &[(1, BLUE, "b")]), "older"),
        (came(5, &[(1, BLUE, "a")]), "repeated"),
        (came(5, &[]), "repeated"),
        (came(6, &[(1, BLUE, "a")]), "same_data"),
        (came(6, &[(1, BLUE, "b")]), "changed"),
        (came(6, &[(1, DBS, "a")]), "changed"),
        (came(4, &[(2, BLUE, "b")]), "changed"),
        (came(6, &[(2, BLUE, "a")]), "changed"),
    ] {
        assert_eq!(detect(&here, &offer).outcome(), expected, "{offer:?}");
    }
    assert_eq!(detect(&Stored::default(), &came(5, &[])).outcome(), "no_services");
    // One part older, another one newer: the newer one is taken alone.
    let mut mixed = came(4, &[(1, BLUE, "old")]);
    mixed.services.insert(2, part(9, BLUE, "new"));
    let (_, row) = changed(&here, &mixed);
    assert_eq!((row.services[&1].version, row.services[&2].version, row.version), (5, 9, 9));
    assert_eq!(row.basic.unwrap().version, 5);
}

#[test]
fn services_that_did_not_come_stay() {
    let here = stored(&[came(5, &[(1, BLUE, "a"), (2, BLUE, "b")])]);
    let (_, row) = changed(&here, &came(6, &[(2, BLUE, "c")]));
    assert_eq!(row.services.keys().copied().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(row.services[&1], part(5, BLUE, "a"));
    assert_eq!(row.services[&2], part(6, BLUE, "c"));
}

#[test]
fn a_newer_version_of_the_same_data_is_kept_as_a_version() {
    let here = stored(&[came(1, &[(1, BLUE, "A")]), came(3, &[(1, BLUE, "A")])]);
    // A late v2 = B comes after v1 = A and v3 = A.
    assert_eq!(detect(&here, &came(2, &[(1, BLUE, "B")])).outcome(), "older");
    assert_eq!(here.row(SourceType::Supplier).unwrap().services[&1], part(3, BLUE, "A"));
}

#[test]
fn all_dbs_is_another_source_and_back() {
    let supplier = stored(&[came(5, &[(1, BLUE, "a"), (2, DBS, "b")])]);
    assert!(supplier.row(SourceType::Supplier).is_some());
    // The blue service turns DBS: the record moves to the other type, and its former one is garbage.
    let (source, row) = changed(&supplier, &came(6, &[(1, DBS, "a")]));
    assert_eq!(source, SourceType::Dbs);
    assert_eq!(garbage(&supplier, source), [("SUPPLIER".to_owned(), SOURCE_ID.to_owned())]);
    let mut dbs = supplier.clone();
    let plan = Plan {
        key: key(7),
        detected: Some(Detected::Changed { source, row }),
        cuts: [].into(),
        trace: Vec::new(),
        version: 6,
    };
    save(&mut dbs, plan);
    assert_eq!(dbs.rows.len(), 1);
    let (source, _) = changed(&dbs, &came(7, &[(1, BLUE, "a")]));
    assert_eq!(source, SourceType::Supplier);
    assert_eq!(garbage(&dbs, source), [("DBS".to_owned(), SOURCE_ID.to_owned())]);
}

#[test]
fn a_removed_service_speaks_for_the_source_only_when_it_is_alone() {
    let removed = |part: Part| Part { removed: true, ..part };
    let row = |services: Vec<(u32, Part)>| SskuRow {
        services: services.into_iter().collect(),
        ..SskuRow::default()
    };
    for (services, expected) in [
        (vec![(1, part(5, DBS, "a"))], SourceType::Dbs),
        (vec![(1, part(5, DBS, "a")), (2, removed(part(5, BLUE, "b")))], SourceType::Dbs),
        (vec![(1, removed(part(5, DBS, "a"))), (2, part(5, BLUE, "b"))], SourceType::Supplier),
        (vec![(1, removed(part(5, DBS, "a")))], SourceType::Dbs),
        (vec![(1, removed(part(5, DBS, "a"))), (2, removed(part(5, BLUE, "b")))], SourceType::Supplier),
        (vec![(1, part(5, DBS, "a")), (2, removed(part(5, Colour::White, "")))], SourceType::Dbs),
        (vec![(2, removed(part(5, Colour::White, "")))], SourceType::Supplier),
        (vec![], SourceType::Supplier),
    ] {
        assert_eq!(source_type(&row(services.clone())), expected, "{services:?}");
    }
}

#[test]
fn a_wrong_source_is_garbage() {
    let mut here = stored(&[came(5, &[(1, BLUE, "a")])]);
    let row = here.rows.values().next().unwrap().clone();
    here.rows.insert(("SUPPLIER".into(), "ELSEWHERE".into()), row.clone());
    here.rows.insert(("MEASUREMENT".into(), SOURCE_ID.into()), SskuRow { version: 99, ..row });
    let wrong = [("MEASUREMENT".to_owned(), SOURCE_ID.to_owned()), ("SUPPLIER".into(), "ELSEWHERE".into())];
    assert_eq!(garbage(&here, SourceType::Supplier), wrong);
    // And says nothing in a merge.
    let (_, row) = changed(&here, &came(6, &[(1, BLUE, "b")]));
    assert_eq!(row.version, 6);
}

#[test]
fn a_removed_offer_stays_as_removed() {
    let here = stored(&[came(5, &[(1, BLUE, "a")])]);
    let mut gone = came(6, &[(1, BLUE, "a")]);
    gone.services.get_mut(&1).unwrap().removed = true;
    let (_, row) = changed(&here, &gone);
    assert_eq!(crate::ssku::existing_shops(&row).count(), 0);
    assert!(row.services[&1].removed);
    // The basic part's removal takes all of the offer away.
    let mut whole = came(6, &[]);
    whole.basic.as_mut().unwrap().removed = true;
    let (_, row) = changed(&here, &whole);
    assert_eq!(crate::ssku::existing_shops(&row).count(), 0);
    assert!(!row.services[&1].removed);
}

#[test]
fn erased_parts_leave_no_trace() {
    let here = stored(&[came(5, &[(1, BLUE, "a"), (2, BLUE, "b")])]);
    let erase = |shops: &[u32]| {
        let services: Vec<_> = shops.iter().map(|shop| (*shop, BLUE, "")).collect();
        let mut offer = came(6, &services);
        offer.erased = shops.iter().copied().collect();
        offer
    };
    let (_, row) = changed(&here, &erase(&[1]));
    assert_eq!(row.services.keys().copied().collect::<Vec<_>>(), [2]);
    assert_eq!(detect(&here, &erase(&[1, 2])), Detected::Erased);
    assert_eq!(detect(&Stored::default(), &erase(&[1])), Detected::Erased);
    let mut late = erase(&[1]);
    late.services.get_mut(&1).unwrap().version = 4;
    late.basic = None;
    assert_eq!(detect(&here, &late), Detected::Older);
}
