//! The database as we hold it on disk.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use fjall::config::{BlockSizePolicy, PinningPolicy};
use fjall::{
    Database, Keyspace, KeyspaceCreateOptions, KvSeparationOptions, OwnedWriteBatch, PersistMode,
    Readable as _, Slice,
};

use smallvec::SmallVec;

use super::journal;
use super::rows::{Row, Rows};
use super::runway::Runway;
use crate::key::{ColumnType, KeyBytes};
use crate::{Error, Kind, Options, Result, Schema, Shard, Space, TableId, TableSpec};

/// Raised when stored rows change so that another version would misread them. Any other format is refused.
const FORMAT: u32 = 2;
/// Two bytes for the table, two for the shard.
pub(super) const PREFIX_BYTES: usize = 4;
/// The table number under which the engine keeps its own rows in the small keyspace.
const OWN: [u8; 2] = [0, 0];
pub(super) const SPACES: usize = 3;
/// The keyspace whose rows are kept in memory: many of them fit. Those of a queue are read once.
const SMALL: usize = 0;

pub(super) struct Disk {
    pub(super) db: Database,
    keyspaces: [Keyspace; SPACES],
    /// By [`TableId`]: the table's number in this database, and its keyspace.
    tables: Vec<(u16, usize)>,
    witness: Witness,
    runway: Mutex<Runway>,
    pub(super) reads: super::ReadPlace,
    rows: Rows,
    /// The number of the last finished commit.
    committed: AtomicU64,
    /// What that left: the database itself may have more already, which is not durable yet.
    durable: Mutex<Sight>,
}

/// A key with its table and shard; most fit without memory of their own.
pub(super) type FullKey = SmallVec<[u8; 64]>;

/// The durable state at one moment.
#[derive(Clone)]
pub(super) struct Sight {
    /// A commit that the snapshot has.
    at: u64,
    pub(super) snapshot: fjall::Snapshot,
}

/// One row for a keyspace: the database and the rows in memory share its bytes.
pub(super) struct DiskRow {
    space: usize,
    row: Row,
}

impl DiskRow {
    fn own(space: usize, name: &str, value: &[u8]) -> Self {
        Self { space, row: Row::new(&own_key(name), Some(value)) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.row.bytes()
    }
}

impl Disk {
    pub(super) fn open(folder: &Path, schema: &Schema, options: &Options) -> Result<Self> {
        let failed = |error: io::Error| {
            Error::with_source(
                Kind::Unavailable,
                format!("the folder {} cannot be used", folder.display()),
                error,
            )
        };
        fs::create_dir_all(folder).map_err(failed)?;
        check_format(folder)?;
        let path = folder.join("db");
        let cut = journal::cut_torn_end(&path, folder).map_err(failed)?;
        let runway = Mutex::new(Runway::new(path.clone()));
        let db = Database::builder(path)
            .worker_threads(4)
            .max_journaling_size(256 << 20)
            .cache_size(options.cache_bytes / 2)
            .open()
            .map_err(|error| opening(folder, error))?;
        let keyspaces = ["small", "large", "queue"]
            .map(|name| db.keyspace(name, || keyspace_options(name)).map_err(|error| opening(folder, error)));
        let [small, large, queue] = keyspaces;
        let keyspaces = [small?, large?, queue?];
        let tables = number_tables(&db, &keyspaces[0], schema)?;
        let last_commit = read_own_number(&keyspaces[0], "commit")?;
        let witness = Witness::open(&folder.join("witness")).map_err(failed)?;
        if witness.last > last_commit {
            let kept =
                cut.map(|cut| format!(" (what could not be read is kept in {})", cut.path().display()));
            return Err(Error::corrupt(format!(
                "the store in {} ends at commit {last_commit}, but commit {} was acknowledged: its journal is damaged{}; \
                 restore a backup, or remove the file `witness` there to go on without what is lost",
                folder.display(),
                witness.last,
                kept.unwrap_or_default()
            )));
        }
        cut.into_iter().for_each(journal::Cut::forget);
        let durable = Sight { at: last_commit, snapshot: db.snapshot() };
        Ok(Self {
            db,
            keyspaces,
            tables,
            witness,
            runway,
            reads: super::ReadPlace::default(),
            rows: Rows::new(options.cache_bytes / 2),
            committed: AtomicU64::new(last_commit),
            durable: Mutex::new(durable),
        })
    }

