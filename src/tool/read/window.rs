//! The part of a text that one `read` shows, and how to get the rest.

use serde_json::{Map, Value};

use crate::text::cut;
use crate::tool::MAX_OUTPUT_CHARS;

/// The most lines of one call.
const MAX_LINES: usize = 20_000;
/// The largest number that an argument may be.
pub(super) const MAX_NUMBER: usize = 1_000_000_000;
/// What is kept free for the notes.
const NOTES: usize = 500;

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// First line, from 1.
    offset: usize,
    /// First character of that line, from 1.
    column: usize,
    /// Most lines.
    limit: usize,
}

impl Window {
    pub(super) fn of(arguments: &Map<String, Value>) -> Self {
        let number = |name: &str, default| {
            let number = arguments.get(name).and_then(Value::as_u64);
            number.and_then(|number| usize::try_from(number).ok()).unwrap_or(default)
        };
        Self {
            offset: number("offset", 1).max(1),
            column: number("column", 1).max(1),
            limit: number("limit", MAX_LINES).clamp(1, MAX_LINES),
        }
    }

    /// The numbered lines, then a note where something is left out.
    pub(super) fn show(&self, path: &str, text: &str) -> Result<String, String> {
        let total = text.lines().count();
        if total == 0 && self.offset == 1 {
            return Ok("<the file is empty>\n".into());
        }
        if self.offset > total {
            let lines = if total == 1 { "1 line" } else { &format!("{total} lines") };
            return Err(format!(
                "offset {} lies beyond the end of {path}: the file has {lines}",
                self.offset
            ));
        }
        let mut page = Page { out: String::new(), room: MAX_OUTPUT_CHARS - NOTES };
        let lines = text.lines().enumerate().skip(self.offset - 1).take(self.limit);
        for (index, line) in lines {
            let number = index + 1;
            let column = if number == self.offset { self.column } else { 1 };
            let (before, rest) = cut::split(line, column - 1);
            if column > 1 && rest.is_empty() {
                let chars = before.chars().count();
                return Err(format!(
                    "column {column} lies beyond the end of line {number}, which has {chars} characters"
                ));
            }
            match page.line(number, rest) {
                Fit::Whole => {}
                Fit::Part(shown) => return Ok(page.cut_inside(number, column, shown, line, total)),
                Fit::None => return Ok(page.cut_before(number, total)),
            }
        }
        Ok(page.cut_before((self.offset + self.limit).min(total + 1), total))
    }
}

struct Page {
    out: String,
    /// Characters left.
    room: usize,
}

enum Fit {
    Whole,
    /// So many characters of it.
    Part(usize),
    None,
}

impl Page {
    /// Adds a line if it fits; one that no page holds is begun if it is the first.
    fn line(&mut self, number: usize, line: &str) -> Fit {
        let prefix = format!("{number:>6}\t");
        let room = self.room.saturating_sub(prefix.len() + 1);
        let (head, rest) = cut::split(line, room);
        let first = self.out.is_empty();
        if !rest.is_empty() && !first {
            return Fit::None;
        }
        let shown = head.chars().count();
        self.room = room.saturating_sub(shown);
        self.out.extend([&prefix, head, "\n"]);
        if rest.is_empty() { Fit::Whole } else { Fit::Part(shown) }
    }

    /// Ends before line `next`.
    fn cut_before(mut self, next: usize, total: usize) -> String {
        if next <= total {
            self.out.push_str(&format!(
                "<lines {next}-{total} of {total} are not shown; go on with offset {next}>\n"
            ));
        }
        self.out
    }

    /// Ends inside a line.
    fn cut_inside(mut self, number: usize, column: usize, shown: usize, line: &str, total: usize) -> String {
        let chars = line.chars().count();
        let next = column + shown;
        self.out.push_str(&format!(
            "<line {number} of {total} has {chars} characters; {column}-{} are shown; go on with offset {number} and column {next}",
            next - 1
        ));
        if number < total {
            self.out.push_str(&format!(", or with offset {} for the next line", number + 1));
        }
        self.out.push_str(">\n");
        self.out
    }
}
