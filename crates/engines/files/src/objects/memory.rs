use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt as _};

use super::Objects;
use crate::{Body, Error, Kind, ObjectName, Result};

const CHUNK_BYTES: usize = 256 << 10;

/// Objects in memory, for simulation.
#[derive(Default)]
pub struct Memory(Mutex<BTreeMap<ObjectName, Bytes>>);

impl Memory {
    fn objects(&self) -> MutexGuard<'_, BTreeMap<ObjectName, Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of all objects.
    pub fn names(&self) -> Vec<ObjectName> {
        self.objects().keys().copied().collect()
    }

    /// Puts other bytes into an object, as a bad disk would.
    pub fn damage(&self, name: &ObjectName, bytes: Bytes) {
        self.objects().insert(*name, bytes);
    }
}

#[async_trait]
impl Objects for Memory {
    async fn put(&self, name: &ObjectName, body: &Body) -> Result<()> {
        let bytes = body.to_bytes().await?;
        self.objects().insert(*name, bytes);
        Ok(())
    }

    async fn get(&self, name: &ObjectName, range: Range<u64>) -> Result<BoxStream<'static, Result<Bytes>>> {
        let missing = || Error::new(Kind::NotFound, format!("there is no object {name}"));
        let bytes = self.objects().get(name).cloned().ok_or_else(missing)?;
        let end = bytes.len().min(range.end as usize);
        let starts = (range.start as usize..end).step_by(CHUNK_BYTES);
        Ok(stream::iter(starts.map(move |start| Ok(bytes.slice(start..end.min(start + CHUNK_BYTES)))))
            .boxed())
    }

    async fn size(&self, name: &ObjectName) -> Result<Option<u64>> {
        Ok(self.objects().get(name).map(|bytes| bytes.len() as u64))
    }

    async fn delete(&self, name: &ObjectName) -> Result<()> {
        self.objects().remove(name);
        Ok(())
    }

    fn list(&self) -> BoxStream<'static, Result<ObjectName>> {
        stream::iter(self.names().into_iter().map(Ok)).boxed()
    }

    async fn tidy(&self, _: Duration) -> Result<usize> {
        Ok(0)
    }
}
