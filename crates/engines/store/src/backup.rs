//! A backup is one file: a line that names the format, blocks of rows (lz4), and an end that counts and hashes them.
//!
//! It is written while the store is in use, as of one moment, under a name that ends in `.partial` until it is whole and
//! on disk. It can be restored into an empty store of any engine.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;

use prost::Message as _;

use crate::copy::{Source, begin, finish, write};
use crate::key::KeyBytes;
use crate::{Error, Kind, Range, Result, Shard, Store};

const FIRST_LINE: &[u8] = b"dvor backup 1\n";
const PAGE_ROWS: usize = 500;
/// A page of the largest rows there can be, and some.
const MOST_BLOCK_BYTES: usize = PAGE_ROWS * (crate::MAX_VALUE_BYTES + crate::MAX_KEY_BYTES + 16);

#[derive(Clone, PartialEq, prost::Message)]
struct Block {
    #[prost(string, tag = "1")]
    system: String,
    #[prost(string, tag = "2")]
    table: String,
    #[prost(uint32, tag = "3")]
    shard: u32,
    #[prost(bytes = "vec", repeated, tag = "4")]
    keys: Vec<Vec<u8>>,
    #[prost(bytes = "bytes", repeated, tag = "5")]
    values: Vec<bytes::Bytes>,
    /// Only in the last block: how many rows there were.
    #[prost(uint64, optional, tag = "6")]
    end: Option<u64>,
}

/// Writes a backup of everything. Returns the number of rows.
pub async fn backup(store: &Store, path: &Path, mut progress: impl FnMut(u64)) -> Result<u64> {
    let partial = path.with_extension("partial");
    let failed = |error: io::Error| failure(path, error);
    let mut out = Out::create(&partial).map_err(failed)?;
    let source = Source::new(store).await?;
    let mut rows = 0;
    for shard in Shard::all() {
        let reader = source.reader(shard).await?;
        for (table, spec) in store.schema().tables() {
            let mut range = Range::all(PAGE_ROWS);
            loop {
                let page = reader.scan(table, &range).await?;
                let Some((last, _)) = page.last() else { break };
                range = range.beyond(last.clone());
                rows += page.len() as u64;
                let (keys, values) = page.into_iter().map(|(key, value)| (key.0, value)).unzip();
                let (system, table) = (spec.system.to_owned(), spec.name.to_owned());
                out.block(&Block { system, table, shard: shard.number().into(), keys, values, end: None })
                    .map_err(failed)?;
                progress(rows);
            }
        }
    }
    out.block(&Block { end: Some(rows), ..Block::default() }).map_err(failed)?;
    out.finish(&partial, path).map_err(failed)?;
    Ok(rows)
}

/// Reads a backup into an empty store. Nothing is taken for whole before the end was read and agrees.
pub async fn restore(path: &Path, store: &Store, mut progress: impl FnMut(u64)) -> Result<u64> {
    let mut input = In::open(path)?;
    begin(store).await?;
    let mut rows = 0;
    loop {
        let block = input.block()?;
        if let Some(counted) = block.end {
            input.check_end()?;
            if counted != rows {
                return Err(damaged(path, &format!("{counted} rows were written, {rows} are there")));
            }
            finish(store).await?;
            return Ok(rows);
        }
        let table = store.schema().id(&block.system, &block.table)?;
        let shard = u16::try_from(block.shard).ok().and_then(Shard::new);
        let shard = shard.ok_or_else(|| damaged(path, "a shard that does not exist"))?;
        rows += block.keys.len() as u64;
        write(store, shard, table, block.keys.into_iter().map(KeyBytes).zip(block.values).collect()).await?;
        progress(rows);
    }
}

/// For nobody but us: a backup has every seller's data and the hashes of all tokens.
fn create_private(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

struct Out {
    file: BufWriter<File>,
    hash: blake3::Hasher,
}

impl Out {
    fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 20, create_private(path)?);
        file.write_all(FIRST_LINE)?;
        Ok(Self { file, hash: blake3::Hasher::new() })
    }

    fn block(&mut self, block: &Block) -> io::Result<()> {
        let bytes = lz4_flex::compress_prepend_size(&block.encode_to_vec());
        let length = u32::try_from(bytes.len()).map_err(|_| io::Error::other("a block of over 4 GiB"))?;
        self.hash.update(&bytes);
        self.file.write_all(&length.to_be_bytes())?;
        self.file.write_all(&bytes)
    }

    fn finish(mut self, partial: &Path, path: &Path) -> io::Result<()> {
        self.file.write_all(self.hash.finalize().as_bytes())?;
        self.file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        std::fs::rename(partial, path)?;
        match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(parent) => File::open(parent)?.sync_all(),
            None => File::open(".")?.sync_all(),
        }
    }
}

struct In<'a> {
    path: &'a Path,
    file: BufReader<File>,
    hash: blake3::Hasher,
}

impl<'a> In<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| failure(path, error))?;
        let mut input =
            Self { path, file: BufReader::with_capacity(1 << 20, file), hash: blake3::Hasher::new() };
        let mut line = [0; FIRST_LINE.len()];
        input.read(&mut line)?;
        if line != FIRST_LINE {
            return Err(Error::new(
                Kind::Incompatible,
                format!("{} is no backup of this version", path.display()),
            ));
        }
        Ok(input)
    }

    fn block(&mut self) -> Result<Block> {
        let mut length = [0; 4];
        self.read(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > MOST_BLOCK_BYTES {
            return Err(damaged(self.path, "a block of an impossible size"));
        }
        let mut bytes = vec![0; length];
        self.read(&mut bytes)?;
        self.hash.update(&bytes);
        let plain = lz4_flex::decompress_size_prepended(&bytes).map_err(|_| damaged(self.path, "a block"))?;
        Block::decode(&plain[..]).map_err(|_| damaged(self.path, "a block's rows"))
    }

    fn check_end(&mut self) -> Result<()> {
        let mut hash = [0; 32];
        self.read(&mut hash)?;
        if self.hash.finalize() == blake3::Hash::from_bytes(hash) {
            Ok(())
        } else {
            Err(damaged(self.path, "its hash does not agree"))
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.file.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => damaged(self.path, "it ends too early"),
            _ => failure(self.path, error),
        })
    }
}

fn failure(path: &Path, error: io::Error) -> Error {
    Error::with_source(Kind::Unavailable, format!("the backup {}", path.display()), error)
}

fn damaged(path: &Path, what: &str) -> Error {
    Error::corrupt(format!("the backup {} is damaged: {what}", path.display()))
}
