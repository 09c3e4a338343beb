//! Files that mean harm: each ends soon, with a clear error or with its other offers read, in little memory.

use std::io::{self, Read};

use feeds::{Fatal, Limits, records};

use crate::formats::{gzip, zip};
use crate::{good, read, said};

/// Text that is made while it is read: a pattern between a beginning and an end.
struct Endless {
    parts: Vec<(Vec<u8>, u64)>,
    part: usize,
    round: u64,
    at: usize,
}

impl Endless {
    /// Each text so many times.
    fn new(parts: &[(&str, u64)]) -> Self {
        let parts = parts.iter().map(|(text, times)| (text.as_bytes().to_vec(), *times)).collect();
        Self { parts, part: 0, round: 0, at: 0 }
    }
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < buffer.len() && self.part < self.parts.len() {
            let (text, times) = &self.parts[self.part];
            if self.round == *times {
                (self.part, self.round) = (self.part + 1, 0);
                continue;
            }
            let count = (text.len() - self.at).min(buffer.len() - written);
            buffer[written..written + count].copy_from_slice(&text[self.at..self.at + count]);
            written += count;
            self.at += count;
            if self.at == text.len() {
                (self.at, self.round) = (0, self.round + 1);
            }
        }
        Ok(written)
    }
}

/// Ids with what is said of them, and the end.
fn outline(input: impl Read + Send + 'static) -> (Vec<(String, Vec<String>)>, Option<Fatal>) {
    let mut found = Vec::new();
    let mut records = match records(input, &Limits::default()) {
        Ok(records) => records,
        Err(fatal) => return (found, Some(fatal)),
    };
    loop {
        match records.next() {
            Ok(Some(record)) => found.push((record.external_id.clone(), said(&record))),
            Ok(None) => return (found, None),
            Err(fatal) => return (found, Some(fatal)),
        }
    }
}

const HEAD: &str = "<feed><offers>";
const TAIL: &str = "<offer id=\"ok\"><title>good</title></offer></offers></feed>";

/// Spaces pack a thousand to one, as deep as deflate goes.
fn packed_spaces(megabytes: u64) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    io::copy(&mut Endless::new(&[(HEAD, 1), (&" ".repeat(1 << 20), megabytes)]), &mut encoder).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn bombs_do_not_unpack() {
    let bomb = packed_spaces(80);
    assert!(bomb.len() < 100_000, "{}", bomb.len());
    assert_eq!(read(bomb).1.unwrap().code, "archive_bomb");
    let inner = zip(&[("inner.xml", &[HEAD.as_bytes(), &vec![b' '; 80 << 20]].concat())]);
    assert_eq!(read(inner.clone()).1.unwrap().code, "archive_bomb");
    // An archive in an archive is not unpacked again.
    assert_eq!(read(zip(&[("inner.zip", &inner)])).1.unwrap().code, "format_unknown");
    assert_eq!(read(gzip(&gzip(b"<feed/>"))).1.unwrap().code, "format_unknown");
}

#[test]
fn a_file_without_end_is_too_large() {
    let limits = Limits { raw_bytes: 10 << 20, ..Limits::default() };
    let endless = Endless::new(&[(HEAD, 1), ("<offer id=\"1\"><title>x</title></offer>", u64::MAX)]);
    let mut records = records(endless, &limits).unwrap();
    let fatal = loop {
        match records.next() {
            Ok(record) => assert!(record.is_some()),
            Err(fatal) => break fatal,
        }
    };
    assert_eq!((fatal.code, fatal.transient), ("feed_too_large", false));
}

