//! Server-sent events: bytes in, events out, whatever the pieces they arrive in.
//!
//! Lines end in LF, CRLF or CR, and nothing else ends one. A line is decoded when it is complete, so a character that
//! was split between two network pieces is never damaged. Every byte is looked at once and copied at most twice. An
//! event exists only where there was data: comments and lone field names make none.

use std::fmt;
use std::mem::take;

/// The longest line and the largest event, in bytes.
pub const MOST_BYTES: usize = 64 << 20;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// What `event:` said; empty when it said nothing.
    pub name: String,
    /// The data lines, joined by line feeds.
    pub data: String,
}

/// A line or event beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// The limit in bytes.
    pub most: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one event of the answer is larger than {} bytes", self.most)
    }
}

/// The parser of one stream.
#[derive(Debug)]
pub struct Parser {
    /// The start of a line whose end has not come.
    open: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last piece ended in CR: a LF at the start of the next belongs to it.
    after_cr: bool,
    /// No line has been seen: a byte order mark may stand here.
    fresh: bool,
    most: usize,
}

impl Default for Parser {
    fn default() -> Self {
        Self::with_limit(MOST_BYTES)
    }
}

impl Parser {
    /// A parser that refuses lines and events of more than `most` bytes.
    pub fn with_limit(most: usize) -> Self {
        Self {
            open: Vec::new(),
            event: Event::default(),
            has_data: false,
            after_cr: false,
            fresh: true,
            most,
        }
    }

    /// Takes the next bytes and hands every event they complete to `found`. `found` may stop the reading; what it
    /// returned is passed on and the rest of the piece is dropped.
    pub fn feed<E: From<TooLarge>>(
        &mut self,
        mut bytes: &[u8],
        found: &mut impl FnMut(&Event) -> Result<(), E>,
    ) -> Result<(), E> {
        if bytes.is_empty() {
            return Ok(());
        }
        if take(&mut self.after_cr) {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = self.skip_line_end(rest);
            if self.open.is_empty() {
                self.line(line, found)?;
            } else {
                self.keep_open(line)?;
                let whole = take(&mut self.open);
                self.line(&whole, found)?;
                // The buffer is used again, since a slow stream splits many lines.
                self.open = whole;
                self.open.clear();
            }
        }
        self.keep_open(bytes)
    }

    /// The stream has ended: hands over a last event that lacks its blank line, and whose last line may lack its end.
    pub fn end<E: From<TooLarge>>(
        &mut self,
        found: &mut impl FnMut(&Event) -> Result<(), E>,
    ) -> Result<(), E> {
        let rest = take(&mut self.open);
        if !rest.is_empty() {
            self.line(&rest, found)?;
        }
        self.dispatch(found)
    }

    fn skip_line_end<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        match rest {
            [b'\r', b'\n', rest @ ..] => rest,
            [b'\r'] => {
                self.after_cr = true;
                &[]
            }
            [_, rest @ ..] => rest,
            [] => rest,
        }
    }

    fn keep_open<E: From<TooLarge>>(&mut self, bytes: &[u8]) -> Result<(), E> {
        if self.open.len() + bytes.len() > self.most {
            return Err(TooLarge { most: self.most }.into());
        }
        self.open.extend_from_slice(bytes);
        Ok(())
    }

    fn line<E: From<TooLarge>>(
        &mut self,
        mut line: &[u8],
        found: &mut impl FnMut(&Event) -> Result<(), E>,
    ) -> Result<(), E> {
        if take(&mut self.fresh) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(found);
        }
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => {
                let (name, value) = line.split_at(colon);
                let value = value.get(1..).unwrap_or_default();
                (name, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match name {
            b"data" => self.data(value),
            b"event" => {
                self.event.name = String::from_utf8_lossy(value).into_owned();
                Ok(())
            }
            // Comments (an empty name), `id`, `retry` and whatever else there may be.
            _ => Ok(()),
        }
    }

    fn data<E: From<TooLarge>>(&mut self, value: &[u8]) -> Result<(), E> {
        if self.event.data.len() + value.len() >= self.most {
            return Err(TooLarge { most: self.most }.into());
        }
        if self.has_data {
            self.event.data.push('\n');
        }
        self.has_data = true;
        self.event.data.push_str(&String::from_utf8_lossy(value));
        Ok(())
    }

    fn dispatch<E>(&mut self, found: &mut impl FnMut(&Event) -> Result<(), E>) -> Result<(), E> {
        let result = if self.has_data { found(&self.event) } else { Ok(()) };
        self.has_data = false;
        self.event.name.clear();
        self.event.data.clear();
        result
    }
}
