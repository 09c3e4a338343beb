//! Which ids were there already: sixteen bytes each, in memory up to four million, then on disk.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;

/// Ids that are gathered before they become a sorted run.
const GATHERED: usize = 1 << 20;
/// Runs that stay in memory, beside what is being gathered.
const RUNS_IN_MEMORY: usize = 3;
/// Every so many entries of a run on disk, one is kept in memory: a look-up reads one stretch between two.
const STRIDE: usize = 256;

pub(crate) struct Seen {
    gathered: HashSet<u128>,
    memory: Vec<Vec<u128>>,
    disk: Vec<DiskRun>,
    gathered_most: usize,
}

struct DiskRun {
    file: File,
    marks: Vec<u128>,
    len: usize,
}

impl Seen {
    pub(crate) fn new() -> Self {
        Self::gathering(GATHERED)
    }

    fn gathering(gathered_most: usize) -> Self {
        Self { gathered: HashSet::new(), memory: Vec::new(), disk: Vec::new(), gathered_most }
    }

    /// Notes an id; false: it was there.
    pub(crate) fn insert(&mut self, id: &str) -> io::Result<bool> {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&blake3::hash(id.as_bytes()).as_bytes()[..16]);
        let hash = u128::from_be_bytes(bytes);
        if self.gathered.contains(&hash) || self.memory.iter().any(|run| run.binary_search(&hash).is_ok()) {
            return Ok(false);
        }
        for run in &self.disk {
            if run.contains(hash)? {
                return Ok(false);
            }
        }
        self.gathered.insert(hash);
        if self.gathered.len() >= self.gathered_most {
            let mut run: Vec<u128> = self.gathered.drain().collect();
            run.sort_unstable();
            if self.memory.len() < RUNS_IN_MEMORY {
                self.memory.push(run);
            } else {
                self.disk.push(DiskRun::write(&run)?);
            }
        }
        Ok(true)
    }
}

impl DiskRun {
    fn write(run: &[u128]) -> io::Result<Self> {
        let mut file = BufWriter::new(tempfile::tempfile()?);
        for hash in run {
            file.write_all(&hash.to_be_bytes())?;
        }
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Self { file, marks: run.iter().step_by(STRIDE).copied().collect(), len: run.len() })
    }

    fn contains(&self, hash: u128) -> io::Result<bool> {
        let stretch = match self.marks.binary_search(&hash) {
            Ok(_) => return Ok(true),
            Err(0) => return Ok(false),
            Err(place) => place - 1,
        };
        let count = STRIDE.min(self.len - stretch * STRIDE);
        let mut bytes = [0; STRIDE * 16];
        let bytes = &mut bytes[..count * 16];
        self.file.read_exact_at(bytes, (stretch * STRIDE * 16) as u64)?;
        Ok(bytes.chunks_exact(16).any(|entry| *entry == hash.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_known_wherever_it_lies() {
        let mut seen = Seen::gathering(1_000);
        for number in 0..12_345 {
            assert!(seen.insert(&number.to_string()).unwrap(), "{number} is new");
        }
        assert!(seen.disk.len() > 5, "some of it is on disk");
        for number in 0..12_345 {
            assert!(!seen.insert(&number.to_string()).unwrap(), "{number} was there");
        }
    }
}
