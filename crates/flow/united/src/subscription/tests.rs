use wire::united::{
    Colour, DataSource, Flag, MarketMasterData, OfferContent, OfferIdentifiers, OfferMeta, OfferPrice,
    OfferStatus, OriginalSpecification, OriginalTerms, PartnerContent, PreciseWeight, StringListValue,
    StringValue, UpdateMeta,
};
use wire::united::{IntegerListValue, Offer};

use super::*;

#[expect(clippy::unnecessary_wraps, reason = "the fields that it fills are optional")]
fn meta(timestamp: i64) -> Option<UpdateMeta> {
    Some(UpdateMeta { source: Some(DataSource::PartnerFeed.into()), timestamp: Some(timestamp) })
}

#[expect(clippy::unnecessary_wraps, reason = "the fields that it fills are optional")]
fn text(value: &str) -> Option<StringValue> {
    Some(StringValue { meta: meta(1), value: Some(value.to_owned()) })
}

/// A part with something in every corner.
fn whole() -> Offer {
    let original = OriginalSpecification {
        name: text("kettle"),
        url: text("https://shop.example/1"),
        barcode: Some(StringListValue { meta: meta(1), value: vec!["1".into(), "2".into()] }),
        weight: Some(PreciseWeight { meta: meta(1), value_mg: Some(1_500_000) }),
        ..Default::default()
    };
    let original_terms = OriginalTerms {
        supply_schedule: Some(IntegerListValue { meta: meta(1), value: vec![1, 3, 5] }),
        ..Default::default()
    };
    Offer {
        identifiers: Some(OfferIdentifiers {
            business_id: Some(7),
            offer_id: Some("a".into()),
            shop_id: Some(3),
        }),
        meta: Some(OfferMeta { version: Some(9), rgb: Some(Colour::Blue.into()), updated_at: Some(5) }),
        status: Some(OfferStatus {
            removed: None,
            erased: None,
            published: Some(Flag { meta: None, flag: Some(true) }),
        }),
        content: Some(OfferContent {
            partner: Some(PartnerContent { original: Some(original), original_terms: Some(original_terms) }),
            master_data: Some(MarketMasterData { version: Some(4), parameter: Vec::new() }),
        }),
        price: Some(OfferPrice { minor: Some(100), currency: Some("RUB".into()) }),
    }
}

fn original(offer: &mut Offer) -> &mut OriginalSpecification {
    let content = offer.content.get_or_insert_default();
    content.partner.get_or_insert_default().original.get_or_insert_default()
}

#[track_caller]
fn check(change: impl FnOnce(&mut Offer), triggers: &[&str], others: bool) {
    let subscriptions = Subscriptions::shipped();
    let (before, mut after) = (whole(), whole());
    change(&mut after);
    for (before, after) in [(&before, &after), (&after, &before)] {
        let difference = subscriptions.compare(before, after);
        let paths: Vec<_> = difference.triggers.iter().map(|subject| subscriptions.path(*subject)).collect();
        assert_eq!((paths.as_slice(), difference.others), (triggers, others));
        assert_eq!(difference.ships(), !triggers.is_empty());
        // What differs for nobody is also cut to the same.
        let cut = |keep| subscriptions.cut(before, keep) == subscriptions.cut(after, keep);
        assert_eq!(cut(Keep::Triggers), triggers.is_empty());
        assert_eq!(cut(Keep::Shipped), !difference.counts());
    }
}

#[test]
fn only_triggers_ship_and_only_subscribed_fields_count() {
    check(|_| {}, &[], false);
    check(|offer| offer.price = None, &[], false);
    check(|offer| offer.price.as_mut().unwrap().minor = Some(7), &[], false);
    check(|offer| offer.status = None, &[], false);
    check(|offer| offer.meta.as_mut().unwrap().version = Some(10), &[], false);
    check(|offer| offer.meta.as_mut().unwrap().updated_at = None, &[], false);
    check(|offer| offer.content.as_mut().unwrap().master_data = None, &[], false);
    check(|offer| original(offer).url = text("https://other.example"), &[], true);
    check(|offer| original(offer).url = None, &[], true);
    check(|offer| original(offer).name.as_mut().unwrap().meta = meta(2), &[], true);
    check(|offer| original(offer).name = text("pot"), &["content.partner.original.name"], false);
    check(|offer| original(offer).weight = None, &["content.partner.original.weight"], true);
    check(
        |offer| original(offer).barcode.as_mut().unwrap().value.reverse(),
        &["content.partner.original.barcode"],
        false,
    );
    check(|offer| offer.meta.as_mut().unwrap().rgb = Some(Colour::White.into()), &["meta.rgb"], false);
    check(
        |offer| {
            let terms = offer.content.as_mut().unwrap().partner.as_mut().unwrap();
            terms.original_terms = None;
            offer.identifiers.as_mut().unwrap().shop_id = None;
        },
        &["content.partner.original_terms.supply_schedule"],
        true,
    );
    check(
        |offer| offer.status.as_mut().unwrap().removed = Some(Flag { meta: None, flag: Some(true) }),
        &["status.removed"],
        false,
    );
}

#[test]
fn an_empty_value_is_not_a_missing_one() {
    check(
        |offer| original(offer).vendor = Some(StringValue::default()),
        &["content.partner.original.vendor"],
        false,
    );
}

