//! The body of an answer, within the limits.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use hyper::Response;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, Sleep};

use crate::error::causes;
use crate::get::{Conditional, ConnectionEnd, text};
use crate::{Error, Kind, Options, Result};

/// A body under way: a stream of its bytes that ends in an error when the body is too long, too slow or not whole.
/// Read through `&mut`, it can be asked afterwards for what went wrong.
#[derive(Debug)]
pub struct Download {
    url: String,
    /// What to ask with the next time.
    pub validators: Conditional,
    pub content_type: Option<String>,
    /// The server was asked for none, and sent one all the same.
    pub content_encoding: Option<String>,
    /// As announced.
    pub content_length: Option<u64>,
    body: Incoming,
    _connection: ConnectionEnd,
    received: u64,
    max_bytes: u64,
    idle: Duration,
    idle_end: Pin<Box<Sleep>>,
    total: Duration,
    total_end: Pin<Box<Sleep>>,
    ended: bool,
    error: Option<Error>,
}

/// What a whole body was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    pub bytes: u64,
    pub hash: blake3::Hash,
}

impl Download {
    pub(crate) fn new(
        url: String,
        response: Response<Incoming>,
        connection: ConnectionEnd,
        deadline: Instant,
        options: &Options,
    ) -> Result<Self> {
        let headers = response.headers();
        let content_length: Option<u64> =
            text(headers, &CONTENT_LENGTH).and_then(|length| length.parse().ok());
        if content_length.is_some_and(|length| length > options.max_bytes) {
            return Err(Error::too_large(&url, options.max_bytes));
        }
        Ok(Self {
            validators: Conditional::of(headers),
            content_type: text(headers, &CONTENT_TYPE),
            content_encoding: text(headers, &CONTENT_ENCODING),
            content_length,
            url,
            body: response.into_body(),
            _connection: connection,
            received: 0,
            max_bytes: options.max_bytes,
            idle: options.idle_timeout,
            idle_end: Box::pin(tokio::time::sleep(options.idle_timeout)),
            total: options.total_timeout,
            total_end: Box::pin(tokio::time::sleep_until(deadline)),
            ended: false,
            error: None,
        })
    }

    /// Why the stream failed, if it did.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Bytes so far.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// The url that answered, as it may be shown.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Writes the whole body into `sink`.
    pub async fn write_to(&mut self, mut sink: impl AsyncWrite + Unpin) -> Result<Fetched> {
        let mut hasher = blake3::Hasher::new();
        let broken =
            |error: std::io::Error| Error::new(Kind::Sink, format!("the body cannot be written: {error}"));
        while let Some(bytes) = self.next().await.transpose()? {
            hasher.update(&bytes);
            sink.write_all(&bytes).await.map_err(broken)?;
        }
        sink.flush().await.map_err(broken)?;
        Ok(Fetched { bytes: self.received, hash: hasher.finalize() })
    }

    /// The whole body in memory: for bodies whose limit is small.
    pub async fn into_bytes(mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.content_length.unwrap_or(0) as usize);
        while let Some(more) = self.next().await.transpose()? {
            bytes.extend_from_slice(&more);
        }
        Ok(bytes)
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        if self.total_end.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(Error::total(&self.url, self.total))));
        }
        loop {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    let Ok(bytes) = frame.into_data() else { continue };
                    if bytes.is_empty() {
                        continue;
                    }
                    self.received += bytes.len() as u64;
                    if self.received > self.max_bytes {
                        return Poll::Ready(Some(Err(Error::too_large(&self.url, self.max_bytes))));
                    }
                    self.idle_end.as_mut().reset(Instant::now() + self.idle);
                    return Poll::Ready(Some(Ok(bytes)));
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(self.broken(&error)))),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending if self.idle_end.as_mut().poll(cx).is_ready() => {
                    return Poll::Ready(Some(Err(Error::idle(&self.url, self.idle))));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn broken(&self, error: &hyper::Error) -> Error {
        let (url, received) = (&self.url, self.received);
        let announced = self.content_length.map_or_else(String::new, |length| format!(" of {length}"));
        let message = format!("{url} ended early, after {received}{announced} bytes: {}", causes(error));
        Error::new(Kind::Truncated, message)
    }
}

impl Stream for Download {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let polled = self.poll_bytes(cx);
        match &polled {
            Poll::Ready(Some(Err(error))) => {
                self.error = Some(error.clone());
                self.ended = true;
            }
            Poll::Ready(None) => self.ended = true,
            Poll::Ready(Some(Ok(_))) | Poll::Pending => {}
        }
        polled
    }
}
