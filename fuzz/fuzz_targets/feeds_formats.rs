//! The inside of a feed file of each format: the first byte chooses the format, the rest stands in its place. What is
//! read is unified too.
#![no_main]

use std::io::Cursor;
use std::sync::OnceLock;

use feeds::{Knowledge, Limits, Settings};

const FORMATS: [(&str, &str); 8] = [
    ("<feed version=\"1\"><offers>", "</offers></feed>"),
    ("<feed version=\"1\"><offers><offer id=\"1\">", "</offer></offers></feed>"),
    ("<yml_catalog><shop><offers><offer id=\"1\">", "</offer></offers></shop></yml_catalog>"),
    ("<Ads formatVersion=\"3\"><Ad>", "</Ad></Ads>"),
    ("<rss xmlns:g=\"http://base.google.com/ns/1.0\"><channel><item>", "</item></channel></rss>"),
    ("id,title,price,category\n", "\n"),
    ("[{\"id\":\"1\",", "}]"),
    ("{\"id\":\"1\",\"title\":\"", "\"}\n"),
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    static KNOWLEDGE: OnceLock<Knowledge> = OnceLock::new();
    let Some((choice, inside)) = data.split_first() else { return };
    let (head, tail) = FORMATS[usize::from(*choice) % FORMATS.len()];
    let file = [head.as_bytes(), inside, tail.as_bytes()].concat();
    let Ok(mut records) = feeds::records(Cursor::new(file), &Limits::default()) else { return };
    let knowledge = KNOWLEDGE.get_or_init(Knowledge::shipped);
    while let Ok(Some(record)) = records.next() {
        let settings = Settings::default();
        let (content, _) = feeds::unify(&record.offer, knowledge, &settings);
        let again = feeds::unify(&record.offer, knowledge, &settings).0;
        assert_eq!(feeds::fingerprint(&content), feeds::fingerprint(&again));
    }
});