#[test]
fn entities_are_never_expanded_or_fetched() {
    let laughs: String = (1..10)
        .map(|n| format!("<!ENTITY lol{n} \"{}\">", format!("&lol{};", n - 1).repeat(10)))
        .collect::<Vec<_>>()
        .concat();
    for (entity, declared) in [
        ("lol9", format!("<!ENTITY lol0 \"lol\">{laughs}")),
        ("xxe", "<!ENTITY xxe SYSTEM \"file:///etc/passwd\">".to_owned()),
        ("out", "<!ENTITY out SYSTEM \"http://127.0.0.1/x\">".to_owned()),
    ] {
        let text = format!(
            "<?xml version=\"1.0\"?><!DOCTYPE feed [{declared}]>{HEAD}<offer id=\"1\"><title>&{entity};</title></offer>{TAIL}"
        );
        let records = good(text);
        assert_eq!(said(&records[0]), ["error xml_entity_unknown"], "{entity}");
        assert_eq!(said(&records[1]), Vec::<String>::new());
        let yml = format!(
            "<!DOCTYPE yml_catalog [{declared}]><yml_catalog><shop><offers><offer id=\"1\"><name>a &{entity};</name></offer></offers></shop></yml_catalog>"
        );
        let records = good(yml);
        assert_eq!(records[0].offer.title, format!("a &{entity};"));
        assert_eq!(said(&records[0]), ["warning xml_entity_guessed"]);
    }
}

#[test]
fn deep_nesting_costs_one_offer() {
    let deep = Endless::new(&[
        (HEAD, 1),
        ("<offer id=\"1\">", 1),
        ("<a>", 100_000),
        ("</a>", 100_000),
        ("</offer>", 1),
        (TAIL, 1),
    ]);
    let (found, fatal) = outline(deep);
    assert_eq!(fatal, None);
    assert_eq!(found, [("1".to_owned(), vec!["error too_deep".to_owned()]), ("ok".to_owned(), vec![])]);
    // A million of them is longer than an offer may be.
    let deeper = Endless::new(&[
        (HEAD, 1),
        ("<offer id=\"1\">", 1),
        ("<a>", 1_000_000),
        ("</a>", 1_000_000),
        ("</offer>", 1),
        (TAIL, 1),
    ]);
    let (found, fatal) = outline(deeper);
    assert_eq!(fatal, None);
    assert_eq!(found.len(), 2);
    assert_eq!(
        (found[0].0.as_str(), found[0].1.as_slice()),
        ("1", ["error record_too_long".to_owned()].as_slice())
    );
    // Around the offers it is the file.
    let (_, fatal) = outline(Endless::new(&[("<feed>", 1), ("<a>", 1_000_000)]));
    assert_eq!(fatal.unwrap().code, "xml_top_level");
    let (_, fatal) = outline(Endless::new(&[("<yml_catalog>", 1), ("<a>", 1_000_000)]));
    assert_eq!(fatal.unwrap().code, "too_deep");
    let json = Endless::new(&[
        ("[{\"id\":1,\"x\":", 1),
        ("[", 1_000_000),
        ("]", 1_000_000),
        ("},{\"id\":2,\"title\":\"b\"}]", 1),
    ]);
    let (found, fatal) = outline(json);
    assert_eq!(fatal, None);
    assert_eq!(
        (found[0].0.as_str(), found[0].1.as_slice(), found[1].0.as_str()),
        ("1", ["error json_broken".to_owned()].as_slice(), "2")
    );
}

#[test]
fn fifty_megabytes_of_one_thing() {
    let mega = "x".repeat(1 << 20);
    let title =
        [(HEAD, 1), ("<offer id=\"1\"><title>", 1), (mega.as_str(), 50), ("</title></offer>", 1), (TAIL, 1)];
    let (found, fatal) = outline(Endless::new(&title));
    assert_eq!(fatal, None);
    assert_eq!((found.len(), found[0].1.as_slice()), (2, ["error record_too_long".to_owned()].as_slice()));
    assert_eq!(found[0].0, "1", "its offer is known");
    let tag = Endless::new(&[("<feed ", 1), (&mega, 50)]);
    assert_eq!(outline(tag).1.unwrap().code, "token_too_long");
    let comment = Endless::new(&[("<feed><!-- ", 1), (&mega, 50)]);
    assert_eq!(outline(comment).1.unwrap().code, "token_too_long");
    let cell = Endless::new(&[("id,title\n1,", 1), (&mega, 50), ("\n2,good\n", 1)]);
    let (found, fatal) = outline(cell);
    assert_eq!(fatal, None);
    assert_eq!(
        (found[0].0.as_str(), found[0].1.as_slice(), found[1].0.as_str()),
        ("1", ["error record_too_long".to_owned()].as_slice(), "2")
    );
    let json = Endless::new(&[("[{\"id\":\"1\",\"title\":\"", 1), (&mega, 50), ("\"},{\"id\":\"2\"}]", 1)]);
    let (found, fatal) = outline(json);
    assert_eq!(fatal, None);
    assert_eq!(
        (found[0].0.as_str(), found[0].1.as_slice(), found[1].0.as_str()),
        ("1", ["error record_too_long".to_owned()].as_slice(), "2")
    );
}

