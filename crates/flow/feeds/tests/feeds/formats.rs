//! Every format, packing and encoding reads the same offer.

use std::io::Write as _;

use feeds::Format;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{good, open, said};

const YML: &str = include_str!("fixtures/yml.xml");
const AVITO: &str = include_str!("fixtures/avito.xml");
const RSS: &str = include_str!("fixtures/google-rss.xml");
const ATOM: &str = include_str!("fixtures/google-atom.xml");
const TSV: &str = include_str!("fixtures/google.tsv");
const COMMAS: &str = include_str!("fixtures/commas.csv");
const SEMICOLONS: &str = include_str!("fixtures/semicolons.csv");
const JSON: &str = include_str!("fixtures/offers.json");
const LINES: &str = include_str!("fixtures/offers.jsonl");
const PARSED: &str = include_str!("fixtures/parsed.json");

/// The same kettle in every format.
#[track_caller]
fn check_kettle(text: &str, format: Format) {
    let mut records = open(text).unwrap();
    assert_eq!(records.format(), format);
    let record = records.next().unwrap().unwrap();
    let offer = &record.offer;
    assert_eq!(said(&record), Vec::<String>::new(), "{format:?}");
    assert_eq!(record.external_id, "K-1", "{format:?}");
    assert_eq!(offer.title, "Чайник электрический, 1.7 л", "{format:?}");
    assert!(offer.description.contains("Нержавеющая сталь"), "{format:?}: {}", offer.description);
    assert_eq!((offer.price.as_str(), offer.currency.as_str()), ("2490", "RUB"), "{format:?}");
    assert_eq!(offer.category_path.last().unwrap(), "Чайники", "{format:?}");
    assert_eq!(offer.images, ["https://shop.example/1.jpg", "https://shop.example/2.jpg"], "{format:?}");
    assert_eq!(offer.vendor, "Полюс", "{format:?}");
    let colour = offer.attributes.iter().find(|attribute| attribute.name.to_lowercase().starts_with("цвет"));
    assert_eq!(colour.map(|attribute| attribute.value.as_str()), Some("серый"), "{format:?}");
    assert!(records.next().unwrap().is_some(), "{format:?} has a second offer");
    assert!(records.next().unwrap().is_none(), "{format:?}");
}

#[test]
fn every_format_reads_the_same_offer() {
    check_kettle(YML, Format::Yml);
    check_kettle(AVITO, Format::Avito);
    check_kettle(RSS, Format::GoogleRss);
    check_kettle(ATOM, Format::GoogleAtom);
    check_kettle(TSV, Format::GoogleTsv);
    check_kettle(COMMAS, Format::Csv);
    check_kettle(SEMICOLONS, Format::Csv);
    check_kettle(JSON, Format::Json);
    check_kettle(LINES, Format::JsonLines);
    check_kettle(PARSED, Format::Parsed);
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A zip file of files, by hand: local headers are all that is read.
pub(crate) fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes) in files {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        let packed = encoder.finish().unwrap();
        let mut sum = flate2::Crc::new();
        sum.update(bytes);
        out.extend(b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0");
        out.extend(sum.sum().to_le_bytes());
        out.extend((packed.len() as u32).to_le_bytes());
        out.extend((bytes.len() as u32).to_le_bytes());
        out.extend((name.len() as u16).to_le_bytes());
        out.extend([0, 0]);
        out.extend(name.as_bytes());
        out.extend(packed);
    }
    out.extend(b"PK\x01\x02");
    out
}

