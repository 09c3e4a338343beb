//! Looks the newest journal over before the database opens it, and cuts off a torn end.
//!
//! A commit that the power took away may be on disk in part, its pages in any order. The database takes a batch that ends too
//! early for what it is, but refuses to open over one whose bytes are not what was written. Nothing behind such a batch
//! was ever acknowledged, since a commit begins when the one before it is durable. So the journal is cut behind its last
//! whole batch. Damage of another kind looks the same here; the witness tells it apart after opening, and what was cut
//! off is kept in a file until then.
//!
//! A batch is a start (count of items, sequence number), items, and an end with the hash of the items' bytes. The format
//! is that of the pinned fjall; an older journal than the newest was synced whole when the next one was begun.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use super::runway;

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const CLEAR: u8 = 4;
/// What closes the end of a batch.
const MAGIC: [u8; 4] = *b"FJL\x03";
/// The bytes of an item before its key: kind, compression, keyspace, length of the key, of the value, of the stored value.
const ITEM_HEAD: usize = 1 + 1 + 8 + 2 + 4 + 4;
/// Values are hashed in pieces of this size.
const PIECE: usize = 64 << 10;
static ZEROS: [u8; PIECE] = [0; PIECE];

/// What was cut off, and where it is kept.
pub(super) struct Cut(PathBuf);

impl Cut {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The store is whole without it.
    pub(super) fn forget(self) {
        if let Err(error) = fs::remove_file(&self.0) {
            tracing::warn!(%error, path = %self.0.display(), "the torn end of a journal stays where it is");
        }
    }
}

/// Cuts the newest journal of the database behind its last whole batch. `kept` is the folder for what is cut off. A database
/// that another process holds is left alone.
pub(super) fn cut_torn_end(database: &Path, kept: &Path) -> io::Result<Option<Cut>> {
    let lock = match OpenOptions::new().read(true).write(true).open(database.join("lock")) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if lock.try_lock().is_err() {
        return Ok(None);
    }
    let Some(journal) = runway::newest(database)? else { return Ok(None) };
    let path = database.join(format!("{journal}.jnl"));
    let mut file = OpenOptions::new().read(true).write(true).open(&path)?;
    let whole = whole_bytes(&mut file)?;
    let torn = read_torn(&mut file, whole)?;
    if torn.is_empty() {
        return Ok(None);
    }
    let cut = Cut(kept.join(format!("torn-{journal}-{whole}")));
    fs::write(&cut.0, &torn)?;
    File::open(&cut.0)?.sync_all()?;
    file.set_len(whole)?;
    file.sync_all()?;
    tracing::warn!(
        journal = %path.display(),
        whole,
        torn = torn.len(),
        "the journal ended in a batch that was not written whole and not acknowledged; it is cut off"
    );
    Ok(Some(cut))
}

/// What lies behind the whole batches, without the zeros at its end, which are no writing of anybody.
fn read_torn(file: &mut File, whole: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(whole))?;
    let mut reader = BufReader::with_capacity(PIECE, &*file);
    let (mut torn, mut zeros, mut piece) = (Vec::new(), 0, vec![0; PIECE]);
    loop {
        let count = reader.read(&mut piece)?;
        if count == 0 {
            return Ok(torn);
        }
        let piece = &piece[..count];
        // Most are zeros from end to end, and quickly compared.
        let last = if *piece == ZEROS[..count] { None } else { piece.iter().rposition(|byte| *byte != 0) };
        match last {
            None => zeros += count,
            Some(last) => {
                torn.resize(torn.len() + zeros, 0);
                torn.extend_from_slice(&piece[..=last]);
                zeros = count - last - 1;
            }
        }
    }
}

/// The length of the journal's whole batches.
fn whole_bytes(file: &mut File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(0))?;
    let mut batches = Batches {
        reader: BufReader::with_capacity(PIECE, &*file),
        position: 0,
        length,
        buffer: vec![0; PIECE],
    };
    let mut whole = 0;
    loop {
        match batches.next() {
            Ok(true) => whole = batches.position,
            Ok(false) => return Ok(whole),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(whole),
            Err(error) => return Err(error),
        }
    }
}

struct Batches<'a> {
    reader: BufReader<&'a File>,
    position: u64,
    length: u64,
    buffer: Vec<u8>,
}

