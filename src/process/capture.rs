//! The head and the tail of a child's output, within a fixed amount of memory.

use std::collections::VecDeque;

use crate::process::terminal::{Screen, is_silent};

/// How much is kept of an output, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// From its beginning.
    pub head: usize,
    /// From its end.
    pub tail: usize,
    /// In what form.
    pub form: Form,
}

impl Keep {
    /// Nothing at all.
    pub const NOTHING: Self = Self { head: 0, tail: 0, form: Form::Raw };
}

/// The form in which output is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Byte for byte.
    Raw,
    /// As a terminal would leave it: see [`Screen`].
    Screen,
}

/// What was kept of an output.
#[derive(Debug)]
pub struct Capture {
    kept: Ends,
    screen: Option<Screen>,
    received: u64,
}

impl Capture {
    /// Empty, ready to be pushed to.
    pub fn new(keep: Keep) -> Self {
        Self {
            kept: Ends::new(keep.head, keep.tail),
            screen: (keep.form == Form::Screen).then(Screen::default),
            received: 0,
        }
    }

    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.received = self.received.saturating_add(piece.len() as u64);
        match &mut self.screen {
            Some(screen) => screen.push(piece, &mut self.kept),
            None => self.kept.push(piece),
        }
    }

    /// Bytes that came in, whatever was kept of them.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Lines that a carriage return overwrote; always 0 for raw output.
    pub fn overwritten(&self) -> u64 {
        self.screen.as_ref().map_or(0, Screen::overwritten)
    }

    /// Bytes that this holds in memory.
    pub fn held(&self) -> usize {
        self.kept.head.capacity() + self.kept.tail.capacity()
    }

    /// Everything, when nothing was left out.
    pub fn whole(&self) -> Option<Vec<u8>> {
        (self.kept.omitted() == 0).then(|| [self.kept.head.as_slice(), &self.kept.last()].concat())
    }

    /// The text in at most `limit` characters: whole, or its head and tail in equal parts. Bytes that are no UTF-8
    /// become replacement marks.
    pub fn text(&self, limit: usize) -> Text {
        let joined;
        let (head, tail, omitted) = match self.kept.omitted() {
            0 => {
                joined = [self.kept.head.as_slice(), &self.kept.last()].concat();
                let text = String::from_utf8_lossy(&joined);
                if text.chars().nth(limit).is_none() {
                    return Text { head: self.visible(text.into_owned()), cut: None };
                }
                (joined.as_slice(), joined.clone(), 0)
            }
            omitted => (self.kept.head.as_slice(), self.kept.last(), omitted),
        };
        let (first, head_used) = first_chars(head, limit / 2);
        let (last, tail_used) = last_chars(&tail, limit - limit / 2);
        let total = if omitted == 0 { head.len() as u64 } else { omitted + (head.len() + tail.len()) as u64 };
        let left_out = total.saturating_sub((head_used + tail_used) as u64);
        Text { head: self.visible(first), cut: Some(Cut { left_out, tail: self.visible(last) }) }
    }

    fn visible(&self, mut text: String) -> String {
        if self.screen.is_some() {
            text.retain(|c| !is_silent(c));
        }
        text
    }
}

/// An output as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// All of it, or its beginning.
    pub head: String,
    /// What follows when it was too long.
    pub cut: Option<Cut>,
}

/// A gap in an output, and what comes after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Bytes that are not shown.
    pub left_out: u64,
    /// The end of the output.
    pub tail: String,
}

/// The first and the last bytes of a stream, which may take back what it wrote since a point.
#[derive(Debug)]
pub(super) struct Ends {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_max: usize,
    tail_max: usize,
    /// Bytes written, those taken back not counted.
    written: u64,
}

