//! From a writer that blocks to the files, without a file of its own in between.

use std::io::{self, Write};

use bytes::Bytes;
use files::{Files, Hash, Limits, Referrer};
use tokio::sync::mpsc;

use super::format::{Summary, Writer};
use super::ranges::blocking;
use crate::Result;

const CHUNK_BYTES: usize = 256 << 10;
const CHUNKS: usize = 4;

/// What was stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) hash: Hash,
    pub(super) bytes: u64,
    pub(super) summary: Summary,
}

/// Stores what `produce` writes, with a pending reference. Nothing is stored when it writes no offer.
pub(super) async fn store(
    files: &Files,
    referrer: &Referrer,
    produce: impl FnOnce(&mut Writer<Pipe>) -> Result<()> + Send + 'static,
) -> Result<Option<Written>> {
    let (sender, receiver) = mpsc::channel(CHUNKS);
    let write = blocking(move || {
        let mut writer = Writer::new(Pipe { sender: sender.clone(), chunk: Vec::new() })?;
        let written = produce(&mut writer).and_then(|()| writer.finish());
        if written.is_err() {
            // The stream must not look as if it had come to its end; a receiver that is gone knows already.
            let _ = sender.blocking_send(Err(io::Error::other("the file was not finished")));
        }
        written
    });
    let stream = futures::stream::unfold(receiver, async |mut receiver| {
        receiver.recv().await.map(|chunk: io::Result<Bytes>| (chunk, receiver))
    });
    let (summary, incoming) = futures::join!(write, files.receive(stream, Limits::up_to(u64::MAX)));
    let summary = summary?;
    if summary.offers == 0 {
        return Ok(None);
    }
    let incoming = incoming?;
    let stored = files.put(incoming, referrer).await?;
    Ok(Some(Written { hash: stored.hash, bytes: stored.size, summary }))
}

pub(super) struct Pipe {
    sender: mpsc::Sender<io::Result<Bytes>>,
    chunk: Vec<u8>,
}

impl Pipe {
    fn send(&mut self) -> io::Result<()> {
        let chunk = std::mem::take(&mut self.chunk);
        self.sender.blocking_send(Ok(chunk.into())).map_err(|_| io::Error::other("nobody takes the file"))
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.chunk.extend_from_slice(bytes);
        if self.chunk.len() >= CHUNK_BYTES {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() { Ok(()) } else { self.send() }
    }
}
