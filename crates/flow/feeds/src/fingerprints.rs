//! What a load's records were and what became of them, so that the next load can say «same» without unifying.
//!
//! For each record in file order the file has an entry: the hash of the record as it was read, the fingerprint of what it
//! was unified into (zeros: it must be looked at again), and what unifying had to say, all of it warnings. What was read
//! is hashed and not the bytes of the file, since a table's header or a list of categories gives the same bytes another
//! meaning. The next load walks along the file of the last one: records mostly stand where they stood, so a window around
//! the same place finds them, and memory does not grow with the feed. A record that moved further than the window is
//! unified again, which costs time and changes nothing.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, Write as _};

use model::{Content, Issue};
use prost::Message as _;
use wire::feeds::FeedRecord;

use crate::offer::{FeedAttribute, FeedOffer};

/// BLAKE3, cut to 16 bytes: two records of one feed collide less often than disks fail.
pub type Fingerprint = [u8; 16];

/// How the file is written.
pub const FORMAT: u32 = 2;
/// How far a record may have moved.
const WINDOW: u64 = 65_536;
/// More warnings than fit are not kept, and such a record is unified every time.
const MAX_ISSUES_BYTES: usize = 512;

pub fn of(bytes: &[u8]) -> Fingerprint {
    cut(&blake3::hash(bytes))
}

/// Of what a record was unified into. The catalog's version plays no part: a new catalog changes those offers that it
/// describes otherwise, and no others.
pub fn of_content(content: &Content) -> Fingerprint {
    of(&Content { catalog_version: 0, ..content.clone() }.encode_to_vec())
}

fn cut(hash: &blake3::Hash) -> Fingerprint {
    let mut found = [0; 16];
    found.copy_from_slice(&hash.as_bytes()[..16]);
    found
}

/// Of all that unifying is given: a field that is added to [`FeedOffer`] has to be added here to compile.
#[rustfmt::skip]
pub fn of_offer(offer: &FeedOffer) -> Fingerprint {
    let FeedOffer {
        id, title, description, category_id, category_path, price, currency, condition, attributes, images, video,
        address, lat, lon, contact_name, phones, email, url, vendor, barcode, weight, weight_unit, length, width, height,
        size_unit,
    } = offer;
    let texts = [
        id, title, description, category_id, price, currency, condition, video, address, lat, lon, contact_name, email,
        url, vendor, barcode, weight, weight_unit, length, width, height, size_unit,
    ];
    let mut hasher = blake3::Hasher::new();
    let mut add = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    for text in texts {
        add(text);
    }
    for list in [category_path, images, phones] {
        add(&list.len().to_string());
        for text in list {
            add(text);
        }
    }
    for FeedAttribute { name, value, unit } in attributes {
        for text in [name, value, unit] {
            add(text);
        }
    }
    cut(&hasher.finalize())
}

/// What a record was unified into, and the warnings that were said.
#[derive(Clone, Debug, PartialEq)]
pub struct Unified {
    pub fingerprint: Fingerprint,
    pub issues: Vec<Issue>,
}

/// What this load's records are, being written to a temp file.
pub struct Noted {
    out: BufWriter<File>,
}

impl Noted {
    pub fn begin() -> io::Result<Self> {
        Ok(Self { out: BufWriter::new(tempfile::tempfile()?) })
    }

    /// `None`: the next load must look at the record again.
    pub fn add(&mut self, read: &Fingerprint, unified: Option<&Unified>) -> io::Result<()> {
        let issues = unified.map_or_else(Vec::new, |unified| pack(&unified.issues));
        let unified = unified.filter(|_| issues.len() <= MAX_ISSUES_BYTES);
        self.out.write_all(read)?;
        self.out.write_all(&unified.map_or([0; 16], |unified| unified.fingerprint))?;
        let issues = if unified.is_some() { issues.as_slice() } else { &[] };
        self.out.write_all(&(issues.len() as u16).to_le_bytes())?;
        self.out.write_all(issues)
    }

    /// The file, to be read from its beginning.
    pub fn end(self) -> io::Result<File> {
        let mut file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(file)
    }
}

fn pack(issues: &[Issue]) -> Vec<u8> {
    FeedRecord { issues: issues.to_vec(), ..FeedRecord::default() }.encode_to_vec()
}

/// What the last load's records were.
pub struct Known {
    file: Box<dyn io::Read + Send>,
    /// Entries around the place of the record that is looked for.
    entries: HashMap<Fingerprint, Entry>,
    order: VecDeque<(u64, Fingerprint)>,
    read: u64,
    asked: u64,
    ended: bool,
}

struct Entry {
    place: u64,
    unified: Fingerprint,
    issues: Box<[u8]>,
}

