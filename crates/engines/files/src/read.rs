use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use futures::stream::{self, BoxStream, StreamExt as _};

use crate::{Error, Hash, Kind, Result, metrics};

/// A file, or a part of it, being read: a stream of its bytes.
pub struct Reading {
    hash: Hash,
    size: u64,
    range: Range<u64>,
    stream: BoxStream<'static, Result<Bytes>>,
}

impl Reading {
    pub(crate) fn new(
        hash: Hash,
        size: u64,
        range: Range<u64>,
        stream: BoxStream<'static, Result<Bytes>>,
    ) -> Self {
        let whole = range == (0..size);
        let check = Check {
            stream: stream.fuse(),
            hash,
            left: range.end - range.start,
            hasher: whole.then(blake3::Hasher::new),
            held_back: None,
        };
        Self { hash, size, range, stream: stream::try_unfold(check, Check::next).boxed() }
    }

    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// The size of the whole file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Which of its bytes the stream brings.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// All bytes at once, for those who know that they are few.
    pub async fn bytes(mut self) -> Result<Bytes> {
        let mut all = bytes::BytesMut::with_capacity((self.range.end - self.range.start) as usize);
        while let Some(chunk) = self.next().await {
            all.extend_from_slice(&chunk?);
        }
        Ok(all.freeze())
    }
}

impl Stream for Reading {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.stream.poll_next_unpin(context)
    }
}

/// Counts, and hashes if the file is read whole. The last chunk is held back until everything before the end is
/// checked: who reads to the end has the right bytes or an error, never a whole wrong file.
struct Check {
    stream: stream::Fuse<BoxStream<'static, Result<Bytes>>>,
    hash: Hash,
    left: u64,
    hasher: Option<blake3::Hasher>,
    held_back: Option<Bytes>,
}

impl Check {
    async fn next(mut self) -> Result<Option<(Bytes, Self)>> {
        loop {
            let Some(chunk) = self.stream.next().await.transpose()? else {
                if self.left > 0 {
                    return Err(self.corrupt(&format!("{} bytes are missing", self.left)));
                }
                let found = self.hasher.take().map(|hasher| Hash::from_bytes(*hasher.finalize().as_bytes()));
                if let Some(found) = found.filter(|found| *found != self.hash) {
                    return Err(self.corrupt(&format!("its content has the hash {found}")));
                }
                return Ok(self.held_back.take().map(|last| (last, self)));
            };
            let Some(left) = self.left.checked_sub(chunk.len() as u64) else {
                return Err(self.corrupt("there are more bytes than there should be"));
            };
            self.left = left;
            if let Some(hasher) = &mut self.hasher {
                hasher.update(&chunk);
            }
            metrics::read(chunk.len());
            if let Some(ready) = self.held_back.replace(chunk) {
                return Ok(Some((ready, self)));
            }
        }
    }

    fn corrupt(&self, what: &str) -> Error {
        metrics::corrupt();
        Error::new(Kind::Corrupt, format!("file {} is damaged: {what}", self.hash))
    }
}
