//! What hostile files meet first, for `fuzz/` and for the tests that run the same on files of our own.
//!
//! Besides coming to an end, reading must not depend on where the pieces of a file are cut, nor on its packing; every
//! issue must have words, and every place must be one of the file.

use std::io::{Cursor, Write as _};
use std::sync::OnceLock;

use model::message::meaning;
use model::{Issue, Language, names};

use crate::{Fatal, Knowledge, Limits, RawRecord, Settings, fingerprint, records, unify};

/// More is not unpacked: the same bytes a thousand times teach nothing.
const MOST_BYTES: u64 = 256 << 10;

/// Where the bytes stand within a file of each format.
const FORMATS: [(&str, &str); 10] = [
    ("<feed version=\"1\"><offers>", "</offers></feed>"),
    ("<feed version=\"1\"><offers><offer id=\"1\">", "</offer></offers></feed>"),
    ("<yml_catalog><shop><offers><offer id=\"1\">", "</offer></offers></shop></yml_catalog>"),
    ("<Ads formatVersion=\"3\"><Ad>", "</Ad></Ads>"),
    ("<rss xmlns:g=\"http://base.google.com/ns/1.0\"><channel><item>", "</item></channel></rss>"),
    ("id,title,price,category\n", "\n"),
    ("id\ttitle\tprice\tgoogle_product_category\n", "\n"),
    ("[{\"id\":\"1\",", "}]"),
    ("{\"id\":\"1\",\"title\":\"", "\"}\n"),
    ("{\"profile\":{},\"offers\":[{\"url\":\"u\",", "}]}"),
];

/// Any bytes as a file: packed or not, in any encoding and format.
pub fn file(data: &[u8]) {
    let limits = Limits { unpacked_bytes: MOST_BYTES, ..Limits::default() };
    let whole = read(data, &limits);
    // An archive that breaks does so where it is read, which is ahead of the records.
    if whole.end.as_ref().is_none_or(|fatal| !is_of_packing(fatal)) {
        let piece_bytes = 4 + data.len() % 13;
        assert_eq!(read(data, &Limits { piece_bytes, ..limits }), whole, "in pieces of {piece_bytes} bytes");
    }
    // Every limit is met by a short file.
    let tight = Limits {
        raw_bytes: 32 << 10,
        unpacked_bytes: MOST_BYTES,
        unpack_ratio: 20,
        ratio_from_bytes: 16 << 10,
        record_bytes: 1 << 10,
        token_bytes: 256,
        depth: 8,
        attributes: 8,
        categories: 4,
        category_bytes: 200,
        category_id_bytes: 16,
        record_values: 20,
        piece_bytes: 64,
    };
    read(data, &tight);
}

/// The inside of a file: the first byte chooses its format. What is read is unified too.
pub fn inside(data: &[u8]) {
    let Some((choice, inside)) = data.split_first() else { return };
    let (head, tail) = FORMATS[usize::from(*choice) % FORMATS.len()];
    let file = [head.as_bytes(), inside, tail.as_bytes()].concat();
    let read_file = read(&file, &Limits::default());
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let packed = packer.write_all(&file).and_then(|()| packer.finish()).expect("memory takes all");
    assert_eq!(read(&packed, &Limits::default()), read_file, "packed");
    for record in &read_file.records {
        look_at_content(record);
    }
}

/// The same offer is the same content, whatever stood before it.
fn look_at_content(record: &RawRecord) {
    static KNOWLEDGE: OnceLock<Knowledge> = OnceLock::new();
    let knowledge = KNOWLEDGE.get_or_init(Knowledge::shipped);
    let settings = Settings::default();
    let (content, issues) = unify(&record.offer, knowledge, &settings);
    let (again, _) = unify(&record.offer, knowledge, &settings);
    assert_eq!(fingerprint(&content), fingerprint(&again));
    issues.iter().for_each(look_at_issue);
}

/// All that can be seen of a file.
#[derive(Debug, PartialEq)]
struct Reading {
    records: Vec<RawRecord>,
    /// What broke it off.
    end: Option<Fatal>,
}

fn read(data: &[u8], limits: &Limits) -> Reading {
    let mut found = Vec::new();
    let end = match records(Cursor::new(data.to_vec()), limits) {
        Err(fatal) => Some(fatal),
        Ok(mut file) => loop {
            match file.next() {
                Ok(Some(record)) => {
                    assert_eq!(record.raw_bytes, file.raw().len());
                    found.push(record);
                }
                Ok(None) => break None,
                Err(fatal) => break Some(fatal),
            }
            assert!(file.read_bytes() <= data.len() as u64, "more was read than there is");
        },
    };
    let mut line = 1;
    for record in &found {
        assert!(record.line >= line, "record {:?} stands before the one before it", record.external_id);
        line = record.line;
        let id = &record.external_id;
        assert!(id.is_empty() || names::check_external_id(id).is_ok(), "{id:?} is no id");
        assert!(record.raw_bytes <= limits.record_bytes, "{} bytes of a record", record.raw_bytes);
        record.issues.iter().for_each(look_at_issue);
    }
    if let Some(fatal) = &end {
        look_at_code(fatal.code);
        assert!(fatal.line == 0 || fatal.line >= line, "the end stands before the last record: {fatal:?}");
    }
    Reading { records: found, end }
}

fn is_of_packing(fatal: &Fatal) -> bool {
    fatal.code.starts_with("archive_") || fatal.code == "feed_too_large"
}

fn look_at_issue(issue: &Issue) {
    look_at_code(&issue.code);
}

fn look_at_code(code: &str) {
    for language in [Language::English, Language::Russian] {
        assert_ne!(meaning(code, language), code, "there are no words for it");
    }
}
