//! A request body of shared pieces: nothing is copied into one buffer, and the length is known before it is sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

/// The body.
#[derive(Debug)]
pub struct Pieces {
    pieces: std::vec::IntoIter<Bytes>,
    left: u64,
    taken: Taken,
}

/// When a piece was last taken to be sent; none before the first.
#[derive(Clone, Debug, Default)]
pub struct Taken(Arc<Mutex<Option<Instant>>>);

impl Pieces {
    /// A body of these pieces, in order, and its clock.
    pub fn new(mut pieces: Vec<Bytes>) -> (Self, Taken) {
        pieces.retain(|piece| !piece.is_empty());
        let (left, taken) = (length(&pieces), Taken::default());
        (Self { pieces: pieces.into_iter(), left, taken: taken.clone() }, taken)
    }
}

impl Taken {
    /// The moment.
    pub fn last(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn now(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

/// The bytes of all pieces.
pub fn length(pieces: &[Bytes]) -> u64 {
    pieces.iter().map(|piece| piece.len() as u64).sum()
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(piece) = self.pieces.next() else { return Poll::Ready(None) };
        self.taken.now();
        self.left = self.left.saturating_sub(piece.len() as u64);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
