//! A stored file for a blocking reader: the stream is pulled on the runtime, the reader waits on its own thread.

use std::io::{self, Read};

use bytes::{Buf as _, Bytes};
use files::Reading;
use futures::StreamExt as _;
use tokio::sync::mpsc;

/// Chunks that wait for the reader.
const CHUNKS: usize = 4;

pub(crate) struct Input {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    current: Bytes,
}

/// The reader's end. The stream ends when the reader is dropped.
pub(crate) fn input(mut reading: Reading) -> Input {
    let (sender, chunks) = mpsc::channel(CHUNKS);
    tokio::spawn(async move {
        while let Some(chunk) = reading.next().await {
            if sender.send(chunk.map_err(io::Error::other)).await.is_err() {
                return;
            }
        }
    });
    Input { chunks, current: Bytes::new() }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.chunks.blocking_recv() {
                Some(chunk) => self.current = chunk?,
                None => return Ok(0),
            }
        }
        let taken = self.current.len().min(buffer.len());
        self.current.copy_to_slice(&mut buffer[..taken]);
        Ok(taken)
    }
}
