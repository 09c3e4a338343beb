//! Where the bytes are. The trait is narrow so that a folder, S3, memory and a wrapper that breaks things on purpose
//! can each be read in one sitting; all pass [`crate::conformance`].

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;

use crate::{Body, Error, Kind, ObjectName, Result};

mod fault;
mod local;
mod memory;
mod s3;
mod s3_url;

pub use fault::{FaultPlan, Faults};
pub(crate) use local::remove_old;
pub use memory::Memory;

pub type SharedObjects = Arc<dyn Objects>;

/// Objects by name. A name belongs to one content for ever, so writing it twice is harmless.
#[async_trait]
pub trait Objects: Send + Sync {
    /// Writes a whole object. When this returns it is durable; when it fails it is complete or absent, and the error
    /// says whether it may be there. A call that is dropped counts as failed.
    async fn put(&self, name: &ObjectName, body: &Body) -> Result<()>;

    /// The bytes of a range that is not empty and lies within the object. A missing object is `NotFound`, either here
    /// or from the stream.
    async fn get(&self, name: &ObjectName, range: Range<u64>) -> Result<BoxStream<'static, Result<Bytes>>>;

    /// The object's size, if it is there.
    async fn size(&self, name: &ObjectName) -> Result<Option<u64>>;

    /// Removes an object, durably; one that is not there is removed already.
    async fn delete(&self, name: &ObjectName) -> Result<()>;

    /// Every object, in no particular order; what is not ours is passed over.
    fn list(&self) -> BoxStream<'static, Result<ObjectName>>;

    /// Removes what writes that were killed have left, if they are older than this. Says how many there were.
    async fn tidy(&self, older_than: Duration) -> Result<usize>;
}

/// `file:<dir>`, `s3://bucket/prefix?endpoint=…&region=…` or, for simulation, `memory:`.
pub fn open(url: &str) -> Result<SharedObjects> {
    match url.split_once(':') {
        Some(("file", dir)) if !dir.is_empty() => Ok(Arc::new(local::Local::open(dir.as_ref())?)),
        Some(("s3", _)) => Ok(Arc::new(s3::S3::open(url)?)),
        Some(("memory", "")) => Ok(Arc::new(Memory::default())),
        // The URL may hold a key, so it is not repeated.
        _ => Err(Error::new(Kind::Invalid, "files are kept in file:<dir> or s3://bucket/prefix")),
    }
}
