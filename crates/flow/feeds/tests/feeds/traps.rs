//! What real feeds do: what is read of it, and what is said.

use std::sync::LazyLock;

use feeds::{Knowledge, RawRecord, Settings};
use model::Content;

use crate::{good, said};

static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(Knowledge::shipped);

fn yml(offer: &str) -> String {
    format!(
        "<yml_catalog><shop><categories><category id=\"1\">Электроника</category>\
         <category id=\"2\" parentId=\"1\">Телефоны</category><category id=\"3\" parentId=\"2\">Смартфоны</category>\
         <category id=\"4\" parentId=\"99\">Чайники</category></categories><offers>\n{offer}\n</offers></shop></yml_catalog>"
    )
}

/// One offer with what was said of it, in reading and in unifying; without what the offer lacks for brevity.
#[track_caller]
fn one(text: &str) -> (RawRecord, Content, Vec<String>) {
    let records = good(text);
    assert_eq!(records.len(), 1, "{text}");
    let record = records.into_iter().next().unwrap();
    let (content, issues) = feeds::unify(&record.offer, &KNOWLEDGE, &Settings::default());
    let mut all = said(&record);
    all.extend(said(&RawRecord { issues, ..RawRecord::default() }));
    all.retain(|said| {
        !["geo_missing", "attribute_", "price_missing", "category_unclear"]
            .iter()
            .any(|brief| said.contains(brief))
    });
    (record, content, all)
}

#[test]
fn a_blank_line_before_the_declaration() {
    let (record, ..) = one(&format!(
        "\n\n<?xml version=\"1.0\" encoding=\"utf-8\"?>\n{}",
        yml("<offer id=\"1\"><name>Чайник</name></offer>")
    ));
    assert_eq!((record.external_id.as_str(), record.line), ("1", 5));
}

#[test]
fn html_in_every_wrapping() {
    for description in [
        "<![CDATA[<p>Крепкий &amp; лёгкий</p>]]>",
        "&lt;p&gt;Крепкий &amp;amp; лёгкий&lt;/p&gt;",
        "&amp;lt;p&amp;gt;Крепкий &amp;amp;amp; лёгкий&amp;lt;/p&amp;gt;",
    ] {
        let offer =
            format!("<offer id=\"1\"><name>Стул</name><description>{description}</description></offer>");
        let (_, content, said) = one(&yml(&offer));
        assert_eq!(content.description, "Крепкий & лёгкий", "{description}");
        assert_eq!(said, Vec::<String>::new());
    }
}

#[test]
fn vendor_model_without_name() {
    let (_, content, said) = one(&yml(
        "<offer id=\"1\" type=\"vendor.model\"><typePrefix>Смартфон</typePrefix><vendor>Samsung</vendor><model>Galaxy S24</model><categoryId>3</categoryId></offer>",
    ));
    assert_eq!(content.title, "Смартфон Samsung Galaxy S24");
    assert!(!content.category_id.is_empty());
    assert_eq!(said, ["warning title_composed"]);
}

#[test]
fn prices_of_all_kinds() {
    let check = |inside: &str, minor: Option<i64>, expected: &[&str]| {
        let offer = format!("<offer id=\"1\"><name>Стул</name>{inside}</offer>");
        let (_, content, said) = one(&yml(&offer));
        assert_eq!(content.price.map(|price| price.minor), minor, "{inside}");
        assert_eq!(said, expected, "{inside}");
    };
    check("<price>1 299,50</price><currencyId>RUR</currencyId>", Some(129_950), &[]);
    check("<price>от 500</price>", Some(50_000), &["warning price_guessed"]);
    check("<price>0</price>", None, &[]);
    check("<price></price>", None, &[]);
    check("<price/>", None, &[]);
    check("<price>договорная</price>", None, &["error bad_amount"]);
}

