//! The data folder: its making, its lock, and `dvor.json`, by which commands find the running server.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use kit::Timestamp;
use serde::{Deserialize, Serialize};

use crate::cli::exit::{self, Failure};

/// The running server, as `dvor.json` tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    pub pid: u32,
    pub version: String,
    pub http: SocketAddr,
    pub grpc: SocketAddr,
    /// Listened on with the role `snippets` only.
    pub snippets: Option<SocketAddr>,
    pub started_at: Timestamp,
}

impl Running {
    pub fn path(data: &Path) -> PathBuf {
        data.join("dvor.json")
    }

    /// What the file says; `None` when there is none. A server that was killed leaves its file behind.
    pub fn read(data: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(Self::path(data)).ok()?).ok()
    }

    pub fn write(&self, data: &Path) -> Result<()> {
        let path = Self::path(data);
        let text = serde_json::to_vec_pretty(self)?;
        write_private(&path, &text).with_context(|| format!("{} cannot be written", path.display()))
    }
}

/// The lock of a server on its data folder; released when dropped, or when the process dies.
pub struct Lock {
    _file: File,
}

/// Makes the data folder, for its user alone.
pub fn make(data: &Path) -> Result<()> {
    make_folder(data).with_context(|| format!("the data folder {} cannot be made", data.display()))
}

pub fn lock(data: &Path) -> Result<Lock> {
    let path = data.join("dvor.lock");
    let open = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let file = open.with_context(|| format!("{} cannot be opened", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(Lock { _file: file }),
        Err(TryLockError::WouldBlock) => Err(in_use(data)),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("{} cannot be locked", path.display()))
        }
    }
}

/// The sentence for a data folder that another process holds.
pub fn in_use(data: &Path) -> anyhow::Error {
    let who = Running::read(data).map_or_else(
        || "another process".to_owned(),
        |running| format!("the server with process id {} (HTTP on {})", running.pid, running.http),
    );
    Failure::of(exit::UNAVAILABLE, format!("the data folder {} is in use by {who}", data.display()))
}

/// Writes a file that only its user can read, whole or not at all.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(unix)]
fn make_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}