impl Batches<'_> {
    /// Reads one batch; `false`: it is none, or not whole.
    fn next(&mut self) -> io::Result<bool> {
        if self.byte()? != START {
            return Ok(false);
        }
        let head: [u8; 12] = self.array()?;
        let mut items = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let mut hash = Xxh3::new();
        loop {
            match self.byte()? {
                ITEM if items > 0 => {
                    items -= 1;
                    if !self.item(&mut hash)? {
                        return Ok(false);
                    }
                }
                CLEAR if items > 0 => {
                    items -= 1;
                    hash.update(&[CLEAR]);
                    hash.update(&self.array::<8>()?);
                }
                END if items == 0 => {
                    let stored = u64::from_le_bytes(self.array()?);
                    return Ok(self.array()? == MAGIC && stored == hash.digest());
                }
                _ => return Ok(false),
            }
        }
    }

    fn item(&mut self, hash: &mut Xxh3) -> io::Result<bool> {
        let head: [u8; ITEM_HEAD] = self.array()?;
        hash.update(&[ITEM]);
        hash.update(&head);
        let key = u64::from(u16::from_le_bytes([head[10], head[11]]));
        let value = u64::from(u32::from_le_bytes([head[16], head[17], head[18], head[19]]));
        let mut left = key + value;
        // A torn length may be any number.
        if left > self.length - self.position {
            return Ok(false);
        }
        while left > 0 {
            let count = left.min(PIECE as u64) as usize;
            self.reader.read_exact(&mut self.buffer[..count])?;
            hash.update(&self.buffer[..count]);
            self.position += count as u64;
            left -= count as u64;
        }
        Ok(true)
    }

    fn byte(&mut self) -> io::Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes)?;
        self.position += N as u64;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(values: &[&[u8]]) -> Vec<u8> {
        let mut bytes = vec![START];
        bytes.extend((values.len() as u32).to_le_bytes());
        bytes.extend(7_u64.to_le_bytes());
        let mut hash = Xxh3::new();
        for value in values {
            let mut item = vec![ITEM, 0, 0];
            item.extend(1_u64.to_le_bytes());
            item.extend(3_u16.to_le_bytes());
            item.extend((value.len() as u32).to_le_bytes());
            item.extend((value.len() as u32).to_le_bytes());
            item.extend(b"key");
            item.extend(*value);
            hash.update(&item);
            bytes.extend(item);
        }
        bytes.push(END);
        bytes.extend(hash.digest().to_le_bytes());
        bytes.extend(MAGIC);
        bytes
    }

    /// Wherever the last batch is cut, or a byte of it differs, the batches before it stay, and it does not.
    #[test]
    fn a_torn_batch_is_cut_off_at_any_byte() {
        let folder = tempfile::tempdir().unwrap();
        let whole = [batch(&[b"one", b"two"]), batch(&[&[9; 300]])].concat();
        let last = batch(&[b"three", &[8; 200], b""]);
        fs::write(folder.path().join("lock"), "").unwrap();
        let path = folder.path().join("4.jnl");
        let check = |bytes: &[u8], zeros: usize, expected: &[u8]| {
            fs::write(&path, [&whole, bytes, &vec![0; zeros]].concat()).unwrap();
            let cut = cut_torn_end(folder.path(), folder.path()).unwrap();
            let kept = cut.as_ref().map(|cut| fs::read(cut.path()).unwrap()).unwrap_or_default();
            assert_eq!(kept, expected);
            let left = fs::read(&path).unwrap();
            let is_cut = !kept.is_empty();
            assert_eq!(left.len(), whole.len() + if is_cut { 0 } else { bytes.len() + zeros });
            assert!(left.starts_with(&whole));
            cut.into_iter().for_each(Cut::forget);
        };
        for zeros in [0, 5_000] {
            check(&last, zeros, &[]);
            check(&[], zeros, &[]);
            for end in 1..last.len() {
                let torn = last[..end].iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
                check(&last[..end], zeros, &last[..torn]);
            }
            for at in 13..last.len() {
                let mut flipped = last.clone();
                flipped[at] ^= 0x55;
                check(&flipped, zeros, &flipped);
            }
        }
    }
}
