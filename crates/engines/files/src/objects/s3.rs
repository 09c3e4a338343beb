use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::stream::{self, BoxStream, FuturesUnordered, StreamExt as _};
use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore as _, ObjectStoreExt as _};
use tokio::io::AsyncReadExt as _;

use super::Objects;
use super::s3_url::S3Url;
use crate::{Body, Error, Kind, ObjectName, Result, error};

/// Larger objects go up in parts of at least this size.
const PART_BYTES: u64 = 8 << 20;
/// S3 takes 10,000 parts at most.
const MAX_PARTS: u64 = 9_000;
const PARTS_AT_ONCE: usize = 3;
/// Reads fetch this much at a time and one window ahead, so that a slow reader keeps no request open: a connection
/// that waits for hours is cut, whatever its retries.
const WINDOW_BYTES: u64 = 4 << 20;
const WINDOWS_AT_ONCE: usize = 2;

/// Objects in a bucket of S3 or of a server that speaks its protocol: `<prefix>/ab/cd/<hash>.<generation>`.
///
/// S3 itself makes a write complete or absent and durable. An upload in parts that a kill cut off is invisible but
/// takes room; a lifecycle rule of the bucket (`AbortIncompleteMultipartUpload`) removes it.
pub(super) struct S3 {
    client: Arc<AmazonS3>,
    prefix: Path,
}

impl S3 {
    pub(super) fn open(url: &str) -> Result<Self> {
        let url = S3Url::parse(url)?;
        let prefix = Path::parse(&url.prefix)
            .map_err(|error| Error::with_source(Kind::Invalid, "the prefix in the S3 URL", error))?;
        Ok(Self { client: Arc::new(url.client()?), prefix })
    }

    fn path(&self, name: &ObjectName) -> Path {
        name.to_string().split('/').fold(self.prefix.clone(), Path::join)
    }

    /// In a task of its own: an upload that begins while its caller goes away is given up too.
    async fn begin(&self, name: &ObjectName) -> Result<Upload> {
        let (client, path) = (self.client.clone(), self.path(name));
        let begun =
            tokio::spawn(async move { client.put_multipart(&path).await.map(|upload| Upload(Some(upload))) });
        match begun.await {
            Ok(Ok(upload)) => Ok(upload),
            Ok(Err(error)) if matches!(error, object_store::Error::NotFound { .. }) => {
                Err(error::of_write(format!("writing object {name}"), error))
            }
            Ok(Err(error)) => Err(failed_part(name)(error)),
            Err(error) => Err(Error::with_source(Kind::Unavailable, format!("writing object {name}"), error)),
        }
    }

    async fn put_in_parts(&self, name: &ObjectName, body: &Body, size: u64) -> Result<()> {
        let failed = |error| error::of_write(format!("writing object {name} in parts"), error);
        let mut upload = self.begin(name).await?;
        let mut reader = body.reader().await?;
        let (part_bytes, mut left) = (part_bytes(size), size);
        let mut under_way = FuturesUnordered::new();
        while left > 0 {
            let part = read_part(&mut reader, part_bytes.min(left)).await?;
            left -= part.len() as u64;
            under_way.push(upload.open()?.put_part(part.into()));
            if under_way.len() >= PARTS_AT_ONCE {
                under_way.next().await.transpose().map_err(failed_part(name))?;
            }
        }
        while let Some(done) = under_way.next().await {
            done.map_err(failed_part(name))?;
        }
        upload.open()?.complete().await.map_err(failed)?;
        upload.0 = None;
        Ok(())
    }
}

#[async_trait]
impl Objects for S3 {
    async fn put(&self, name: &ObjectName, body: &Body) -> Result<()> {
        let size = body.size().await?;
        if size <= PART_BYTES {
            let bytes = body.to_bytes().await?;
            let put = self.client.put(&self.path(name), bytes.into()).await;
            put.map_err(|error| error::of_write(format!("writing object {name}"), error))?;
        } else {
            self.put_in_parts(name, body, size).await?;
        }
        // What was acknowledged and is not there, whole, must not count as stored.
        match self.size(name).await {
            Ok(Some(stored)) if stored == size => Ok(()),
            Ok(stored) => Err(Error::new(
                Kind::Corrupt,
                format!("object {name} was written with {size} bytes and is there with {stored:?}"),
            )),
            Err(error) => Err(Error::with_source(Kind::Unknown, format!("checking object {name}"), error)),
        }
    }