#[test]
fn packed_files_are_unpacked() {
    for bytes in [gzip(YML.as_bytes()), zip(&[("feed.csv", YML.as_bytes())])] {
        let records = good(bytes);
        assert_eq!(records.len(), 2);
        assert_eq!(records[0].external_id, "K-1");
    }
    let two = zip(&[("a.xml", YML.as_bytes()), ("b.xml", YML.as_bytes())]);
    assert_eq!(crate::read(two).1.unwrap().code, "archive_several_files");
    let mut cut = gzip(YML.as_bytes());
    cut.truncate(cut.len() / 2);
    assert_eq!(crate::read(cut).1.unwrap().code, "archive_broken");
    let mut changed = zip(&[("a.xml", YML.as_bytes())]);
    changed[14] ^= 1;
    assert_eq!(crate::read(changed).1.unwrap().code, "archive_broken");
    let mut locked = zip(&[("a.xml", YML.as_bytes())]);
    locked[6] |= 1;
    assert_eq!(crate::read(locked).1.unwrap().code, "archive_unsupported");
}

fn wide(text: &str, little: bool) -> Vec<u8> {
    let bytes = |unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() };
    text.encode_utf16().flat_map(bytes).collect()
}

#[test]
fn every_encoding_reads_the_same() {
    let bare = YML.replace(" encoding=\"UTF-8\"", "");
    let named = |encoding: &str| YML.replace("UTF-8", encoding);
    let windows = |text: &str| encoding_rs::WINDOWS_1251.encode(text).0.into_owned();
    let cases: Vec<(&str, Vec<u8>, &str, Option<&str>)> = vec![
        ("UTF-8", YML.into(), "UTF-8", None),
        ("UTF-8 with its mark", [b"\xEF\xBB\xBF", YML.as_bytes()].concat(), "UTF-8", None),
        ("UTF-8, not named", bare.clone().into(), "UTF-8", None),
        ("windows-1251, named", windows(&named("windows-1251")), "windows-1251", None),
        ("windows-1251, not named", windows(&bare), "windows-1251", None),
        ("windows-1251 that says UTF-8", windows(YML), "windows-1251", Some("UTF-8")),
        ("UTF-8 that says windows-1251", named("windows-1251").into(), "UTF-8", Some("windows-1251")),
        ("UTF-8 that says UTF-16", named("UTF-16").into(), "UTF-8", Some("UTF-16")),
        (
            "UTF-16 little with mark",
            [b"\xFF\xFE".to_vec(), wide(&named("UTF-16"), true)].concat(),
            "UTF-16LE",
            None,
        ),
        (
            "UTF-16 big with mark",
            [b"\xFE\xFF".to_vec(), wide(&named("UTF-16"), false)].concat(),
            "UTF-16BE",
            None,
        ),
        ("UTF-16 little without", wide(&named("UTF-16"), true), "UTF-16LE", None),
        ("UTF-16 big without", wide(&named("UTF-16"), false), "UTF-16BE", None),
    ];
    for (what, bytes, encoding, contradicted) in cases {
        let mut records = open(bytes).unwrap();
        let record = records.next().unwrap().unwrap();
        assert_eq!(record.offer.title, "Чайник электрический, 1.7 л", "{what}");
        assert_eq!(records.encoding(), encoding, "{what}");
        assert_eq!(records.contradicted_encoding(), contradicted, "{what}");
    }
    let unknown = crate::read(named("klingon")).1.unwrap();
    assert_eq!((unknown.code, unknown.line), ("encoding_unknown", 1));
}

#[test]
fn a_late_foreign_byte_still_decides_the_encoding() {
    let filler = format!("<!-- {} -->\n", "x".repeat(300_000));
    let text = YML.replace(" encoding=\"UTF-8\"", "").replace("<shop>", &format!("<shop>{filler}"));
    let text = text.replace("Кухня", "Kitchen");
    let bytes = encoding_rs::WINDOWS_1251.encode(&text).0.into_owned();
    assert_eq!(good(bytes)[0].offer.title, "Чайник электрический, 1.7 л");
    // After real UTF-8 a stray byte is only that.
    let mut bytes = YML.as_bytes().to_vec();
    let at = YML.find("сталь").unwrap();
    bytes[at] = 0xFF;
    let records = good(bytes);
    assert_eq!(said(&records[0]), ["warning characters_lost"]);
    assert_eq!(said(&records[1]), Vec::<String>::new());
}
