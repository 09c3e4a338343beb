//! What can be published, by the catalog.

use catalog::Catalog;
use model::limits::texts;
use model::{Attribute, Contacts, Content, Dimensions, Issue, Language, Location, Money, Value, message};
use offers::validate::{check, settle};
use wire::model::value::Kind;

fn text(text: &str) -> Kind {
    Kind::Text(text.to_owned())
}

fn attribute(id: &str, kind: Kind, unit: &str) -> Attribute {
    Attribute { id: id.to_owned(), values: vec![Value { kind: Some(kind) }], unit: unit.to_owned() }
}

fn valid() -> Content {
    Content {
        category_id: "smartphones".to_owned(),
        title: "iPhone".to_owned(),
        attributes: vec![attribute("brand", text("apple"), "")],
        ..Content::default()
    }
}

fn issues(change: impl FnOnce(&mut Content)) -> Vec<Issue> {
    let catalog = Catalog::shipped();
    let mut content = valid();
    change(&mut content);
    check(&catalog, &settle(&catalog, content))
}

#[track_caller]
fn refused(field: &str, code: &str, change: impl FnOnce(&mut Content)) {
    let found = issues(change);
    let short: Vec<_> = found.iter().map(|issue| (issue.field.as_str(), issue.code.as_str())).collect();
    assert_eq!(short, [(field, code)]);
    for language in [Language::English, Language::Russian] {
        let words = message::render(&found[0], language);
        assert!(!words.contains('?') && !words.ends_with(code), "{code} has no words: {words}");
    }
}

#[test]
fn a_plain_offer_is_valid() {
    assert!(issues(|_| {}).is_empty());
    assert!(
        issues(|content| content.category_id = "phones".to_owned())
            .iter()
            .all(|issue| issue.code == "attribute_unknown")
    );
}

/// The same limits as a feed has: what it brings can be edited by hand.
#[test]
fn every_text_may_be_as_long_as_the_limits_say() {
    for (path, most) in texts() {
        let of = |chars: usize| {
            let text = match path {
                "url" | "video_url" => format!("https://a.example/{}", "x".repeat(chars - 18)),
                "contacts.email" => format!("{}@a.example", "x".repeat(chars - 10)),
                _ => "ж".repeat(chars),
            };
            issues(|content| match path {
                "title" => content.title = text,
                "description" => content.description = text,
                "vendor" => content.vendor = text,
                "barcode" => content.barcode = text,
                "contacts.name" => content.contacts.get_or_insert_default().name = text,
                "contacts.email" => content.contacts.get_or_insert_default().email = text,
                "location.address" => content.location.get_or_insert_default().address = text,
                "url" => content.url = text,
                "video_url" => content.video_url = text,
                other => panic!("no test knows {other}"),
            })
        };
        assert_eq!(of(most), [], "{path} of {most}");
        let found = of(most + 1);
        let short: Vec<_> = found.iter().map(|issue| (issue.field.as_str(), issue.code.as_str())).collect();
        assert_eq!(short, [(path, "too_long")]);
    }
}

#[test]
fn every_refusal_names_its_field() {
    refused("category", "category_missing", |content| content.category_id.clear());
    refused("category", "category_unknown", |content| content.category_id = "no-such-category".to_owned());
    refused("category", "category_replaced", |content| content.category_id = "pagers".to_owned());
    refused("title", "required", |content| content.title = "  ".to_owned());
    refused("title", "too_long", |content| content.title = "x".repeat(301));
    refused("title", "control_character", |content| content.title = "a\u{0}b".to_owned());
    refused("description", "too_long", |content| content.description = "x".repeat(50_001));
    refused("description", "control_character", |content| content.description = "\u{1b}[0m".to_owned());
    let price = |minor, currency: &str| Some(Money { minor, currency: currency.to_owned() });
    refused("price.currency", "bad_currency", |content| content.price = price(1, "rub"));
    refused("price.amount", "bad_amount", |content| content.price = price(-1, "RUB"));
    refused("price.amount", "bad_amount", |content| content.price = price(i64::MAX, "RUB"));
    let url = |number: usize| format!("https://a.example/{number}");
    refused("photos", "too_many", |content| content.photo_urls = (0..31).map(url).collect());
    refused("photos.1.url", "repeated", |content| content.photo_urls = vec![url(1), url(1)]);
    refused("photos.0.url", "required", |content| content.photo_urls = vec![String::new()]);
    for bad in
        ["ftp://a.example/x", "a.example", "https://", "javascript:alert(1)", "https://a b/", "http:///x"]
    {
        refused("photos.0.url", "bad_url", |content| content.photo_urls = vec![bad.to_owned()]);
        refused("url", "bad_url", |content| content.url = bad.to_owned());
    }
    refused("video_url", "too_long", |content| {
        content.video_url = format!("https://a.example/{}", "x".repeat(2_048));
    });
    refused("vendor", "too_long", |content| content.vendor = "x".repeat(257));
    refused("barcode", "too_long", |content| content.barcode = "1".repeat(201));
    refused("weight_grams", "out_of_range", |content| content.weight_grams = -1);
    let tall = Dimensions { height_mm: 1_000_001, ..Dimensions::default() };
    refused("dimensions.height_mm", "out_of_range", |content| content.dimensions = Some(tall));
}

