//! A stored file as Parquet wants it: read by ranges, never whole.

use std::io::{self, Read};
use std::ops::Range;

use bytes::{Buf as _, Bytes};
use files::{Files, Hash};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};

use crate::{Error, Result};

/// The end of a file holds the footer and, before it, the page index: usually all that a look-up needs besides two
/// pages.
const TAIL_BYTES: u64 = 64 << 10;
/// Sequential reads take this much at a time.
const AHEAD_BYTES: u64 = 256 << 10;

/// A file of the archive, with its end at hand.
#[derive(Clone)]
pub(crate) struct Ranges {
    files: Files,
    hash: Hash,
    size: u64,
    tail: Bytes,
    runtime: tokio::runtime::Handle,
}

/// Opens a file and reads it in a thread that may block, since Parquet's reader does.
pub(crate) async fn read<T: Send + 'static>(
    files: &Files,
    hash: Hash,
    read: impl FnOnce(Ranges) -> Result<T> + Send + 'static,
) -> Result<T> {
    let ranges = Ranges::open(files, hash).await?;
    blocking(move || read(ranges)).await
}

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(Error::Archive(error.to_string())),
    }
}

impl Ranges {
    pub(crate) async fn open(files: &Files, hash: Hash) -> Result<Self> {
        let size = files.size(&hash).await?;
        let size =
            size.ok_or_else(|| files::Error::new(files::Kind::NotFound, format!("there is no file {hash}")))?;
        let tail = files.open_range(&hash, size.saturating_sub(TAIL_BYTES)..size).await?.bytes().await?;
        Ok(Self { files: files.clone(), hash, size, tail, runtime: tokio::runtime::Handle::current() })
    }

    fn fetch(&self, range: Range<u64>) -> io::Result<Bytes> {
        let tail_start = self.size - self.tail.len() as u64;
        if range.start >= tail_start && range.end <= self.size {
            return Ok(self
                .tail
                .slice((range.start - tail_start) as usize..(range.end - tail_start) as usize));
        }
        let fetched = async { self.files.open_range(&self.hash, range).await?.bytes().await };
        self.runtime.block_on(fetched).map_err(io::Error::other)
    }
}

impl Length for Ranges {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for Ranges {
    type T = Ahead;

    fn get_read(&self, start: u64) -> ParquetResult<Ahead> {
        Ok(Ahead { ranges: self.clone(), next: start, chunk: Bytes::new() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let bytes = self.fetch(start..start.saturating_add(length as u64))?;
        if bytes.len() < length {
            return Err(ParquetError::EOF(format!("the file ends within {length} bytes from {start}")));
        }
        Ok(bytes)
    }
}

/// Reads on from a place, a chunk at a time.
pub(crate) struct Ahead {
    ranges: Ranges,
    next: u64,
    chunk: Bytes,
}

impl Read for Ahead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.chunk.is_empty() && self.next < self.ranges.size {
            let end = (self.next + AHEAD_BYTES).min(self.ranges.size);
            self.chunk = self.ranges.fetch(self.next..end)?;
            self.next = end;
        }
        let read = out.len().min(self.chunk.len());
        self.chunk.copy_to_slice(&mut out[..read]);
        Ok(read)
    }
}