#[test]
fn a_record_that_is_too_long_keeps_its_id_in_every_format() {
    let mega = "ж".repeat(1 << 19);
    for (head, tail) in [
        (
            "<yml_catalog><shop><offers><offer id=\"a 1\"><name>",
            "</name></offer></offers></shop></yml_catalog>",
        ),
        ("<Ads formatVersion=\"3\"><Ad><Id>a 1</Id><Title>", "</Title></Ad></Ads>"),
        (
            "<rss xmlns:g=\"http://base.google.com/ns/1.0\"><channel><item><g:id>a 1</g:id><title>",
            "</title></item></channel></rss>",
        ),
        ("price;id;title\n1;\"a 1\";", "\n"),
        ("{\"price\": {\"x\": [1, \"}\"]}, \"sku\" : \"a 1\", \"title\": \"", "\"}\n"),
    ] {
        let (found, fatal) = outline(Endless::new(&[(head, 1), (&mega, 6), (tail, 1)]));
        assert_eq!(fatal, None, "{head}");
        assert_eq!(found, [("a 1".to_owned(), vec!["error record_too_long".to_owned()])], "{head}");
    }
}

#[test]
fn ten_million_attributes() {
    let many = Endless::new(&[
        (HEAD, 1),
        ("<offer id=\"1\"", 1),
        (" a=\"1\"", 10_000_000),
        ("><title>x</title></offer>", 1),
        (TAIL, 1),
    ]);
    let (found, fatal) = outline(many);
    assert_eq!(fatal, None);
    assert_eq!((found.len(), found[0].1.as_slice()), (2, ["error record_too_long".to_owned()].as_slice()));
    assert_eq!(found[0].0, "1", "its offer is known");
    let some = Endless::new(&[
        ("<yml_catalog><shop><offers><offer id=\"1\"", 1),
        (" a=\"1\"", 100_000),
        ("/></offers></shop></yml_catalog>", 1),
    ]);
    // A name that stands again is the same attribute.
    assert_eq!(outline(some).0.len(), 1);
    let columns = format!("id,title{}\n", ",x".repeat(10_000));
    assert_eq!(read(columns).1.unwrap().code, "columns_too_many");
}

#[test]
fn nul_bytes_and_foreign_files() {
    let check = |bytes: &[u8], code: &str| {
        let (found, fatal) = read(bytes);
        assert!(found.is_empty());
        assert_eq!(fatal.unwrap().code, code, "{bytes:?}");
    };
    check(&[0; 1_000], "format_unknown");
    check(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "format_unknown");
    check(b"%PDF-1.7\n%...", "format_unknown");
    check(b"just some words\nand more", "format_unknown");
    check(b"<!doctype html><html><head></head></html>", "xml_root_unknown");
    check(b"   \n\t ", "feed_empty");
    check(b"<?xml version=\"1.0\"?>", "format_unknown");
    let records = good(format!("{HEAD}<offer id=\"1\"><title>a\0b</title></offer>{TAIL}"));
    assert_eq!(said(&records[0]), ["error control_character"]);
    assert_eq!(said(&records[1]), Vec::<String>::new());
    let records = good("id,title\n1,a\0b\n2,good\n");
    assert_eq!(said(&records[0]), ["error control_character"]);
}

#[test]
fn a_failing_input_is_nobodys_fault() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::new(io::ErrorKind::TimedOut, "the disk sleeps"))
        }
    }
    let fatal = outline(io::Cursor::new(b"<feed><offers>").chain(Failing)).1.unwrap();
    assert_eq!((fatal.code, fatal.transient), ("feed_unreadable", true));
}
