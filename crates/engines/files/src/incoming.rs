//! Bytes on their way in: hashed while they come, kept in memory while few, in a temp file when many.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt as _};
use tempfile::TempPath;
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncWriteExt as _};

use crate::{Error, Hash, Kind, Limits, Options, Result, error};

pub(crate) const TEMP_PREFIX: &str = "dvor-incoming-";
/// How much is received between two looks at the room on the disk.
const SPACE_CHECK_BYTES: u64 = 16 << 20;

/// Received content: whole, hashed, and not stored yet. Its temp file goes with the last clone.
#[derive(Clone, Debug)]
pub struct Incoming {
    hash: Hash,
    size: u64,
    body: Body,
}

impl Incoming {
    pub fn hash(&self) -> Hash {
        self.hash
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn body(&self) -> &Body {
        &self.body
    }
}

#[derive(Clone, Debug)]
pub enum Body {
    Memory(Bytes),
    File(Arc<TempPath>),
}

pub type BodyReader = Pin<Box<dyn AsyncRead + Send>>;

impl Body {
    pub async fn reader(&self) -> Result<BodyReader> {
        match self {
            Self::Memory(bytes) => Ok(Box::pin(io::Cursor::new(bytes.clone()))),
            Self::File(path) => Ok(Box::pin(File::open(&**path).await.map_err(reading)?)),
        }
    }

    /// All of it; for those who know that it is small.
    pub async fn to_bytes(&self) -> Result<Bytes> {
        match self {
            Self::Memory(bytes) => Ok(bytes.clone()),
            Self::File(path) => Ok(tokio::fs::read(&**path).await.map_err(reading)?.into()),
        }
    }

    pub async fn size(&self) -> Result<u64> {
        match self {
            Self::Memory(bytes) => Ok(bytes.len() as u64),
            Self::File(path) => Ok(tokio::fs::metadata(&**path).await.map_err(reading)?.len()),
        }
    }
}

fn reading(error: io::Error) -> Error {
    error::of_io("reading a received file", error)
}

/// Takes a stream in. Whatever goes wrong, nothing of it stays.
pub(crate) async fn receive<E>(
    stream: impl Stream<Item = Result<Bytes, E>> + Send,
    limits: Limits,
    options: &Options,
) -> Result<Incoming>
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let announced = limits.expected_bytes.unwrap_or(0);
    if announced > limits.max_bytes {
        return Err(too_large(limits.max_bytes));
    }
    check_space(options, announced)?;
    let mut stream = std::pin::pin!(stream);
    let (mut hasher, mut size) = (blake3::Hasher::new(), 0_u64);
    let (mut buffer, mut spool) = (BytesMut::new(), None);
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| {
            Error::with_source(Kind::Incomplete, "the stream failed before its end", error)
        })?;
        size += chunk.len() as u64;
        if size > limits.max_bytes {
            return Err(too_large(limits.max_bytes));
        }
        hasher.update(&chunk);
        buffer.extend_from_slice(&chunk);
        if buffer.len() > options.memory_bytes {
            if spool.is_none() {
                spool = Some(Spool::open(options).await?);
            }
            if let Some(spool) = &mut spool {
                spool.write(&mut buffer, options).await?;
            }
        }
    }
    if let Some(expected) = limits.expected_bytes
        && expected != size
    {
        return Err(Error::new(
            Kind::Incomplete,
            format!("the stream brought {size} bytes where {expected} were announced"),
        ));
    }
    let body = match spool {
        None => Body::Memory(buffer.freeze()),
        Some(mut spool) => {
            spool.write(&mut buffer, options).await?;
            spool.finish().await?
        }
    };
    Ok(Incoming { hash: Hash::from_bytes(*hasher.finalize().as_bytes()), size, body })
}

/// A temp file being written; removed when dropped.
struct Spool {
    file: File,
    path: TempPath,
    since_check: u64,
}

impl Spool {
    async fn open(options: &Options) -> Result<Self> {
        let dir = options.temp_dir.clone();
        let made = tokio::task::spawn_blocking(move || {
            tempfile::Builder::new().prefix(TEMP_PREFIX).tempfile_in(dir)
        });
        let made =
            made.await.map_err(|error| Error::with_source(Kind::Unavailable, "making a temp file", error))?;
        let (file, path) = made.map_err(|error| error::of_io("making a temp file", error))?.into_parts();
        Ok(Self { file: File::from_std(file), path, since_check: 0 })
    }

    async fn write(&mut self, buffer: &mut BytesMut, options: &Options) -> Result<()> {
        self.since_check += buffer.len() as u64;
        if self.since_check >= SPACE_CHECK_BYTES {
            self.since_check = 0;
            check_space(options, buffer.len() as u64)?;
        }
        let written = self.file.write_all(buffer).await;
        written.map_err(|error| error::of_io("writing a temp file", error))?;
        buffer.clear();
        Ok(())
    }

    async fn finish(mut self) -> Result<Body> {
        self.file.flush().await.map_err(|error| error::of_io("writing a temp file", error))?;
        Ok(Body::File(Arc::new(self.path)))
    }
}

fn too_large(limit: u64) -> Error {
    Error::new(Kind::TooLarge, format!("the file is larger than the limit of {limit} bytes"))
}

/// Fails while there is still room for everything else: a full disk is everybody's.
fn check_space(options: &Options, coming: u64) -> Result<()> {
    let free = free_bytes(&options.temp_dir)?;
    if free < coming.saturating_add(options.reserve_bytes) {
        let reserve = options.reserve_bytes;
        return Err(Error::new(
            Kind::Full,
            format!(
                "{free} bytes are free for incoming files, {coming} would come and {reserve} are kept in reserve"
            ),
        ));
    }
    Ok(())
}

fn free_bytes(dir: &Path) -> Result<u64> {
    fs4::available_space(dir).map_err(|error| error::of_io("asking for the free room on the disk", error))
}
