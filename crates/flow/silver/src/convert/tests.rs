use std::collections::BTreeMap;

use wire::united::value::Kind;
use wire::united::{
    Box as Sides, Colour, DataSource, Flag, IntegerListValue, IntegerValue, OfferContent, OfferMeta,
    OfferStatus, PartnerContent, Period, PreciseDimensions, PreciseWeight, StringListValue, StringValue,
    TimePeriod, TimeUnit, UnitedOffersBatch, UpdateMeta, Vat, VatValue,
};

use super::*;
use crate::parameters::{Parameter, value};

#[expect(clippy::unnecessary_wraps, reason = "the fields that it fills are optional")]
fn identifiers(business: u32, sku: &str, shop: Option<u32>) -> Option<OfferIdentifiers> {
    Some(OfferIdentifiers { business_id: Some(business), offer_id: Some(sku.to_owned()), shop_id: shop })
}

fn part_of(shop: Option<u32>, original: OriginalSpecification, original_terms: OriginalTerms) -> Offer {
    let partner = PartnerContent { original: Some(original), original_terms: Some(original_terms) };
    Offer {
        identifiers: identifiers(7, "sku", shop),
        meta: Some(OfferMeta { version: Some(5), rgb: Some(Colour::Blue.into()), updated_at: None }),
        content: Some(OfferContent { partner: Some(partner), master_data: None }),
        ..Offer::default()
    }
}

fn plain(shop: Option<u32>) -> Offer {
    part_of(shop, OriginalSpecification::default(), OriginalTerms::default())
}

fn united(services: &[u32]) -> UnitedOffer {
    let service = services.iter().map(|shop| (*shop, plain(Some(*shop)))).collect();
    UnitedOffer { basic: Some(plain(None)), service }
}

#[expect(clippy::unnecessary_wraps, reason = "the fields that it fills are optional")]
fn text(text: &str) -> Option<StringValue> {
    Some(StringValue { meta: None, value: Some(text.to_owned()) })
}