#[test]
fn a_part_is_cut_to_what_is_shipped() {
    let subscriptions = Subscriptions::shipped();
    let mut expected = whole();
    expected.price = None;
    expected.status = None;
    expected.content.as_mut().unwrap().master_data = None;
    *expected.meta.as_mut().unwrap() = OfferMeta { rgb: Some(Colour::Blue.into()), ..Default::default() };
    assert_eq!(subscriptions.cut(&whole(), Keep::Shipped), expected);
    assert_eq!(subscriptions.cut(&expected, Keep::Shipped), expected);
    assert_eq!(subscriptions.cut(&Offer::default(), Keep::Shipped), Offer::default());
}

#[test]
fn a_value_that_is_the_same_keeps_the_time_of_its_last_change() {
    let subscriptions = Subscriptions::shipped();
    let mut after = whole();
    let later = original(&mut after);
    later.name = Some(StringValue { meta: meta(8), value: Some("kettle".into()) });
    later.weight = Some(PreciseWeight { meta: meta(8), value_mg: Some(2) });
    later.vendor = Some(StringValue { meta: meta(8), value: Some("Acme".into()) });
    later.barcode = None;
    let mut carried = subscriptions.carry(&whole(), &after);
    let carried = original(&mut carried);
    assert_eq!(carried.name.as_ref().unwrap().meta, meta(1));
    assert_eq!(carried.weight.as_ref().unwrap().meta, meta(8));
    assert_eq!(carried.vendor.as_ref().unwrap().meta, meta(8));
    assert_eq!(carried.barcode, None);
    assert_eq!(subscriptions.carry(&Offer::default(), &after), after);
}

#[test]
fn the_original_numbers_are_kept() {
    let pool = DescriptorPool::decode(wire::DESCRIPTORS).unwrap();
    let number = |message: &str, field: &str| {
        let message = pool.get_message_by_name(&format!("dvor.united.v1.{message}")).unwrap();
        message.get_field_by_name(field).unwrap().number()
    };
    for (message, field, expected) in [
        ("UnitedOffer", "basic", 1),
        ("UnitedOffer", "service", 2),
        ("UnitedOffersBatch", "offer", 1),
        ("Offer", "identifiers", 1),
        ("Offer", "meta", 2),
        ("Offer", "status", 4),
        ("Offer", "content", 5),
        ("OfferContent", "partner", 1),
        ("OfferContent", "master_data", 8),
        ("PartnerContent", "original", 20),
        ("PartnerContent", "original_terms", 22),
        ("OriginalSpecification", "country_of_origin", 19),
        ("OriginalSpecification", "weight", 20),
        ("OriginalSpecification", "dimensions", 21),
    ] {
        assert_eq!(number(message, field), expected, "{message}.{field}");
    }
}

/// A schema of a few fields, with a mark wherever one is asked for.
fn schema(beneath_master_data: &str) -> Result<Subscriptions, String> {
    let text = format!(
        r#"syntax = "proto3"; package dvor.united.v1; import "google/protobuf/descriptor.proto";
        enum Subscription {{ ST_NONE = 0; ST_TRIGGER = 1; ST_SHIPMENT = 2; }}
        extend google.protobuf.FieldOptions {{ optional Subscription mdm_subscriber = 50001; }}
        message Offer {{ Content content = 5; }}
        message Content {{ MasterData master_data = 8; Other other = 9 [(mdm_subscriber) = ST_TRIGGER]; }}
        message MasterData {{ Value value = 1; }}
        message Value {{ string text = 1 {beneath_master_data}; }}
        message Other {{ string kept = 1; string left = 2 [(mdm_subscriber) = ST_NONE]; }}"#
    );
    struct Only(String);
    impl protox::file::FileResolver for Only {
        fn open_file(&self, name: &str) -> Result<protox::file::File, protox::Error> {
            match name {
                "offer.proto" => protox::file::File::from_source(name, &self.0),
                name => protox::file::GoogleFileResolver::new().open_file(name),
            }
        }
    }
    let mut compiler = protox::Compiler::with_file_resolver(Only(text));
    compiler.include_imports(true).open_file("offer.proto").unwrap();
    Subscriptions::of(&DescriptorPool::decode(compiler.encode_file_descriptor_set().as_slice()).unwrap())
}

#[test]
fn nothing_beneath_master_data_may_be_subscribed_to() {
    let own = Subscriptions::shipped();
    assert!(own.paths().count() >= 25);
    assert!(own.paths().all(|path| !path.contains("master_data")));
    for mark in ["ST_TRIGGER", "ST_SHIPMENT"] {
        let error = schema(&format!("[(mdm_subscriber) = {mark}]")).unwrap_err();
        assert!(error.contains("content.master_data"), "{error}");
    }
    let sound = schema("").unwrap();
    assert_eq!(sound.paths().collect::<Vec<_>>(), ["content.other"]);
    // content.other { kept: "a", left: "b" }, without what is taken out of the subscription above it.
    let part = [0x2a, 8, 0x4a, 6, 0x0a, 1, b'a', 0x12, 1, b'b'];
    assert_eq!(sound.cut_bytes(&part, Keep::Shipped).unwrap(), [0x2a, 5, 0x4a, 3, 0x0a, 1, b'a']);
}

#[test]
fn hostile_bytes_are_refused() {
    let subscriptions = Subscriptions::shipped();
    for bytes in [&[0x2a, 5, 1][..], &[0x2a, 2, 0x0a, 9]] {
        assert!(subscriptions.cut_bytes(bytes, Keep::Shipped).is_err(), "{bytes:?}");
        assert!(subscriptions.compare_bytes(&[], bytes).is_err(), "{bytes:?}");
    }
}
