//! JSON lines: one text a line, for protocols that stream objects without event framing.
//!
//! Lines end in LF or CRLF; blank lines are skipped; the last line may lack its end. As with events, a line is decoded
//! when it is complete and every byte is looked at once.

use std::mem::take;

use crate::provider::sse::{MOST_BYTES, TooLarge};

/// The reader of one stream.
#[derive(Debug)]
pub struct Lines {
    open: Vec<u8>,
    most: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Self::with_limit(MOST_BYTES)
    }
}

impl Lines {
    /// A reader that refuses lines of more than `most` bytes.
    pub fn with_limit(most: usize) -> Self {
        Self { open: Vec::new(), most }
    }

    /// Takes the next bytes and hands every line they complete to `found`, without its end.
    pub fn feed<E: From<TooLarge>>(
        &mut self,
        mut bytes: &[u8],
        found: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = rest.get(1..).unwrap_or_default();
            if self.open.is_empty() {
                hand_over(line, found)?;
            } else {
                self.keep_open(line)?;
                let whole = take(&mut self.open);
                hand_over(&whole, found)?;
                self.open = whole;
                self.open.clear();
            }
        }
        self.keep_open(bytes)
    }

    /// The stream has ended: hands over a last line that lacks its end.
    pub fn end<E: From<TooLarge>>(&mut self, found: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        hand_over(&take(&mut self.open), found)
    }

    fn keep_open<E: From<TooLarge>>(&mut self, bytes: &[u8]) -> Result<(), E> {
        if self.open.len() + bytes.len() > self.most {
            return Err(TooLarge { most: self.most }.into());
        }
        self.open.extend_from_slice(bytes);
        Ok(())
    }
}

fn hand_over<E>(line: &[u8], found: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
    let text = String::from_utf8_lossy(line);
    match text.trim() {
        "" => Ok(()),
        text => found(text),
    }
}
