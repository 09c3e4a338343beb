use bytes::Bytes;
use kit::Timestamp;

use crate::{Error, MAX_MESSAGE_BYTES, Result};

/// Headers of a message: names may repeat, the order is kept.
pub type Headers = Vec<(String, Vec<u8>)>;

/// What is published. Messages of one key stay in order; an empty key means any partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    pub key: Vec<u8>,
    pub payload: Bytes,
    pub headers: Headers,
}

/// What is read: a message in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub partition: u32,
    pub offset: i64,
    pub key: Vec<u8>,
    pub payload: Bytes,
    pub headers: Headers,
    pub timestamp: Timestamp,
}

/// Where a published message landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Placed {
    pub partition: u32,
    pub offset: i64,
}

/// A group's place in a partition: the offset of the next record it has not done yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Position {
    pub partition: u32,
    pub next: i64,
}

impl Message {
    pub fn new(key: impl Into<Vec<u8>>, payload: impl Into<Bytes>) -> Self {
        Self { key: key.into(), payload: payload.into(), headers: Headers::new() }
    }

    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Bytes of key, payload and headers.
    pub fn size(&self) -> usize {
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.key.len() + self.payload.len() + headers
    }

    /// With the trace that sends it, unless it carries one or is so large that there may be no room.
    #[must_use]
    pub(crate) fn traced(self, trace: Option<&str>, most_bytes: usize) -> Self {
        let has_one = self.headers.iter().any(|(name, _)| name == kit::trace::HEADER);
        match trace {
            Some(trace) if !has_one && self.size() <= most_bytes => self.header(kit::trace::HEADER, trace),
            _ => self,
        }
    }

    pub(crate) fn check_size(&self, limit: usize) -> Result<()> {
        let (size, limit) = (self.size(), limit.min(MAX_MESSAGE_BYTES));
        if size > limit {
            return Err(Error::invalid(format!("a message of {size} bytes is over the limit of {limit}")));
        }
        Ok(())
    }
}

impl Record {
    pub fn size(&self) -> usize {
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.key.len() + self.payload.len() + headers
    }

    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_slice())
    }
}
