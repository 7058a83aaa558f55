//! Finding and replacing with line endings set aside: the file and the wanted text are compared with plain
//! newlines, and what is written takes the endings that stand there.

use std::borrow::Cow;
use std::ops::Range;

use crate::text::encoding::Ending;

/// A text with every CRLF as a newline, and the way back to the original's offsets.
pub(super) struct Flat<'a> {
    raw: &'a str,
    text: Cow<'a, str>,
    /// Offsets in `text` of the newlines that are CRLF in `raw`.
    crlf: Vec<usize>,
}

/// So many overlapping places are enough to say that there are too many.
pub(super) const MANY: usize = 1000;

/// The text with plain newlines.
pub(super) fn plain(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Line numbers as a list, the first twenty.
pub(super) fn list(lines: &[usize]) -> String {
    let shown: Vec<_> = lines.iter().take(20).map(usize::to_string).collect();
    match lines.len().saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl<'a> Flat<'a> {
    pub(super) fn new(raw: &'a str) -> Self {
        let at: Vec<usize> = memchr::memmem::find_iter(raw.as_bytes(), b"\r\n").collect();
        let text = if at.is_empty() { Cow::Borrowed(raw) } else { Cow::Owned(plain(raw)) };
        let crlf = at.into_iter().enumerate().map(|(before, at)| at - before).collect();
        Self { raw, text, crlf }
    }

    /// The places where `old` begins, overlapping ones too, since any of them could be meant; the first [`MANY`].
    pub(super) fn overlapping(&self, old: &str) -> Vec<usize> {
        let step = old.chars().next().map_or(1, char::len_utf8);
        let mut found = Vec::new();
        let mut from = 0;
        while found.len() < MANY
            && let Some(at) = self.text.get(from..).and_then(|rest| rest.find(old))
        {
            found.push(from + at);
            from += at + step;
        }
        found
    }

    /// The places where `old` begins, each after the end of the one before.
    pub(super) fn apart(&self, old: &str) -> Vec<usize> {
        self.text.match_indices(old).map(|(at, _)| at).collect()
    }

    /// The lines, from 1, of places in order.
    pub(super) fn line_numbers(&self, places: &[usize]) -> Vec<usize> {
        let (mut line, mut from) = (1, 0);
        let text = self.text.as_bytes();
        let mut count = |place: &usize| {
            line += memchr::memchr_iter(b'\n', text.get(from..*place).unwrap_or_default()).count();
            from = *place;
            line
        };
        places.iter().map(&mut count).collect()
    }

    /// The original with `new` at each of the places where `old` was.
    pub(super) fn replace(&self, places: &[usize], old: &str, new: &str) -> String {
        let mut out = String::with_capacity(self.raw.len() + new.len());
        let mut from = 0;
        for place in places {
            let range = self.raw_at(*place)..self.raw_at(place + old.len());
            out.push_str(self.raw.get(from..range.start).unwrap_or_default());
            from = range.end;
            out.push_str(&self.fill(range, old, new));
        }
        out.push_str(self.raw.get(from..).unwrap_or_default());
        out
    }

    /// An offset of `text` in `raw`; a newline's is that of its whole ending.
    fn raw_at(&self, at: usize) -> usize {
        at + self.crlf.partition_point(|crlf| *crlf < at)
    }

    /// The new text with the endings of what it replaces: those of lines that stay, in order; those of replaced
    /// lines for the ones in their place; for inserted lines the one before.
    fn fill(&self, range: Range<usize>, old: &str, new: &str) -> String {
        if self.crlf.is_empty() {
            return new.to_owned();
        }
        let stood: Vec<Ending> = Ending::all(self.raw.get(range.clone()).unwrap_or_default()).collect();
        let around = stood.first().copied().unwrap_or_else(|| self.around(range));
        let (kept_before, kept_after) = kept(old.as_bytes(), new.as_bytes());
        let total = memchr::memchr_iter(b'\n', new.as_bytes()).count();
        let replaced = stood.len().saturating_sub(kept_after);
        let ending = |index: usize| {
            let place = if index >= kept_before && total - index <= kept_after {
                stood.len().checked_sub(total - index)
            } else {
                index.min(replaced.saturating_sub(1)).into()
            };
            let inserted_first = replaced == 0 && total - index > kept_after;
            if inserted_first {
                around
            } else {
                place.and_then(|place| stood.get(place)).copied().unwrap_or(around)
            }
        };
        let mut out = String::with_capacity(new.len() + total);
        for (index, line) in new.split('\n').enumerate() {
            if index > 0 {
                out.push_str(ending(index - 1).as_str());
            }
            out.push_str(line);
        }
        out
    }

    /// The ending of the line that a range without one stands in, or of the line before it.
    fn around(&self, range: Range<usize>) -> Ending {
        let after = self.raw.get(range.end..).and_then(|after| Ending::all(after).next());
        let before = || {
            let before = self.raw.get(..range.start)?;
            Some(if before.get(..=before.rfind('\n')?)?.ends_with("\r\n") {
                Ending::Crlf
            } else {
                Ending::Lf
            })
        };
        after.or_else(before).unwrap_or_default()
    }
}

/// How many newlines at the beginning and the end of two texts are the same ones.
fn kept(old: &[u8], new: &[u8]) -> (usize, usize) {
    let newlines =
        |count: usize, from: &[u8]| memchr::memchr_iter(b'\n', from.get(..count).unwrap_or_default()).count();
    let before = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - before;
    let after = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let tail = new.get(new.len() - after..).unwrap_or_default();
    (newlines(before, new), newlines(tail.len(), tail))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn replaced(raw: &str, old: &str, new: &str) -> String {
        let flat = Flat::new(raw);
        flat.replace(&flat.apart(old), old, new)
    }

    #[test]
    fn new_lines_take_the_endings_that_stand_there() {
        for (raw, old, new, after) in [
            ("a\r\nb\nc\r\n", "b", "B", "a\r\nB\nc\r\n"),
            ("one\r\ntwo\r\nthree\r\n", "one\ntwo", "one\n2", "one\r\n2\r\nthree\r\n"),
            ("a\r\nb\r\n", "a", "a\nx", "a\r\nx\r\nb\r\n"),
            ("a\nb\r\nc\n", "a\nb\nc\n", "a\nB\nc\n", "a\nB\r\nc\n"),
            ("a\nb\r\nc\n", "a\nb\nc\n", "a\nc\n", "a\nc\n"),
            ("a\r\nb\n", "a\nb\n", "a\nx\ny\nb\n", "a\r\nx\r\ny\r\nb\n"),
            ("a\nb\r\n", "b\n", "x\nb\n", "a\nx\r\nb\r\n"),
            ("a\r\nb", "b", "b\nc", "a\r\nb\r\nc"),
            ("x\r\ny\r\nx\r\n", "x\n", "z\nz\n", "z\r\nz\r\ny\r\nz\r\nz\r\n"),
        ] {
            assert_eq!(replaced(raw, old, new), after, "{raw:?}: {old:?} -> {new:?}");
        }
    }

    #[test]
    fn overlapping_places_all_count() {
        assert_eq!(Flat::new("aaa").overlapping("aa"), [0, 1]);
        assert_eq!(Flat::new("éé\né").overlapping("é"), [0, 2, 5]);
        assert_eq!(Flat::new("x\r\ny\nx\n").line_numbers(&[0, 4]), [1, 3]);
    }

    proptest! {
        #[test]
        fn bytes_outside_the_match_never_change(
            before in "(a|\r\n|\n|é){0,8}",
            old in "X(a|\n|é){0,5}Y",
            new in "(b|\n){0,6}",
            after in "(a|\r\n|\n|é){0,8}",
            crlf in any::<bool>(),
        ) {
            let stood = if crlf { old.replace('\n', "\r\n") } else { old.clone() };
            let raw = format!("{before}{stood}{after}");
            let result = replaced(&raw, &old, &new);
            prop_assert!(result.starts_with(&before) && result.ends_with(&after));
            let middle = result.get(before.len()..result.len() - after.len()).unwrap();
            prop_assert_eq!(plain(middle), new);
        }
    }
}
