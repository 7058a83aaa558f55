//! What a search found, as the model will read it.

use std::fmt::Write as _;
use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch};

use crate::tool::MAX_OUTPUT_CHARS;

/// Most matching lines.
const MOST: usize = 500;
/// Most bytes of lines, so that with the notes an answer stays below the limit of every tool.
const LARGEST: usize = MAX_OUTPUT_CHARS - 2_000;
/// Longest excerpt of a line, in bytes, and how much of it precedes the match.
const EXCERPT: usize = 400;
const BEFORE: usize = 120;
/// Most binary files that are named.
const NAMED: usize = 5;

/// Lines found so far, within the limits.
#[derive(Debug, Default)]
pub(super) struct Found {
    text: String,
    matches: usize,
    files: usize,
    full: bool,
    binary: Vec<String>,
    binary_count: usize,
}

impl Found {
    /// The lines.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
    /// Files that were searched.
    pub(super) fn files(&self) -> usize {
        self.files
    }
    /// Binary files that match.
    pub(super) fn binary(&self) -> usize {
        self.binary_count
    }
    /// Whether a limit was reached.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }
    /// What is to be said about the lines.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.full {
            notes.push(format!(
                "the search stopped after {} matching lines and there are more; narrow the pattern, `path` or `glob`",
                self.matches
            ));
        }
        if self.binary_count > 0 {
            let more = self.binary_count.saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            notes.push(format!(
                "binary files match too, their lines are not shown: {}{more}",
                self.binary.join(", ")
            ));
        }
        notes
    }
}

/// Takes the lines of one file.
pub(super) struct Lines<'a> {
    name: &'a str,
    matcher: &'a RegexMatcher,
    found: &'a mut Found,
    text: String,
    matches: usize,
    full: bool,
    binary: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(name: &'a str, matcher: &'a RegexMatcher, found: &'a mut Found) -> Self {
        Self { name, matcher, found, text: String::new(), matches: 0, full: false, binary: false }
    }

    /// Adds the file's lines to what was found.
    pub(super) fn keep(self) {
        let found = self.found;
        found.files += 1;
        if self.binary {
            if self.matches > 0 {
                found.binary_count += 1;
                if found.binary.len() < NAMED {
                    found.binary.push(self.name.to_owned());
                }
            }
            return;
        }
        // Lines of different files are told apart where context makes blocks of them.
        let blocks = self.text.lines().any(|line| line == "--") || found.text.contains("\n--\n");
        if blocks && !found.text.is_empty() && !self.text.is_empty() {
            found.text.push_str("--\n");
        }
        found.text.push_str(&self.text);
        found.matches += self.matches;
        found.full |= self.full;
    }

    fn line(&mut self, mark: char, number: Option<u64>, bytes: &[u8], from: usize) {
        let line = without_end(bytes);
        let number = number.unwrap_or(0);
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{}{mark}{number}{mark}{}", self.name, excerpt(line, from));
    }

    fn has_room(&self) -> bool {
        self.found.text.len() + self.text.len() < LARGEST
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.binary {
            self.matches += 1;
            return Ok(false);
        }
        if self.found.matches + self.matches >= MOST || !self.has_room() {
            self.full = true;
            return Ok(false);
        }
        let at = self.matcher.find(found.bytes()).ok().flatten().map_or(0, |at| at.start());
        self.line(':', found.line_number(), found.bytes(), at);
        self.matches += 1;
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if !self.binary && self.has_room() && *context.kind() != SinkContextKind::Other {
            self.line('-', context.line_number(), context.bytes(), 0);
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if !self.text.is_empty() {
            self.text.push_str("--\n");
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.binary = true;
        // Once a line has matched there is nothing more to learn.
        Ok(self.matches == 0)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A piece of a line around a place in it; the whole line when it is short enough.
fn excerpt(line: &[u8], from: usize) -> String {
    if line.len() <= EXCERPT {
        return String::from_utf8_lossy(line).into_owned();
    }
    let start = boundary(line, from.saturating_sub(BEFORE).min(line.len() - EXCERPT));
    let end = boundary(line, start + EXCERPT);
    let piece = String::from_utf8_lossy(line.get(start..end).unwrap_or_default());
    let before = if start > 0 { "…" } else { "" };
    let after = if end < line.len() { "…" } else { "" };
    format!("{before}{piece}{after} [{} bytes in this line]", line.len())
}

/// The nearest start of a character at or before a place.
fn boundary(line: &[u8], at: usize) -> usize {
    let inside = |at: &usize| line.get(*at).is_some_and(|byte| (0x80..0xc0).contains(byte));
    (at.saturating_sub(3)..=at.min(line.len())).rev().find(|at| !inside(at)).unwrap_or(at)
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_holds_the_match_and_whole_characters() {
        let line = format!("{}needle{}", "語".repeat(1000), "ü".repeat(1000));
        let at = line.find("needle").unwrap();
        for shift in 0..4 {
            let line = format!("{}{line}", "x".repeat(shift));
            let excerpt = excerpt(line.as_bytes(), at + shift);
            assert!(excerpt.contains("needle") && !excerpt.contains('\u{fffd}'), "{excerpt}");
            assert!(excerpt.starts_with('…') && excerpt.len() < 2 * EXCERPT);
        }
        assert_eq!(excerpt(b"short", 0), "short");
    }
}
