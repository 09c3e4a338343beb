//! Own XML.

use crate::{good, read, said};

fn feed(offers: &str) -> String {
    format!("<?xml version=\"1.0\"?>\n<feed version=\"1\">\n<offers>\n{offers}\n</offers>\n</feed>\n")
}

#[test]
fn the_example_is_read_whole() {
    let records = good(feeds::EXAMPLE);
    assert_eq!(records.len(), 2);
    let (first, offer) = (&records[0], &records[0].offer);
    assert_eq!((first.external_id.as_str(), first.line, said(first)), ("A-1001", 5, vec![]));
    assert_eq!(offer.title, "Смартфон Galaxy S24 256 ГБ");
    assert_eq!(offer.description, "<p>Новый, запечатан. Гарантия 12 месяцев.</p>");
    assert_eq!(offer.category_path, ["Электроника", "Телефоны", "Смартфоны"]);
    assert_eq!((offer.price.as_str(), offer.currency.as_str()), ("64990.00", "RUB"));
    assert_eq!(offer.condition, "new");
    assert_eq!(offer.attributes[1].name, "Встроенная память");
    assert_eq!((offer.attributes[1].value.as_str(), offer.attributes[1].unit.as_str()), ("256", "ГБ"));
    assert_eq!(offer.images.len(), 2);
    assert_eq!((offer.lat.as_str(), offer.lon.as_str()), ("55.7558", "37.6173"));
    assert_eq!(offer.address, "Москва, Тверская улица, 1");
    assert_eq!(offer.contact_name, "Магазин «Пример»");
    assert_eq!((offer.phones.len(), offer.email.as_str()), (1, "shop@shop.example"));
    assert_eq!((offer.vendor.as_str(), offer.barcode.as_str()), ("Samsung", "8806095300000"));
    assert_eq!((offer.weight.as_str(), offer.weight_unit.as_str()), ("168", "g"));
    assert_eq!(
        (offer.length.as_str(), offer.height.as_str(), offer.size_unit.as_str()),
        ("147", "7.6", "mm")
    );
    assert_eq!(offer.url, "https://shop.example/goods/1001");
    assert_eq!(records[1].line, 31);
}

#[test]
fn a_broken_rule_is_the_error_of_its_offer_with_its_line() {
    let check = |inside: &str, code: &str, field: &str, line: i64| {
        let text =
            feed(&format!("<offer id=\"1\">\n{inside}\n</offer>\n<offer id=\"2\"><title>b</title></offer>"));
        let records = good(text);
        assert_eq!(records.len(), 2, "{inside}");
        let issue = &records[0].issues[0];
        assert_eq!((issue.code.as_str(), issue.field.as_str(), issue.line), (code, field, line), "{inside}");
        assert_eq!((records[0].line, records[0].external_id.as_str()), (4, "1"));
        assert_eq!(said(&records[1]), Vec::<String>::new(), "{inside}");
    };
    check("<title>a</title>\n<name>b</name>", "xml_unexpected_element", "name", 6);
    check("<title>a</title>\n\n<title>b</title>", "xml_repeated_element", "title", 7);
    check("<url>u</url>", "xml_missing_element", "title", 0);
    check("<title>a</title><price>5</price>", "xml_missing_attribute", "currency", 5);
    check("<title>a</title><price currency=\"RUB\">cheap</price>", "not_a_number", "price", 5);
    check("<title>a</title><price currency=\"RUB\">-1</price>", "out_of_range", "price", 5);
    check("<title>a</title><condition>mint</condition>", "not_an_option", "condition", 5);
    check("<title> </title>", "required", "title", 5);
    check("<title>a</title>text", "xml_unexpected_text", "offer", 0);
    check("<title lang=\"ru\">a</title>", "xml_unexpected_attribute", "lang", 5);
    check("<title>a & b</title>", "xml_broken", "", 5);
    check("<title>a &nbsp; b</title>", "xml_entity_unknown", "", 5);
    check("<title>a</titel>", "xml_broken", "", 5);
    check("<title>a</title>\n<images><image>x</image>", "xml_broken", "", 7);
    check("<title>a\u{1}</title>", "control_character", "", 5);
    check("<title>a < b</title>", "xml_broken", "", 5);
}

#[test]
fn an_offer_without_its_end_costs_only_itself() {
    let text = feed(
        "<offer id=\"1\"><title>a</title></offer>\n<offer id=\"2\"><title>b</title>\n\
         <offer id=\"3\"><title>c</title></offer>\n<offer id=\"4\"><title>d</title>",
    );
    let records = good(text);
    let found: Vec<_> = records.iter().map(|record| (record.external_id.as_str(), said(record))).collect();
    let broken = vec!["error xml_broken".to_owned()];
    assert_eq!(found, [("1", vec![]), ("2", broken.clone()), ("3", vec![]), ("4", broken)]);
}

#[test]
fn tags_in_cdata_and_comments_are_text() {
    let text = feed(
        "<offer id=\"1\"><!-- </offer> --><title><![CDATA[</offer><offer id=\"x\">]]></title></offer>\
         <offer id=\"2\"><title>b</title></offer>",
    );
    let records = good(text);
    assert_eq!(records.len(), 2);
    assert_eq!(records[0].offer.title, "</offer><offer id=\"x\">");
}

#[test]
fn what_breaks_the_file_is_fatal_with_its_place() {
    let check = |text: &str, records: usize, code: &str, line: u64| {
        let (found, fatal) = read(text);
        let fatal = fatal.expect(text);
        assert_eq!(
            (found.len(), fatal.code, fatal.line, fatal.transient),
            (records, code, line, false),
            "{text}"
        );
    };
    check("", 0, "feed_empty", 0);
    check("<feed>\n<offers>\n<offer id=\"1\"><title>a</title></offer>", 1, "xml_truncated", 3);
    check("<feed>\n<offers>\n<offer id=\"1\"><title>a</ti", 0, "xml_truncated", 3);
    check("<feed>\n<things/></feed>", 0, "xml_top_level", 2);
    check("<feed>\n</feed>", 0, "xml_top_level", 2);
    check("<feed>\n<offers/>\n</fed>", 0, "xml_broken_top", 3);
    check("<feed version=\"2\"><offers/></feed>", 0, "xml_top_level", 1);
    check("<feed><offers/></feed>\n<feed/>", 0, "xml_broken_top", 2);
    check("<feed><offers>\n\ntext</offers></feed>", 0, "xml_top_level", 3);
    check("<html><body>Not found</body></html>", 0, "xml_root_unknown", 1);
}

#[test]
fn raw_bytes_are_those_of_the_record() {
    let mut records = crate::open(feed("<offer id=\"1\"><title>a</title></offer>")).unwrap();
    let record = records.next().unwrap().unwrap();
    assert_eq!(records.raw(), b"<offer id=\"1\"><title>a</title></offer>");
    assert_eq!(record.raw_bytes, records.raw().len());
}