#[test]
fn an_uploaded_photo_is_named_by_its_address_and_nothing_else_is() {
    let upload = model::photo_url::of_upload(&"ab".repeat(32));
    assert_eq!(issues(|content| content.photo_urls = vec![upload.clone()]), []);
    refused("photos.1.url", "repeated", |content| content.photo_urls = vec![upload.clone(), upload.clone()]);
    refused("photos.0.url", "bad_url", |content| content.photo_urls = vec!["/photos/ab/1600".to_owned()]);
    refused("url", "bad_url", |content| content.url = upload.clone());
}

#[test]
fn places_and_people_are_checked() {
    let place = |lat, lon| Some(Location { lat, lon, ..Location::default() });
    refused("location", "bad_coordinates", |content| content.location = place(Some(91.0), Some(0.0)));
    refused("location", "bad_coordinates", |content| content.location = place(Some(0.0), Some(-181.0)));
    refused("location", "bad_coordinates", |content| content.location = place(Some(f64::NAN), Some(0.0)));
    refused("location.lon", "required", |content| content.location = place(Some(1.0), None));
    refused("location.lat", "required", |content| content.location = place(None, Some(1.0)));
    let phone = |phone: &str| Some(Contacts { phones: vec![phone.to_owned()], ..Contacts::default() });
    for bad in ["", "123", "call me", "+7 (495) 123-45-67 ext 5", "1234567890123456"] {
        refused("contacts.phones.0", "bad_phone", |content| content.contacts = phone(bad));
    }
    assert!(issues(|content| content.contacts = phone("+7 (495) 123-45-67")).is_empty());
    for bad in ["a", "a@", "@b", "a@b c", "a@@b", "a@.b"] {
        let contacts = Contacts { email: bad.to_owned(), ..Contacts::default() };
        refused("contacts.email", "bad_email", |content| content.contacts = Some(contacts));
    }
}

#[test]
fn attributes_are_those_of_the_category() {
    let add = |kind: Kind, id: &'static str, unit: &'static str| {
        move |content: &mut Content| content.attributes.push(attribute(id, kind, unit))
    };
    refused("attributes.brand", "attribute_required", |content| content.attributes.clear());
    refused("attributes.brand", "repeated", add(text("samsung"), "brand", ""));
    refused("attributes.mileage", "attribute_unknown", add(Kind::Number(5.0), "mileage", ""));
    refused("attributes.color", "not_an_option", add(text("invisible"), "color", ""));
    refused("attributes.color", "wrong_type", add(Kind::Number(5.0), "color", ""));
    refused("attributes.color", "wrong_unit", add(text("black"), "color", "kg"));
    refused("attributes.storage", "wrong_type", add(text("much"), "storage", ""));
    refused("attributes.storage", "out_of_range", add(Kind::Number(0.0), "storage", ""));
    refused("attributes.storage", "out_of_range", add(Kind::Number(1e9), "storage", ""));
    refused("attributes.storage", "out_of_range", add(Kind::Number(f64::NAN), "storage", ""));
    refused("attributes.storage", "wrong_unit", add(Kind::Number(5.0), "storage", "parsec"));
    assert!(issues(add(text("Чёрный"), "color", "")).is_empty(), "an option may be named");
    assert!(issues(add(Kind::Number(2.0), "storage", "TB")).is_empty(), "units are converted");
    // A maker who is not listed is kept as he was written.
    assert!(issues(|content| content.attributes = vec![attribute("brand", text("Nokla"), "")]).is_empty());
}

#[test]
fn everything_that_is_wrong_is_told_at_once_and_settling_twice_changes_nothing() {
    let found = issues(|content| {
        content.title.clear();
        content.url = "x".to_owned();
        content.attributes.clear();
    });
    assert_eq!(found.len(), 3, "{found:?}");
    let catalog = Catalog::shipped();
    let mut content = valid();
    content.attributes.push(attribute("storage", Kind::Number(2.0), "TB"));
    let once = settle(&catalog, content);
    assert_eq!(settle(&catalog, once.clone()), once);
}
