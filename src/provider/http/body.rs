//! A request body of shared pieces: nothing is copied into one buffer, and the length is known before it is sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The body.
#[derive(Debug)]
pub struct Pieces {
    pieces: Vec<Bytes>,
    taken: Arc<AtomicUsize>,
    left: u64,
}

impl Pieces {
    /// A body of these pieces, in order. The counter says how many were taken, for the timer that watches the sending.
    pub fn new(mut pieces: Vec<Bytes>) -> (Self, Arc<AtomicUsize>) {
        pieces.retain(|piece| !piece.is_empty());
        let taken = Arc::new(AtomicUsize::new(0));
        let left = length(&pieces);
        (Self { pieces, taken: Arc::clone(&taken), left }, taken)
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
        let next = self.taken.load(Ordering::Relaxed);
        let Some(piece) = self.pieces.get(next).cloned() else { return Poll::Ready(None) };
        self.taken.store(next + 1, Ordering::Relaxed);
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
