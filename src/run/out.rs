//! Standard output of `crystal run`: written line by line, and quiet when its reader has gone.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// Standard output. The first failed write cancels the run; later ones are dropped.
pub struct Out {
    sink: Mutex<Sink>,
    cancel: CancellationToken,
}

struct Sink {
    writer: Box<dyn Write + Send>,
    closed: bool,
}

impl Out {
    /// Writes to `writer`; cancels `cancel` when that is no longer possible.
    pub fn new(writer: Box<dyn Write + Send>, cancel: CancellationToken) -> Self {
        Self { sink: Mutex::new(Sink { writer, closed: false }), cancel }
    }
    /// Writes the pieces in one go and flushes them.
    pub fn write(&self, pieces: &[&[u8]]) {
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        if sink.closed {
            return;
        }
        let written = pieces
            .iter()
            .try_for_each(|piece| sink.writer.write_all(piece))
            .and_then(|()| sink.writer.flush());
        if written.is_err() {
            sink.closed = true;
            self.cancel.cancel();
        }
    }
    /// Whether the reader has gone.
    pub fn closed(&self) -> bool {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner).closed
    }
}