#[track_caller]
fn check(
    original: OriginalSpecification,
    terms: OriginalTerms,
    expected: Result<&[(&str, Vec<Kind>)], &str>,
) {
    let offer = UnitedOffer { basic: None, service: [(3, part_of(Some(3), original, terms))].into() };
    match (convert(&offer), expected) {
        (Ok(ssku), Ok(expected)) => {
            let found: Vec<_> = ssku.services[&3]
                .value
                .iter()
                .map(|found| (Parameter::by_id(found.parameter_id).unwrap().name, found.value.clone()))
                .collect();
            let kinds = |kinds: &Vec<Kind>| kinds.iter().cloned().map(value).collect::<Vec<_>>();
            let expected: Vec<_> = expected.iter().map(|(name, values)| (*name, kinds(values))).collect();
            assert_eq!(found, expected);
        }
        (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
        (found, expected) => panic!("{found:?} and not {expected:?}"),
    }
}

#[test]
fn fields_become_typed_values() {
    let original = OriginalSpecification {
        name: text("Kettle"),
        vendor: text(""),
        barcode: Some(StringListValue { meta: None, value: vec!["1".into(), String::new(), "2".into()] }),
        weight: Some(PreciseWeight { meta: None, value_mg: Some(1_500_000) }),
        dimensions: Some(PreciseDimensions {
            meta: None,
            length_mkm: Some(3),
            width_mkm: Some(2),
            height_mkm: Some(1),
        }),
        shelf_life: Some(TimePeriod {
            meta: None,
            amount: Some(6),
            unit: Some(TimeUnit::Month.into()),
            comment: Some("in the cold".into()),
        }),
        guarantee: Some(TimePeriod { unit: Some(TimeUnit::Unlimited.into()), ..TimePeriod::default() }),
        life_time: Some(TimePeriod::default()),
        country_of_origin: Some(StringListValue::default()),
        ..OriginalSpecification::default()
    };
    let terms = OriginalTerms {
        box_count: Some(IntegerValue { meta: None, value: Some(2) }),
        supply_schedule: Some(IntegerListValue { meta: None, value: vec![1, 5] }),
        vat: Some(VatValue { meta: None, value: Some(Vat::Vat10.into()) }),
        hidden: Some(Flag { meta: None, flag: Some(false) }),
        use_in_mercury: Some(Flag::default()),
        ..OriginalTerms::default()
    };
    let month = Period { amount: 6, unit: TimeUnit::Month.into(), comment: "in the cold".into() };
    let unlimited = Period { amount: 0, unit: TimeUnit::Unlimited.into(), comment: String::new() };
    let expected = [
        ("name", vec![Kind::Text("Kettle".into())]),
        ("barcode", vec![Kind::Text("1".into()), Kind::Text("2".into())]),
        ("weight", vec![Kind::Integer(1_500_000)]),
        ("dimensions", vec![Kind::Box(Sides { length: 3, width: 2, height: 1 })]),
        ("shelf_life", vec![Kind::Period(month)]),
        ("guarantee", vec![Kind::Period(unlimited)]),
        ("box_count", vec![Kind::Integer(2)]),
        ("supply_schedule", vec![Kind::Integer(1), Kind::Integer(5)]),
        ("vat", vec![Kind::Text("VAT_10".into())]),
        ("hidden", vec![Kind::Flag(false)]),
    ];
    check(original, terms, Ok(&expected));
    check(OriginalSpecification::default(), OriginalTerms::default(), Ok(&[]));
}

#[test]
fn what_cannot_be_is_said_with_its_name() {
    let original = |change: fn(&mut OriginalSpecification)| {
        let mut original = OriginalSpecification::default();
        change(&mut original);
        original
    };
    let weight = |value_mg| Some(PreciseWeight { meta: None, value_mg });
    let none = OriginalTerms::default;
    check(
        original(|o| o.weight_net = Some(PreciseWeight { meta: None, value_mg: Some(-1) })),
        none(),
        Err("weight_net: -1"),
    );
    check(OriginalSpecification { weight: weight(Some(0)), ..original(|_| {}) }, none(), Err("weight: 0"));
    check(OriginalSpecification { weight: weight(None), ..original(|_| {}) }, none(), Ok(&[]));
    check(
        original(|o| o.dimensions = Some(PreciseDimensions { width_mkm: Some(1), ..Default::default() })),
        none(),
        Err("dimensions: a box has three sides"),
    );
    check(
        original(|o| o.shelf_life = Some(TimePeriod { amount: Some(3), ..Default::default() })),
        none(),
        Err("shelf_life: a period without a unit"),
    );
    check(original(|o| o.name = text(&"x".repeat(300_000))), none(), Err("name: a text of 300000 bytes"));
    let terms =
        OriginalTerms { supply_schedule: Some(IntegerListValue { meta: None, value: vec![0] }), ..none() };
    check(original(|_| {}), terms, Err("supply_schedule: 0"));
    let many = StringListValue { meta: None, value: vec!["x".into(); 1_001] };
    check(
        OriginalSpecification { barcode: Some(many), ..original(|_| {}) },
        none(),
        Err("barcode: 1001 values"),
    );
}

#[test]
fn a_part_keeps_source_time_version_colour_and_removal() {
    let mut offer = united(&[3]);
    let service = offer.service.get_mut(&3).unwrap();
    let meta = UpdateMeta { source: Some(DataSource::PartnerApi.into()), timestamp: Some(77) };
    let partner = service.content.as_mut().unwrap().partner.as_mut().unwrap();
    partner.original.as_mut().unwrap().name = Some(StringValue { meta: Some(meta), value: Some("a".into()) });
    service.status =
        Some(OfferStatus { removed: Some(Flag { meta: None, flag: Some(true) }), ..OfferStatus::default() });
    let ssku = convert(&offer).unwrap();
    let part = &ssku.services[&3];
    assert_eq!((part.version, part.colour(), part.removed), (5, Colour::Blue, true));
    assert_eq!((part.value[0].source(), part.value[0].updated_at), (DataSource::PartnerApi, 77));
    assert!(!ssku.basic.unwrap().removed, "the mark is kept per part");
    assert!(ssku.erased.is_empty());
    let erased = Some(Flag { meta: None, flag: Some(true) });
    offer.service.get_mut(&3).unwrap().status = Some(OfferStatus { erased, ..OfferStatus::default() });
    assert_eq!(convert(&offer).unwrap().erased, [3].into());
}

#[test]
fn keys_and_versions_must_make_sense() {
    let change = |change: fn(&mut UnitedOffer)| {
        let mut offer = united(&[3]);
        change(&mut offer);
        convert(&offer)
    };
    assert_eq!(change(|_| {}).unwrap().key, Key { business: 7, shop_sku: "sku".into() });
    assert!(change(|offer| offer.basic = None).is_ok());
    assert!(change(|offer| offer.basic.as_mut().unwrap().identifiers = None).is_ok());
    for (bad, reason) in [
        (change(|offer| *offer = UnitedOffer::default()), "without a key"),
        (change(|offer| offer.basic.as_mut().unwrap().identifiers = identifiers(8, "sku", None)), "8:sku"),
        (change(|offer| offer.basic.as_mut().unwrap().identifiers = identifiers(0, "sku", None)), "business"),
        (
            change(|offer| offer.basic.as_mut().unwrap().identifiers = identifiers(7, "a\nb", None)),
            "1 to 512",
        ),
        (change(|offer| offer.service = [(4, plain(Some(3)))].into()), "shop 4 that says shop 3"),
        (change(|offer| offer.service = [(0, plain(None))].into()), "shop 0"),
        (change(|offer| offer.basic.as_mut().unwrap().meta = None), "basic part: no version"),
    ] {
        let error = bad.unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

fn batch(offers: Vec<UnitedOffer>) -> Vec<u8> {
    UnitedOffersBatch { offer: offers }.encode_to_vec()
}

#[test]
fn one_bad_offer_spoils_no_other() {
    let mut bad = united(&[3]);
    bad.service.get_mut(&3).unwrap().meta = None;
    let read = read_batch(&batch(vec![united(&[1]), bad, united(&[2])])).unwrap();
    let good: Vec<_> = read.iter().map(|delivered| delivered.ssku.is_ok()).collect();
    assert_eq!(good, [true, false, true]);
    let refused = read[1].ssku.as_ref().unwrap_err();
    assert_eq!((refused.reason.as_str(), refused.parts.len()), ("shop 3: no version", 0));
    assert!(read.iter().all(|delivered| delivered.key == Key { business: 7, shop_sku: "sku".into() }));
    assert!(read_batch(&[]).unwrap().is_empty());
}

#[test]
fn what_a_refused_offer_would_have_brought_is_known() {
    let mut bad = united(&[3]);
    let partner = bad.service.get_mut(&3).unwrap().content.as_mut().unwrap().partner.as_mut().unwrap();
    partner.original.as_mut().unwrap().weight = Some(PreciseWeight { meta: None, value_mg: Some(-1) });
    let refused = Delivered::of(&bad).unwrap().ssku.unwrap_err();
    assert_eq!(refused.reason, "shop 3: weight: -1 is not a weight");
    let parts: Vec<_> = refused.parts.iter().map(|part| (part.shop_id, part.version)).collect();
    assert_eq!(parts, [(0, 5), (3, 5)]);
}

/// An offer whose basic part cannot be decoded (a text that is not UTF-8) still has its key.
#[test]
fn the_key_of_a_broken_offer_is_found() {
    let whole = batch(vec![united(&[3])]);
    let name = part_of(
        None,
        OriginalSpecification { name: text("marker"), ..Default::default() },
        OriginalTerms::default(),
    );
    let offer = UnitedOffer { basic: Some(name), service: BTreeMap::new() };
    let mut broken = batch(vec![offer]);
    let at = broken.windows(6).position(|bytes| bytes == b"marker").unwrap();
    broken[at] = 0xff;
    let read = read_batch(&[whole, broken].concat()).unwrap();
    assert_eq!(read.len(), 2);
    assert_eq!(read[1].key, read[0].key);
    assert!(read[0].ssku.is_ok());
    assert!(read[1].ssku.as_ref().unwrap_err().reason.contains("cannot be decoded"));
}

#[test]
fn a_message_without_keys_is_nobodys() {
    let mut other = united(&[]);
    other.basic.as_mut().unwrap().identifiers = identifiers(8, "sku", None);
    for (payload, reason) in [
        (vec![0x0a, 9, 1], "not a protobuf message"),
        (vec![0x0a, 2, 0x0a, 9], "no key can be read"),
        (vec![0x08, 1], "not a message"),
        (batch(vec![united(&[1]), UnitedOffer::default()]), "without a key"),
        (batch(vec![united(&[1]), other]), "businesses 7 and 8"),
    ] {
        let error = read_batch(&payload).err().unwrap();
        assert!(error.contains(reason), "{error}");
    }
}