impl Known {
    pub fn new(file: impl io::Read + Send + 'static) -> Self {
        Self {
            file: Box::new(BufReader::with_capacity(256 << 10, file)),
            entries: HashMap::new(),
            order: VecDeque::new(),
            read: 0,
            asked: 0,
            ended: false,
        }
    }

    /// What the next record of this load was unified into the last time, if it was there and is the same.
    pub fn find(&mut self, read: &Fingerprint) -> io::Result<Option<Unified>> {
        self.asked += 1;
        while !self.ended && self.read < self.asked + WINDOW {
            self.read_entry()?;
        }
        while let Some((place, old)) = self.order.front().copied()
            && place + 2 * WINDOW < self.asked
        {
            self.order.pop_front();
            if self.entries.get(&old).is_some_and(|entry| entry.place == place) {
                self.entries.remove(&old);
            }
        }
        let Some(entry) = self.entries.get(read).filter(|entry| entry.unified != [0; 16]) else {
            return Ok(None);
        };
        let issues = FeedRecord::decode(&*entry.issues).map_err(io::Error::other)?.issues;
        Ok(Some(Unified { fingerprint: entry.unified, issues }))
    }

    fn read_entry(&mut self) -> io::Result<()> {
        let mut head = [0; 34];
        match self.file.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.ended = true;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        let (mut read, mut unified) = ([0; 16], [0; 16]);
        read.copy_from_slice(&head[..16]);
        unified.copy_from_slice(&head[16..32]);
        let mut issues = vec![0; usize::from(u16::from_le_bytes([head[32], head[33]]))];
        self.file.read_exact(&mut issues)?;
        let entry = Entry { place: self.read, unified, issues: issues.into() };
        self.entries.insert(read, entry);
        self.order.push_back((self.read, read));
        self.read += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(records: impl IntoIterator<Item = u64>) -> File {
        let mut noted = Noted::begin().unwrap();
        for record in records {
            noted
                .add(&of(&record.to_le_bytes()), (record % 10 != 3).then(|| unified(record)).as_ref())
                .unwrap();
        }
        noted.end().unwrap()
    }

    /// Every seventh has a warning.
    fn unified(record: u64) -> Unified {
        let warning = Issue { code: "geo_missing".to_owned(), value: record.to_string(), ..Issue::default() };
        let issues = if record.is_multiple_of(7) { vec![warning] } else { Vec::new() };
        Unified { fingerprint: of(&record.to_be_bytes()), issues }
    }

    #[test]
    fn a_record_is_found_where_it_was_and_nearby() {
        let mut known = Known::new(noted(0..1_000));
        // One gone, one new, two swapped: all others are found.
        let now = (0..1_000_u64).filter(|record| *record != 5).map(|record| match record {
            20 => 21,
            21 => 20,
            record => record,
        });
        for record in now {
            let found = known.find(&of(&record.to_le_bytes())).unwrap();
            assert_eq!(found, (record % 10 != 3).then(|| unified(record)), "{record}");
        }
        assert_eq!(known.find(&of(b"new")).unwrap(), None);
    }

    #[test]
    fn more_warnings_than_fit_are_not_kept() {
        let mut noted = Noted::begin().unwrap();
        let long = Issue { value: "x".repeat(MAX_ISSUES_BYTES), ..Issue::default() };
        let much = Unified { issues: vec![long], ..unified(1) };
        noted.add(&of(b"much"), Some(&much)).unwrap();
        noted.add(&of(b"next"), Some(&unified(7))).unwrap();
        let mut known = Known::new(noted.end().unwrap());
        assert_eq!(known.find(&of(b"much")).unwrap(), None);
        assert_eq!(known.find(&of(b"next")).unwrap(), Some(unified(7)));
    }

    #[test]
    fn memory_does_not_grow_with_the_feed() {
        let mut known = Known::new(noted(0..400_000));
        for record in 0..400_000_u64 {
            known.find(&of(&record.to_le_bytes())).unwrap();
            assert!(known.entries.len() <= 3 * WINDOW as usize + 2);
        }
    }

    #[test]
    fn texts_do_not_run_into_each_other() {
        let offer = |id: &str, title: &str| FeedOffer {
            id: id.to_owned(),
            title: title.to_owned(),
            ..FeedOffer::default()
        };
        assert_ne!(of_offer(&offer("ab", "c")), of_offer(&offer("a", "bc")));
        assert_eq!(of_offer(&offer("ab", "c")), of_offer(&offer("ab", "c")));
    }

    #[test]
    fn the_catalogs_version_is_no_difference() {
        let of = |catalog_version, title: &str| {
            of_content(&Content { catalog_version, title: title.to_owned(), ..Content::default() })
        };
        assert_eq!(of(1, "a"), of(2, "a"));
        assert_ne!(of(1, "a"), of(1, "b"));
    }
}