impl Ends {
    fn new(head_max: usize, tail_max: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), head_max, tail_max, written: 0 }
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        self.written += piece.len() as u64;
        let fits = self.head_max.saturating_sub(self.head.len()).min(piece.len());
        // Once something went to the tail, the head is closed until that was taken back.
        let fits = if self.omitted_or_tailed(piece.len()) { 0 } else { fits };
        let (head, rest) = piece.split_at(fits);
        self.head.extend_from_slice(head);
        let rest = rest.get(rest.len().saturating_sub(self.tail_max)..).unwrap_or_default();
        let over = (self.tail.len() + rest.len()).saturating_sub(self.tail_max);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// Where the next byte goes.
    pub(super) fn position(&self) -> u64 {
        self.written
    }

    /// Takes back everything from that position on, as far as it is still held.
    pub(super) fn truncate(&mut self, position: u64) {
        let back = usize::try_from(self.written.saturating_sub(position)).unwrap_or(usize::MAX);
        self.tail.truncate(self.tail.len().saturating_sub(back));
        if let Ok(position) = usize::try_from(position) {
            self.head.truncate(position);
        }
        self.written = self.written.min(position);
    }

    /// Takes back the last character, but nothing before that position.
    pub(super) fn pop_char(&mut self, floor: u64) {
        while self.written > floor {
            let last = self.tail.back().or(self.head.last()).copied();
            self.truncate(self.written - 1);
            if !last.is_some_and(|byte| (0x80..0xc0).contains(&byte)) {
                return;
            }
        }
    }

    fn omitted_or_tailed(&self, coming: usize) -> bool {
        self.written - coming as u64 > self.head.len() as u64
    }

    fn omitted(&self) -> u64 {
        self.written.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    fn last(&self) -> Vec<u8> {
        self.tail.iter().copied().collect()
    }
}

/// The first characters of some bytes, and how many bytes they took. A character that the end of the bytes cuts
/// apart is left out.
fn first_chars(bytes: &[u8], most: usize) -> (String, usize) {
    let (mut text, mut used, mut count) = (String::new(), 0, 0);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if count == most {
                return (text, used);
            }
            text.push(c);
            used += c.len_utf8();
            count += 1;
        }
        let torn = used + chunk.invalid().len() == bytes.len();
        if count == most || chunk.invalid().is_empty() || torn {
            return (text, used);
        }
        text.push(char::REPLACEMENT_CHARACTER);
        used += chunk.invalid().len();
        count += 1;
    }
    (text, used)
}

/// The last characters of some bytes, and how many bytes they took. What is left of a character whose beginning is
/// missing is left out.
fn last_chars(bytes: &[u8], most: usize) -> (String, usize) {
    let torn = bytes.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    let bytes = bytes.get(torn..).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let skipped = text.chars().count().saturating_sub(most);
    let (_, passed) = first_chars(bytes, skipped);
    (text.chars().skip(skipped).collect(), bytes.len() - passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(head: usize, tail: usize) -> Capture {
        Capture::new(Keep { head, tail, form: Form::Raw })
    }

    #[test]
    fn memory_is_bounded_whatever_comes() {
        let mut capture = keep(1000, 1000);
        for _ in 0..5_000 {
            capture.push(&[b'x'; 4096]);
        }
        assert_eq!(capture.received(), 5_000 * 4096);
        assert!(capture.held() < 8 * 1024, "{} bytes are held", capture.held());
    }

    #[test]
    fn head_tail_and_gap_add_up() {
        let mut capture = keep(40, 40);
        for number in 0..100 {
            capture.push(format!("{number:03},").as_bytes());
        }
        let text = capture.text(20);
        let cut = text.cut.unwrap();
        assert_eq!((text.head.as_str(), cut.tail.as_str()), ("000,001,00", "7,098,099,"));
        assert_eq!(cut.left_out, 400 - 20);
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        for lead in 0..12 {
            let mut capture = keep(40, 40);
            capture.push("a".repeat(lead).as_bytes());
            capture.push("語".repeat(50).as_bytes());
            let text = capture.text(26);
            let cut = text.cut.unwrap();
            assert!(!text.head.contains('\u{fffd}') && !cut.tail.contains('\u{fffd}'), "lead of {lead}");
            let shown = text.head.len() + cut.tail.len();
            assert_eq!(cut.left_out, (lead + 150 - shown) as u64, "lead of {lead}");
        }
    }

    #[test]
    fn what_is_taken_back_makes_room_again() {
        let mut ends = Ends::new(4, 4);
        ends.push(b"abcdefgh");
        ends.truncate(2);
        ends.push(b"xy");
        assert_eq!(
            (ends.head.as_slice(), ends.last().as_slice(), ends.omitted()),
            (&b"abxy"[..], &b""[..], 0)
        );
        ends.push(b"0123456789");
        ends.truncate(5);
        ends.push(b"z");
        assert_eq!(ends.last(), b"z");
        assert_eq!(ends.omitted(), 1, "what had fallen out of the tail stays out");
    }
}
