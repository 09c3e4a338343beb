use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt as _};
use kit::Timestamp;
use store::{Read as _, Store};
use tokio::time::Instant;

use crate::objects::SharedObjects;
use crate::options::WRITE_MARGIN;
use crate::protocol::{self, Claim};
use crate::tables::{BLOBS, Blob, BlobState};
use crate::{
    Error, Hash, Incoming, Kind, Limits, ObjectName, Options, Reading, Referrer, Result, error, incoming,
    metrics,
};

/// The files of a process. Clones share them.
#[derive(Clone)]
pub struct Files {
    pub(crate) store: Store,
    pub(crate) objects: SharedObjects,
    pub(crate) options: Arc<Options>,
}

/// A file that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    pub hash: Hash,
    pub size: u64,
}

/// Opens the files kept at `file:<dir>` or `s3://bucket/prefix?endpoint=…&region=…`; their rows are in `store`.
pub fn open(url: &str, store: Store, options: Options) -> Result<Files> {
    Files::over(crate::objects::open(url)?, store, options)
}

impl Files {
    /// Files over objects made elsewhere, such as those that break on purpose.
    pub fn over(objects: SharedObjects, store: Store, options: Options) -> Result<Self> {
        options.check()?;
        std::fs::create_dir_all(&options.temp_dir).map_err(|error| {
            error::of_io(format!("the folder {} for incoming files", options.temp_dir.display()), error)
        })?;
        Ok(Self { store, objects, options: Arc::new(options) })
    }

    /// Takes a stream in and learns its hash and size; nothing is stored yet. A stream that is too large, ends early
    /// or fails leaves nothing; neither does one for which the disk has no room.
    pub async fn receive<E>(
        &self,
        stream: impl Stream<Item = Result<Bytes, E>> + Send,
        limits: Limits,
    ) -> Result<Incoming>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let received = incoming::receive(stream, limits, &self.options).await;
        match &received {
            Ok(incoming) => metrics::received(incoming.size()),
            Err(error) => metrics::receive_failed(error),
        }
        received
    }

    /// Stores what was received, with a pending reference. The owner then writes the hash into its own row, and after
    /// that [`Files::confirm`]s, within the time of a pending reference. Repeating it is safe, after any error.
    pub async fn put(&self, incoming: Incoming, referrer: &Referrer) -> Result<Stored> {
        let (hash, size) = (incoming.hash(), incoming.size());
        // Counted from before the claim, whose own clock is read within it: the write ends before the row says so.
        let deadline = Instant::now() + self.options.put_timeout;
        let claim = async |tx: &mut store::Tx| {
            protocol::claim(tx, &hash, size, referrer, self.now(), self.write_window()).await
        };
        match self.store.transact(hash.shard(), claim).await? {
            Claim::Present => metrics::already_present(size),
            Claim::Write(name) => {
                self.write(&name, &incoming, deadline).await?;
                let uploaded =
                    async |tx: &mut store::Tx| protocol::uploaded(tx, &name, referrer, self.now()).await;
                if !self.store.transact(hash.shard(), uploaded).await? {
                    return Err(Error::new(
                        Kind::Unavailable,
                        format!("storing file {hash} took longer than its reference is kept; store it again"),
                    ));
                }
                tracing::debug!(%hash, size, generation = name.generation, %referrer, "file stored");
            }
        }
        Ok(Stored { hash, size })
    }

    /// The owner's transaction is done: the pending reference becomes a held one. `NotFound` when there is no such
    /// reference: it was released already, or the owner came too late and the sweep has taken it.
    pub async fn confirm(&self, hash: &Hash, referrer: &Referrer) -> Result<()> {
        self.store
            .transact(hash.shard(), async |tx| protocol::hold(tx, hash, referrer, self.now()).await)
            .await
    }

    /// Reads a whole file. Its hash is checked on the way: a damaged file ends in an error, before its last chunk.
    pub async fn open(&self, hash: &Hash) -> Result<Reading> {
        self.open_range(hash, 0..u64::MAX).await
    }

    /// Reads a part of a file; an end behind the file's end means the file's end.
    pub async fn open_range(&self, hash: &Hash, range: Range<u64>) -> Result<Reading> {
        let mut blob = self.present(hash).await?;
        loop {
            let range = range.start..range.end.min(blob.size);
            if range.start > range.end {
                let size = blob.size;
                return Err(Error::new(Kind::Invalid, format!("file {hash} has only {size} bytes")));
            }
            let name = ObjectName { hash: *hash, generation: blob.generation };
            match self.start(&name, range.clone()).await {
                Ok(stream) => return Ok(Reading::new(*hash, blob.size, range, stream)),
                Err(error) if error.kind() == Kind::NotFound => {
                    // Deleted, and perhaps stored again, since the row was read; or lost.
                    let again = self.present(hash).await?;
                    if again.generation == blob.generation {
                        metrics::corrupt();
                        return Err(Error::with_source(Kind::Corrupt, format!("file {hash} is lost"), error));
                    }
                    blob = again;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The size of a stored file, if it is one.
    pub async fn size(&self, hash: &Hash) -> Result<Option<u64>> {
        Ok(self.blob(hash).await?.filter(|blob| blob.state() == BlobState::Present).map(|blob| blob.size))
    }

    /// Fails if the place of the bytes does not answer: asks for an object that need not be there.
    pub async fn health(&self) -> Result<()> {
        let name = ObjectName { hash: Hash::of(b"is anybody there?"), generation: 0 };
        self.objects.size(&name).await.map(drop)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.options.clock.now()
    }

    /// Waits for the first bytes, so that a missing object is known before anything is handed out.
    async fn start(
        &self,
        name: &ObjectName,
        range: Range<u64>,
    ) -> Result<stream::BoxStream<'static, Result<Bytes>>> {
        if range.is_empty() {
            let found = self.objects.size(name).await?;
            found.ok_or_else(|| Error::new(Kind::NotFound, format!("there is no object {name}")))?;
            return Ok(stream::empty().boxed());
        }
        let mut stream = self.objects.get(name, range).await?;
        match stream.next().await.transpose()? {
            Some(first) => Ok(stream::iter([Ok(first)]).chain(stream).boxed()),
            None => Ok(stream::empty().boxed()),
        }
    }

    async fn write(&self, name: &ObjectName, incoming: &Incoming, deadline: Instant) -> Result<()> {
        let begun = Instant::now();
        let written = match tokio::time::timeout_at(deadline, self.objects.put(name, incoming.body())).await {
            Ok(written) => written,
            Err(_) => Err(Error::new(
                Kind::Unknown,
                format!("object {name} was not written within {:?}", self.options.put_timeout),
            )),
        };
        metrics::object_call("put", begun.elapsed(), &written);
        written
    }

    pub(crate) async fn blob(&self, hash: &Hash) -> Result<Option<Blob>> {
        let snapshot = self.store.snapshot(hash.shard()).await?;
        snapshot.get(&BLOBS, (hash.as_bytes().as_slice(),)).await
    }

    async fn present(&self, hash: &Hash) -> Result<Blob> {
        match self.blob(hash).await? {
            Some(blob) if blob.state() == BlobState::Present => Ok(blob),
            _ => Err(Error::new(Kind::NotFound, format!("there is no file {hash}"))),
        }
    }

    /// How long a write that was begun may still arrive, at most.
    pub fn write_window(&self) -> Duration {
        self.options.put_timeout + WRITE_MARGIN
    }
}
