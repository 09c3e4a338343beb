//! What a load's records were and what became of them, so that the next load can say «same» without unifying.
//!
//! For each record in file order the file has 32 bytes: the hash of the record as written, and the fingerprint of what it
//! was unified into (zeros: there was something to say of it, so it must be looked at again). The next load walks along
//! the file of the last one: records mostly stand where they stood, so a window around the same place finds them, and
//! memory does not grow with the feed. A record that moved further than the window is unified again, which costs time
//! and changes nothing.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, Write as _};

/// BLAKE3, cut to 16 bytes: two records of one feed collide less often than disks fail.
pub type Fingerprint = [u8; 16];

const ENTRY_BYTES: usize = 32;
/// How far a record may have moved.
const WINDOW: u64 = 65_536;

pub fn of(bytes: &[u8]) -> Fingerprint {
    let mut found = [0; 16];
    found.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    found
}

/// What this load's records are, being written to a temp file.
pub struct Noted {
    out: BufWriter<File>,
}

impl Noted {
    pub fn begin() -> io::Result<Self> {
        Ok(Self { out: BufWriter::new(tempfile::tempfile()?) })
    }

    pub fn add(&mut self, raw: &Fingerprint, unified: Option<&[u8]>) -> io::Result<()> {
        self.out.write_all(raw)?;
        let unified = unified.filter(|unified| unified.len() == 16);
        self.out.write_all(unified.unwrap_or(&[0; 16]))
    }

    /// The file, to be read from its beginning.
    pub fn end(self) -> io::Result<File> {
        let mut file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(file)
    }
}

/// What the last load's records were.
pub struct Known {
    file: Box<dyn io::Read + Send>,
    /// Entries around the place of the record that is looked for.
    entries: HashMap<Fingerprint, (u64, Fingerprint)>,
    order: std::collections::VecDeque<(u64, Fingerprint)>,
    read: u64,
    asked: u64,
    ended: bool,
}

impl Known {
    pub fn new(file: impl io::Read + Send + 'static) -> Self {
        Self {
            file: Box::new(BufReader::with_capacity(256 << 10, file)),
            entries: HashMap::new(),
            order: std::collections::VecDeque::new(),
            read: 0,
            asked: 0,
            ended: false,
        }
    }

    /// What the next record of this load was unified into the last time, if it was there and is the same.
    pub fn find(&mut self, raw: &Fingerprint) -> io::Result<Option<Fingerprint>> {
        self.asked += 1;
        while !self.ended && self.read < self.asked + WINDOW {
            self.read_entry()?;
        }
        while let Some((place, old)) = self.order.front().copied()
            && place + 2 * WINDOW < self.asked
        {
            self.order.pop_front();
            if self.entries.get(&old).is_some_and(|(at, _)| *at == place) {
                self.entries.remove(&old);
            }
        }
        Ok(self.entries.get(raw).map(|(_, unified)| *unified).filter(|unified| *unified != [0; 16]))
    }

    fn read_entry(&mut self) -> io::Result<()> {
        let mut entry = [0; ENTRY_BYTES];
        match self.file.read_exact(&mut entry) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.ended = true;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        let (mut raw, mut unified) = ([0; 16], [0; 16]);
        raw.copy_from_slice(&entry[..16]);
        unified.copy_from_slice(&entry[16..]);
        self.entries.insert(raw, (self.read, unified));
        self.order.push_back((self.read, raw));
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
            let clean = record % 10 != 3;
            let unified = of(&record.to_be_bytes());
            noted.add(&of(&record.to_le_bytes()), clean.then_some(unified.as_slice())).unwrap();
        }
        noted.end().unwrap()
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
            assert_eq!(found.is_some(), record % 10 != 3, "{record}");
            assert!(found.is_none_or(|found| found == of(&record.to_be_bytes())));
        }
        assert_eq!(known.find(&of(b"new")).unwrap(), None);
    }

    #[test]
    fn memory_does_not_grow_with_the_feed() {
        let mut known = Known::new(noted(0..400_000));
        for record in 0..400_000_u64 {
            known.find(&of(&record.to_le_bytes())).unwrap();
            assert!(known.entries.len() <= 3 * WINDOW as usize + 2);
        }
    }
}
