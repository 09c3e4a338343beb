//! A runway for the journal: blocks of zeros that lie ready in front of its end.
//!
//! A write that makes a file grow costs more than its bytes: the file system notes the new blocks in a journal of its own
//! and waits for that, too. A write over blocks that are there already does not. To a reader of the journal
//! nothing changes: what lies behind its end has always read as zeros, since it is made longer than it is.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{SeekFrom, fstatfs, seek};

/// What is laid at once.
const PIECE: usize = 1 << 20;
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
/// Fewer commits than this gain less on a piece than laying it costs.
const WORTH_COMMITS: u32 = 32;
/// What the journal puts around a row, and around all rows of a commit; rather too much.
const ROW_FRAME: u64 = 16;
const COMMIT_FRAME: u64 = 40;
/// Where it is known to help and holes are told as they are: ext4 and XFS.
const FILE_SYSTEMS: [rustix::fs::FsWord; 2] = [0xEF53, 0x5846_5342];

pub(super) struct Runway {
    folder: PathBuf,
    /// The newest journal that was there before the database was opened. Up to that one they are written where their files
    /// end, and must not be made longer.
    old: Option<u64>,
    used_bytes: u64,
    commits: u32,
}

impl Runway {
    /// For the database in the folder, which is not open yet.
    pub(super) fn new(folder: PathBuf) -> Self {
        let old = match newest(&folder) {
            Ok(old) => old,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // Any may have been there.
            Err(_) => Some(u64::MAX),
        };
        Self { folder, old, used_bytes: 0, commits: 0 }
    }

    /// So many rows of so many bytes were committed.
    pub(super) fn used(&mut self, rows: u64, bytes: u64) {
        self.used_bytes += bytes + rows * ROW_FRAME + COMMIT_FRAME;
        self.commits += 1;
    }

    /// Lays the next piece when as much was used. Nobody may write meanwhile.
    pub(super) fn extend_if_used(&mut self) {
        if self.used_bytes < PIECE as u64 {
            return;
        }
        let is_worth = self.commits >= WORTH_COMMITS;
        (self.used_bytes, self.commits) = (0, 0);
        if is_worth && let Err(error) = self.extend() {
            // The journal goes on without.
            tracing::debug!(%error, "no runway was laid in front of the journal");
        }
    }

    fn extend(&self) -> io::Result<()> {
        let Some(journal) = newest(&self.folder)?.filter(|journal| Some(*journal) > self.old) else {
            return Ok(());
        };
        let file = OpenOptions::new().write(true).open(self.folder.join(format!("{journal}.jnl")))?;
        if FILE_SYSTEMS.contains(&fstatfs(&file)?.f_type) {
            lay(&file)?;
        }
        Ok(())
    }
}

pub(super) fn newest(folder: &Path) -> io::Result<Option<u64>> {
    let mut newest = None;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".jnl")?.parse().ok());
        newest = newest.max(number);
    }
    Ok(newest)
}

/// Writes a piece of zeros where nothing has ever been written; says where that is.
fn lay(file: &File) -> io::Result<u64> {
    let behind = seek(file, SeekFrom::Hole(0))?;
    for zeros in 0..PIECE / ZEROS.len() {
        file.write_all_at(&ZEROS, behind + (zeros * ZEROS.len()) as u64)?;
    }
    Ok(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written is left alone, wherever it ends; what was zero stays zero; and each piece lies behind the last.
    #[test]
    fn zeros_are_laid_behind_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        for written in [0, 1, 4_095, 4_096, 10_000] {
            let path = folder.path().join("0.jnl");
            let file = File::create(&path).unwrap();
            file.set_len(3 * PIECE as u64 / 2).unwrap();
            file.write_all_at(&vec![7; written], 0).unwrap();
            let first = lay(&file).unwrap();
            assert!(first >= written as u64, "{first} {written}");
            assert_eq!(lay(&file).unwrap(), first + PIECE as u64);
            let bytes = fs::read(&path).unwrap();
            assert!(bytes[..written].iter().all(|byte| *byte == 7));
            assert!(bytes[written..].iter().all(|byte| *byte == 0));
        }
    }
}