#[test]
fn categories_that_are_not_declared() {
    let (record, _, said) =
        one(&yml("<offer id=\"1\"><name>Чайник электрический</name><categoryId>77</categoryId></offer>"));
    assert!(record.offer.category_path.is_empty());
    assert_eq!(said, ["warning category_undeclared"]);
    let (record, _, said) =
        one(&yml("<offer id=\"1\"><name>Чайник электрический</name><categoryId>4</categoryId></offer>"));
    assert_eq!(record.offer.category_path, ["Чайники"]);
    assert_eq!(said, ["warning category_parent_undeclared"]);
}

#[test]
fn a_category_that_is_its_own_ancestor() {
    let text = yml("<offer id=\"1\"><name>a</name><categoryId>5</categoryId></offer>")
        .replace("<categories>", "<categories><category id=\"5\" parentId=\"6\">A</category><category id=\"6\" parentId=\"5\">B</category>");
    let (record, ..) = one(&text);
    assert!(record.offer.category_path.len() <= 21);
}

#[test]
fn broken_xml_costs_one_offer() {
    let text = yml(
        "<offer id=\"1\"><name>a</name></offer>\n<offer id=\"2\"><name>b</nam></offer>\n<offer id=\"3\"><name>Tom & Jerry &nbsp;5</name></offer>\n<offer id=\"4\"><name>d</name>\n<offer id=\"5\"><name>e</name></offer>",
    );
    let found: Vec<_> = good(text).iter().map(|record| (record.external_id.clone(), said(record))).collect();
    let broken = vec!["error xml_broken".to_owned()];
    let expected = [
        ("1".to_owned(), vec![]),
        ("2".to_owned(), broken.clone()),
        ("3".to_owned(), vec!["warning xml_entity_guessed".to_owned()]),
        ("4".to_owned(), broken),
        ("5".to_owned(), vec![]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn pictures_with_spaces_and_cyrillic_and_too_many() {
    let pictures: String =
        (0..40).map(|n| format!("<picture>https://a.example/{n}.jpg</picture>")).collect::<Vec<_>>().concat();
    let (_, content, said) = one(&yml(&format!("<offer id=\"1\"><name>Стул</name>{pictures}</offer>")));
    assert_eq!((content.photo_urls.len(), said), (30, vec!["warning too_many".to_owned()]));
    let (_, content, said) = one(&yml(
        "<offer id=\"1\"><name>Стул</name><picture>https://a.example/мой стул.jpg</picture><picture>нет</picture></offer>",
    ));
    assert_eq!(content.photo_urls, ["https://a.example/%D0%BC%D0%BE%D0%B9%20%D1%81%D1%82%D1%83%D0%BB.jpg"]);
    assert_eq!(said, ["warning url_mended", "warning bad_url"]);
}

#[test]
fn ids_that_are_missing_or_strange() {
    let check = |text: &str, id: &str, expected: &[&str]| {
        let (record, _, said) = one(text);
        assert_eq!(
            (record.external_id.as_str(), said),
            (id, expected.iter().map(|s| (*s).to_owned()).collect()),
            "{text}"
        );
    };
    check(&yml("<offer id=\"шкаф 5/б\"><name>Шкаф</name></offer>"), "шкаф 5/б", &[]);
    check(&yml("<offer><name>Шкаф</name></offer>"), "", &["error id_missing"]);
    check("title,VIN\nToyota Corolla,XTA210990Y1234567\n", "XTA210990Y1234567", &[]);
    check(
        "{\"profile\":{},\"offers\":[{\"title\":\"Шкаф\",\"url\":\"https://other.example/1\"}]}",
        &blake3::hash(b"https://other.example/1").to_hex()[..32],
        &[],
    );
    check(
        &yml(&format!("<offer id=\"{}\"><name>Шкаф</name></offer>", "x".repeat(300))),
        "",
        &["error too_long"],
    );
}

#[test]
fn google_without_prefix_and_with_spaces() {
    let (record, content, said) = one(
        "<rss><channel><item><id>7</id><title>Стул</title><availability>in stock</availability><price>5.00 USD</price><image_link></image_link></item></channel></rss>",
    );
    assert_eq!((record.external_id.as_str(), content.price.unwrap().minor), ("7", 500));
    assert_eq!(said, Vec::<String>::new());
}

#[test]
fn tables_as_people_make_them() {
    let (record, _, said) = one("id;title;Цвет;Цвет;price\n1;Стул 19\" широкий;красный;синий;10\n");
    assert_eq!(record.offer.title, "Стул 19\" широкий");
    assert_eq!(record.offer.attributes.len(), 2);
    assert_eq!(said, ["warning repeated"]);
    let (record, _, said) = one("id,title,price\n1,Стул\n");
    assert_eq!((record.offer.title.as_str(), said), ("Стул", vec!["warning row_width".to_owned()]));
    let (record, _, said) = one("id,title,price\n1,Стул,5,6,7\n");
    assert_eq!((record.offer.price.as_str(), said), ("5", vec!["warning row_width".to_owned()]));
    let records = good("id,title,description\r\n1,Стул,\"<p>две\r\nстроки</p>\"\r\n\r\n2,Стол,x\r\n");
    assert_eq!((records.len(), records[1].line), (2, 5));
}

#[test]
fn json_as_people_make_it() {
    let (record, content, said) =
        one("[{\"id\":5,\"title\":\"Стул\",\"price\":\"1 299\",\"stock\":{\"a\":1},\"description\":null}]");
    assert_eq!((record.external_id.as_str(), content.price.unwrap().minor), ("5", 129_900));
    assert_eq!(said, ["warning json_object_ignored"]);
    let records = good(
        "{\"id\":1,\"title\":\"a\"}\n{\"id\":2,\"title\":}\n\n{\"id\":3,\"title\":\"c\"}\n{\"id\":4,\n{\"id\":5}\n",
    );
    let found: Vec<_> = records.iter().map(|record| (record.external_id.as_str(), record.is_bad())).collect();
    assert_eq!(found, [("1", false), ("2", true), ("3", false), ("4", true), ("5", false)]);
    let (found, fatal) = crate::read("[{\"id\":1},{\"id\":2}");
    assert_eq!((found.len(), fatal.unwrap().code), (2, "json_truncated"));
}

#[test]
fn places_by_coordinates_and_by_address() {
    let check = |address: &str, expected: &str, said_of_it: &[&str]| {
        let text = serde_json::json!([{"id": 1, "title": "Стул", "address": address}]).to_string();
        let (_, content, said) = one(&text);
        assert_eq!(content.location.map(|location| location.name).unwrap_or_default(), expected, "{address}");
        assert_eq!(said, said_of_it, "{address}");
    };
    check("г. Казань, ул. Баумана, 1", "Казань", &[]);
    check("Абракадабровск-на-Луне", "", &["error geo_unknown"]);
    let (_, content, said) = one("[{\"id\":1,\"title\":\"Стул\",\"lat\":\"55,7558\",\"lon\":37.6173}]");
    assert_eq!(content.location.unwrap().name, "Москва");
    assert_eq!(said, Vec::<String>::new());
    let (_, _, said) = one("[{\"id\":1,\"title\":\"Стул\",\"lat\":155,\"lon\":37.6}]");
    assert_eq!(said, ["warning bad_coordinates"]);
}

#[test]
fn the_same_offer_has_the_same_fingerprint() {
    let offer = &good(feeds::EXAMPLE)[0].offer;
    let (first, issues) = feeds::unify(offer, &KNOWLEDGE, &Settings::default());
    let (again, _) = feeds::unify(offer, &KNOWLEDGE, &Settings::default());
    assert_eq!(feeds::fingerprint(&first), feeds::fingerprint(&again));
    assert_eq!(issues.iter().map(|issue| issue.code.as_str()).collect::<Vec<_>>(), Vec::<&str>::new());
    let (other, _) = feeds::unify(
        &feeds::FeedOffer { price: "1".into(), ..offer.clone() },
        &KNOWLEDGE,
        &Settings::default(),
    );
    assert_ne!(feeds::fingerprint(&first), feeds::fingerprint(&other));
}