    async fn get(&self, name: &ObjectName, range: Range<u64>) -> Result<BoxStream<'static, Result<Bytes>>> {
        let (client, path, name) = (self.client.clone(), self.path(name), *name);
        let starts = range.clone().step_by(WINDOW_BYTES as usize);
        let fetch = move |start: u64| {
            let (client, path) = (client.clone(), path.clone());
            let window = start..range.end.min(start + WINDOW_BYTES);
            async move {
                let bytes = client.get_range(&path, window).await;
                bytes.map_err(|error| error::of_read(format!("reading object {name}"), error))
            }
        };
        Ok(stream::iter(starts).map(fetch).buffered(WINDOWS_AT_ONCE).boxed())
    }

    async fn size(&self, name: &ObjectName) -> Result<Option<u64>> {
        match self.client.head(&self.path(name)).await {
            Ok(found) => Ok(Some(found.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error::of_read(format!("looking at object {name}"), error)),
        }
    }

    async fn delete(&self, name: &ObjectName) -> Result<()> {
        match self.client.delete(&self.path(name)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error::of_write(format!("removing object {name}"), error)),
        }
    }

    fn list(&self) -> BoxStream<'static, Result<ObjectName>> {
        self.client
            .list(Some(&self.prefix))
            .filter_map(async |found| match found {
                Ok(object) => ObjectName::from_path(object.location.as_ref()).map(Ok),
                Err(error) => Some(Err(error::of_read("listing objects", error))),
            })
            .boxed()
    }

    async fn tidy(&self, _: Duration) -> Result<usize> {
        Ok(0)
    }
}

/// An upload in parts that is given up when it is dropped before its end.
struct Upload(Option<Box<dyn MultipartUpload>>);

impl Upload {
    fn open(&mut self) -> Result<&mut dyn MultipartUpload> {
        match &mut self.0 {
            Some(upload) => Ok(&mut **upload),
            None => Err(Error::new(Kind::Invalid, "the upload has ended")),
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let (Some(mut upload), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                if let Err(error) = upload.abort().await {
                    tracing::warn!("the parts of an upload that failed could not be removed: {error}");
                }
            });
        }
    }
}

fn failed_part(name: &ObjectName) -> impl Fn(object_store::Error) -> Error {
    // Without its completion an upload in parts is nothing, so no part's failure leaves a doubt.
    move |error| Error::with_source(Kind::Unavailable, format!("writing a part of object {name}"), error)
}

/// The smallest size, in steps of the usual one, that needs few enough parts.
fn part_bytes(size: u64) -> u64 {
    size.div_ceil(MAX_PARTS).next_multiple_of(PART_BYTES)
}

async fn read_part(reader: &mut crate::incoming::BodyReader, bytes: u64) -> Result<Bytes> {
    let failed = |error| error::of_io("reading the received file", error);
    let mut part = BytesMut::with_capacity(bytes as usize);
    let mut limited = reader.take(bytes);
    while limited.read_buf(&mut part).await.map_err(failed)? > 0 {}
    if (part.len() as u64) < bytes {
        return Err(Error::new(Kind::Corrupt, "the received file became shorter while it was stored"));
    }
    Ok(part.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_few_enough_and_no_larger_than_needed() {
        for (size, expected) in [(1, 8 << 20), (64 << 20, 8 << 20), (4 << 30, 8 << 20), (100 << 30, 16 << 20)]
        {
            assert_eq!(part_bytes(size), expected, "{size}");
            assert!(size.div_ceil(part_bytes(size)) <= MAX_PARTS);
        }
    }
}