    pub(super) fn keyspace(&self, table: TableId) -> &Keyspace {
        &self.keyspaces[self.tables[usize::from(table.0)].1]
    }

    pub(super) fn keyspaces(&self) -> &[Keyspace; SPACES] {
        &self.keyspaces
    }

    pub(super) fn full_key(&self, table: TableId, shard: Shard, key: &[u8]) -> FullKey {
        let number = self.tables[usize::from(table.0)].0;
        let mut full = FullKey::from_elem(0, PREFIX_BYTES + key.len());
        let (prefix, rest) = full.split_at_mut(PREFIX_BYTES);
        prefix[..2].copy_from_slice(&number.to_be_bytes());
        prefix[2..].copy_from_slice(&shard.number().to_be_bytes());
        rest.copy_from_slice(key);
        full
    }

    /// The first key behind all of a table's keys in a shard.
    pub(super) fn behind(&self, table: TableId, shard: Shard) -> FullKey {
        let number = self.tables[usize::from(table.0)].0;
        (((u32::from(number) << 16) | u32::from(shard.number())) + 1).to_be_bytes().as_slice().into()
    }

    pub(super) fn row(&self, table: TableId, shard: Shard, key: &KeyBytes, value: Option<&Bytes>) -> DiskRow {
        let space = self.tables[usize::from(table.0)].1;
        let key = self.full_key(table, shard, key.as_slice());
        DiskRow { space, row: Row::new(&key, value.map(|value| &value[..])) }
    }

    pub(super) fn committed(&self) -> u64 {
        self.committed.load(Ordering::Acquire)
    }

