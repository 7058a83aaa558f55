//! Appending lines so that a failed one leaves nothing behind.
//!
//! A line is handed to the kernel in one call, so it survives the death of the process. It is not synced to the
//! disk: a loss of power may cost the last seconds, which loading repairs, and a sync per step would cost more
//! than the step.

use std::fs::File;
use std::io::{self, Write};

/// The end of a file that only grows by whole lines.
#[derive(Debug)]
pub(crate) struct Appender {
    file: File,
    /// Bytes of whole lines.
    len: u64,
    /// Whether bytes of a failed line may stand behind `len`.
    torn: bool,
}

impl Appender {
    /// Goes on behind `len` bytes of whole lines.
    pub(crate) fn new(file: File, len: u64) -> Self {
        Self { file, len, torn: false }
    }

    /// Adds a line, newline included. On failure the file is as it was before.
    pub(crate) fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.torn {
            self.file.set_len(self.len)?;
            self.torn = false;
        }
        match (&self.file).write_all(line) {
            Ok(()) => {
                self.len += line.len() as u64;
                Ok(())
            }
            Err(error) => {
                self.torn = self.file.set_len(self.len).is_err();
                Err(error)
            }
        }
    }
}
