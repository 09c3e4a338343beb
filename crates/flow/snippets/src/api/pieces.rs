//! A long answer is handed over piece by piece.
//!
//! The port puts what it sends together in a buffer of the connection, which grows with the largest piece and stays as
//! large for as long as the connection is kept.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http_body::{Frame, SizeHint};

const PIECE: usize = 256 << 10;

pub(super) fn body(bytes: Bytes) -> Body {
    if bytes.len() <= PIECE { Body::from(bytes) } else { Body::new(Pieces(bytes)) }
}

/// What is left of it.
struct Pieces(Bytes);

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let length = self.0.len().min(PIECE);
        let piece = self.0.split_to(length);
        Poll::Ready((length > 0).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;

    use super::*;

    #[tokio::test]
    async fn an_answer_of_any_length_comes_as_it_was_and_in_pieces_that_are_not_long() {
        for length in [0, 1, PIECE, PIECE + 1, 3 * PIECE, 5 * PIECE - 1] {
            let bytes: Bytes = (0..length).map(|place| (place % 251) as u8).collect();
            let body = body(bytes.clone());
            assert_eq!(body.size_hint().exact(), Some(length as u64), "the length is told beforehand");
            let pieces: Vec<_> = body.into_data_stream().map(Result::unwrap).collect().await;
            assert!(pieces.iter().all(|piece| (1..=PIECE).contains(&piece.len())), "of {length}");
            assert!(pieces.concat() == bytes, "of {length}");
        }
    }
}