    pub(super) fn sight(&self) -> Sight {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_kept(&self, table: TableId) -> bool {
        self.tables[usize::from(table.0)].1 == SMALL
    }

    /// The row of a full key as it was after commit `at`, if that is known without looking at the disk.
    pub(super) fn remembered(&self, at: u64, table: TableId, full_key: &[u8]) -> Option<Option<Bytes>> {
        if self.is_kept(table) { self.rows.get(at, full_key) } else { None }
    }

    /// The same for many rows, if all of them are known.
    pub(super) fn all_remembered(
        &self,
        at: u64,
        table: TableId,
        full_keys: &[FullKey],
    ) -> Option<Vec<Option<Bytes>>> {
        if self.is_kept(table) { self.rows.get_all(at, full_keys) } else { None }
    }

    pub(super) fn get(&self, sight: &Sight, table: TableId, full_key: &[u8]) -> Result<Option<Bytes>> {
        if let Some(value) = self.remembered(sight.at, table, full_key) {
            return Ok(value);
        }
        let value = sight.snapshot.get(self.keyspace(table), full_key).map_err(reading)?;
        Ok(if self.is_kept(table) {
            self.rows.learn(sight.at, full_key, value.as_deref())
        } else {
            value.map(Bytes::from_owner)
        })
    }

    /// Writes one batch under its commit number; [`Disk::sync`] makes it durable, and seen. Returns the bytes written to
    /// each keyspace.
    pub(super) fn write(&self, commit: u64, rows: Vec<DiskRow>) -> Result<[u64; SPACES], fjall::Error> {
        let batch = OwnedWriteBatch::with_capacity(self.db.clone(), rows.len() + 1);
        let mut batch = batch.durability(Some(PersistMode::Buffer));
        let (mut bytes, mut written) = ([0; SPACES], (0, 0));
        let number = DiskRow::own(SMALL, "commit", &commit.to_be_bytes());
        for row in rows.into_iter().chain([number]) {
            bytes[row.space] += (row.bytes() + ROW_OVERHEAD) as u64;
            written = (written.0 + 1, written.1 + row.bytes() as u64);
            let DiskRow { space, row } = row;
            if space == SMALL {
                self.rows.write(commit, &row);
            }
            match row.value_view() {
                Some(value) => batch.insert(&self.keyspaces[space], row.key_view(), value),
                None => batch.remove(&self.keyspaces[space], row.key_view()),
            }
        }
        batch.commit()?;
        self.runway().used(written.0, written.1);
        Ok(bytes)
    }

    /// Makes the last commit durable. Nobody may write meanwhile.
    pub(super) fn sync(&self, commit: u64) -> Result<(), fjall::Error> {
        self.runway().extend_if_used();
        self.db.persist(PersistMode::SyncData)?;
        self.witness.note(commit)?;
        let sight = Sight { at: commit, snapshot: self.db.snapshot() };
        *self.durable.lock().unwrap_or_else(PoisonError::into_inner) = sight;
        self.committed.store(commit, Ordering::Release);
        Ok(())
    }

    fn runway(&self) -> MutexGuard<'_, Runway> {
        self.runway.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A tiny insert into each keyspace, because one that is drained pins the journals (fjall#288); the commit number
    /// does it for the small one.
    pub(super) fn keep_alive_rows() -> Vec<DiskRow> {
        (1..SPACES).map(|space| DiskRow::own(space, "alive", &[1])).collect()
    }
}

/// What a row costs in a memtable besides its bytes, roughly.
const ROW_OVERHEAD: usize = 64;

/// The number of the last acknowledged commit, outside the database: written after the fsync and before the answer, so
/// a database that opens shorter than this has lost something and must not pass for whole.
struct Witness {
    file: fs::File,
    last: u64,
}

impl Witness {
    fn open(path: &PathBuf) -> io::Result<Self> {
        let file = fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let mut bytes = [0; 16];
        let last = match file.read_at(&mut bytes, 0)? {
            0 => 0,
            _ => Self::decode(bytes).unwrap_or_else(|| {
                tracing::warn!(path = %path.display(), "the witness file cannot be read and is begun anew");
                0
            }),
        };
        Ok(Self { file, last })
    }

    fn note(&self, commit: u64) -> Result<(), fjall::Error> {
        let number = commit.to_be_bytes();
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number);
        bytes[8..].copy_from_slice(&blake3::hash(&number).as_bytes()[..8]);
        self.file.write_all_at(&bytes, 0).map_err(fjall::Error::Io)
    }

    fn decode(bytes: [u8; 16]) -> Option<u64> {
        let (number, check) = bytes.split_first_chunk::<8>()?;
        (blake3::hash(number).as_bytes()[..8] == *check).then(|| u64::from_be_bytes(*number))
    }
}

fn keyspace_options(name: &str) -> KeyspaceCreateOptions {
    // The committer rotates by itself: over a limit of its own every commit would flood fjall's bounded worker
    // channel, which can deadlock it (fjall#257).
    let options = KeyspaceCreateOptions::default().max_memtable_size(u64::MAX);
    match name {
        "large" => options.with_kv_separation(Some(KvSeparationOptions::default())),
        _ => options
            .data_block_size_policy(BlockSizePolicy::all(4 << 10))
            .filter_block_pinning_policy(PinningPolicy::all(true)),
    }
}

/// The file `format` says which version made the store, before anything of it is opened.
fn check_format(folder: &Path) -> Result<()> {
    let path = folder.join("format");
    let unusable = |error: io::Error| {
        Error::with_source(Kind::Unavailable, format!("{} cannot be used", path.display()), error)
    };
    match fs::read_to_string(&path) {
        Ok(text) => {
            match text.trim().strip_prefix("dvor store ").and_then(|number| number.parse::<u32>().ok()) {
                Some(FORMAT) => Ok(()),
                Some(number) => {
                    let age = if number > FORMAT { "a newer" } else { "an older" };
                    let message = format!(
                        "the store in {} was made by {age} version of dvor (format {number}; this one knows {FORMAT})",
                        folder.display()
                    );
                    Err(Error::new(Kind::Incompatible, message))
                }
                None => Err(Error::corrupt(format!("{} does not say a format", path.display()))),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::write(&path, format!("dvor store {FORMAT}\n")).map_err(unusable)
        }
        Err(error) => Err(unusable(error)),
    }
}

/// Gives each table its number in this database, for ever.
fn number_tables(db: &Database, own: &Keyspace, schema: &Schema) -> Result<Vec<(u16, usize)>> {
    let failed = |error| Error::with_source(Kind::Unavailable, "the table list cannot be used", error);
    let mut next = 1 + u16::try_from(own.prefix(own_key("table ")).count())
        .map_err(|_| Error::corrupt("there are more than 65,535 tables"))?;
    let mut batch = db.batch().durability(Some(PersistMode::SyncData));
    let mut tables = Vec::with_capacity(schema.len());
    for (_, table) in schema.tables() {
        let key = own_key(&format!("table {}", table.full_name()));
        let columns = signature(table);
        let number = match own.get(&key).map_err(failed)? {
            Some(value) => {
                let (number, stored) =
                    value.split_at_checked(2).ok_or_else(|| Error::corrupt("a table's entry"))?;
                if stored != columns.as_bytes() {
                    let stored = String::from_utf8_lossy(stored);
                    let name = table.full_name();
                    return Err(Error::new(
                        Kind::Incompatible,
                        format!("table {name} is stored with columns {stored}, this version has {columns}"),
                    ));
                }
                u16::from_be_bytes([number[0], number[1]])
            }
            None => {
                let mut value = next.to_be_bytes().to_vec();
                value.extend_from_slice(columns.as_bytes());
                batch.insert(own, key, value);
                next += 1;
                next - 1
            }
        };
        tables.push((number, space_index(table.space)));
    }
    batch.commit().map_err(failed)?;
    Ok(tables)
}

/// A table's columns and keyspace as text: what must not change under stored rows.
fn signature(table: &TableSpec) -> String {
    let types: Vec<_> = table
        .types
        .iter()
        .map(|column| match column {
            ColumnType::Str => "str",
            ColumnType::I64 => "i64",
            ColumnType::U32 => "u32",
            ColumnType::Bytes => "bytes",
            ColumnType::Time => "time",
        })
        .collect();
    format!("{} in {}", types.join(","), ["small", "large", "queue"][space_index(table.space)])
}

fn space_index(space: Space) -> usize {
    match space {
        Space::Small => SMALL,
        Space::Large => 1,
        Space::Queue => 2,
    }
}

fn own_key(name: &str) -> Slice {
    let mut key = OWN.to_vec();
    key.extend_from_slice(name.as_bytes());
    Slice::from(key)
}

fn read_own_number(own: &Keyspace, name: &str) -> Result<u64> {
    let value = own
        .get(own_key(name))
        .map_err(|error| Error::with_source(Kind::Unavailable, "the store cannot be read", error))?;
    let Some(value) = value else { return Ok(0) };
    let bytes = value[..].try_into().map_err(|_| Error::corrupt("the commit number cannot be read"))?;
    Ok(u64::from_be_bytes(bytes))
}

pub(super) fn reading(error: fjall::Error) -> Error {
    Error::with_source(Kind::Unavailable, "the embedded store cannot be read", error)
}

fn opening(folder: &Path, error: fjall::Error) -> Error {
    let folder = folder.display();
    match error {
        fjall::Error::Locked => {
            Error::new(Kind::Locked, format!("the data folder {folder} is in use by another process"))
        }
        fjall::Error::InvalidVersion(_) => Error::new(
            Kind::Incompatible,
            format!("the store in {folder} was written by another version of the database engine"),
        ),
        other => {
            Error::with_source(Kind::Unavailable, format!("the store in {folder} cannot be opened"), other)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Table;
    use crate::key::Encode as _;

    const WORDS: Table<(String,), String> = Table::new("test", "words", &["word"], Space::Small);

    /// What a kill could take back is told to nobody.
    #[test]
    fn what_is_not_durable_is_not_seen() {
        let folder = tempfile::tempdir().unwrap();
        let schema = Schema::new([WORDS.spec()]);
        let disk = Disk::open(folder.path(), &schema, &Options::default()).unwrap();
        let table = schema.id("test", "words").unwrap();
        let (shard, key) = (Shard::of("a"), ("a",).encode().unwrap());
        let full_key = disk.full_key(table, shard, key.as_slice());
        let seen = || {
            let read = disk.get(&disk.sight(), table, &full_key).unwrap();
            let remembered = disk.remembered(disk.committed(), table, &full_key);
            assert!(remembered.is_none_or(|remembered| remembered == read));
            read
        };
        for (commit, text) in [(1, "old"), (2, "new")] {
            let before = seen();
            let row = disk.row(table, shard, &key, Some(&text.into()));
            disk.write(commit, vec![row]).unwrap();
            assert_eq!(seen(), before);
            disk.sync(commit).unwrap();
            assert_eq!(seen(), Some(text.into()));
        }
    }
}
