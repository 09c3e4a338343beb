use model::{Dimensions, Money, Origin, Value};

use super::*;

fn offer(namespace: &str, external_id: &str, content: Content) -> model::Offer {
    model::Offer {
        id: 1 << 20,
        origin: Some(Origin {
            namespace: namespace.into(),
            external_id: external_id.into(),
            ..Origin::default()
        }),
        status: Status::Active.into(),
        content: Some(content),
        updated_at: 77,
        ..model::Offer::default()
    }
}

#[test]
fn every_offer_of_a_seller_has_an_id_of_its_own() {
    let printed = OfferId::from_raw(1 << 20).unwrap().to_string();
    for (namespace, id, expected) in [
        ("default", "red-1", "red-1".to_owned()),
        ("spring", "red-1", "spring:red-1".to_owned()),
        // These would read as another namespace's, or as an offer made by hand.
        ("default", "spring:red-1", "default:spring:red-1".to_owned()),
        ("default", &printed, format!("default:{printed}")),
        ("parsed:avito", "1", "parsed:avito:1".to_owned()),
        ("", "", printed.clone()),
    ] {
        assert_eq!(shop_sku(&offer(namespace, id, Content::default())), expected, "{namespace} {id}");
    }
}

#[test]
fn fields_and_attributes_fill_the_specification() {
    let number = |id: &str, number: f64| Attribute {
        id: id.into(),
        values: vec![Value { kind: Some(value::Kind::Number(number)) }],
        unit: String::new(),
    };
    let colour = Attribute {
        id: "color".into(),
        values: vec![Value { kind: Some(value::Kind::Option("black".into())) }],
        unit: String::new(),
    };
    let content = Content {
        title: "Kettle".into(),
        vendor: "Acme".into(),
        barcode: "4600000000001, 4600000000002".into(),
        price: Some(Money { minor: 100, currency: "RUB".into() }),
        attributes: vec![
            colour,
            number("weight_kg", 1.5),
            number("width_cm", 20.0),
            number("height_cm", 30.5),
            number("length_cm", 10.0),
        ],
        ..Content::default()
    };
    let filled = fill(&Catalog::shipped(), &offer("default", "1", content.clone()));
    let partner = filled.data.content.clone().unwrap().partner.unwrap();
    let original = partner.original.unwrap();
    let meta = UpdateMeta { source: Some(DataSource::PartnerFeed.into()), timestamp: Some(77) };
    assert_eq!(original.name, Some(StringValue { meta: Some(meta), value: Some("Kettle".into()) }));
    assert_eq!(original.barcode.unwrap().value, ["4600000000001", "4600000000002"]);
    assert_eq!(original.weight.unwrap().value_mg, Some(1_500_000));
    assert!(!original.color.unwrap().value.unwrap().is_empty());
    let sides = original.dimensions.unwrap();
    assert_eq!(
        (sides.length_mkm, sides.width_mkm, sides.height_mkm),
        (Some(100_000), Some(200_000), Some(305_000))
    );
    assert_eq!((original.description, original.url), (None, None));
    assert_eq!(filled.data.price.unwrap().minor, Some(100));
    assert!(!filled.removed);
    // The offer's own measures come before its attributes, and two sides are no box.
    let own = Content {
        weight_grams: 7,
        dimensions: Some(Dimensions { length_mm: 1, width_mm: 2, height_mm: 0 }),
        ..content
    };
    let filled = fill(&Catalog::shipped(), &offer("default", "1", own));
    let original = filled.data.content.unwrap().partner.unwrap().original.unwrap();
    assert_eq!(original.weight.unwrap().value_mg, Some(7_000));
    assert_eq!(original.dimensions, None);
}

#[test]
fn what_leaves_for_the_archive_is_removed() {
    for (status, removed) in [
        (Status::Active, false),
        (Status::Inactive, false),
        (Status::Banned, false),
        (Status::Expired, true),
        (Status::SoldHere, true),
        (Status::SoldElsewhere, true),
        (Status::Deleted, true),
    ] {
        let mut offer = offer("default", "1", Content::default());
        offer.set_status(status);
        assert_eq!(fill(&Catalog::shipped(), &offer).removed, removed, "{status:?}");
    }
}

#[test]
fn numbers_that_nobody_measured_are_left_out() {
    for (number, unit, expected) in [
        (1.5, "kg", Some(1_500_000)),
        (0.0, "kg", None),
        (-1.0, "cm", None),
        (f64::NAN, "g", None),
        (1e300, "m", None),
        (3.0, "inch", None),
    ] {
        assert_eq!(measured(number, unit), expected, "{number} {unit}");
    }
}
