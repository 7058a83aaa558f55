//! `--format text`: a readable trace on standard output. Labels stand in square brackets, exit status in parentheses,
//! marks for omitted lines in angle brackets, so that the host's words stay apart from a tool's output.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::run::json::Shown;
use crate::run::out::Out;
use crate::session::report::{Report, Reporter, Status, ToolUse};
use crate::text::display::strip as clean;

/// Lines of a result that are shown from its start, and from its end.
const HEAD: usize = 6;
const TAIL: usize = 3;
/// A failing call shows more of its end, where the reason usually stands.
const FAILED_TAIL: usize = 12;

/// Renders reports as text; notes go to standard error.
pub struct TextTrace {
    out: Arc<Out>,
    shown: Shown,
    /// Whether a streamed block stands open, its line not yet ended.
    open: Mutex<bool>,
}

impl TextTrace {
    /// A trace on `out`.
    pub fn new(out: Arc<Out>, shown: Shown) -> Self {
        Self { out, shown, open: Mutex::new(false) }
    }

    fn block(&self, text: &str) {
        let text = clean(text);
        let end = if text.ends_with('\n') { "" } else { "\n" };
        self.out.write(&[text.as_bytes(), end.as_bytes()]);
    }

    fn delta(&self, text: &str) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.out.write(&[clean(text).as_bytes()]);
    }

    /// Ends a streamed block; true when there was one.
    fn close(&self) -> bool {
        let open = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        if open {
            self.out.write(&[b"\n"]);
        }
        open
    }
}

impl Reporter for TextTrace {
    fn report(&self, report: Report<'_>) {
        match report {
            Report::TextDelta(text) if self.shown.stream => self.delta(text),
            Report::Void if self.close() => self.block("<the attempt broke off; what it said is void>"),
            // A block that was streamed stands there already; closing it is all that is left.
            Report::Text(text) if !self.close() => self.block(text),
            Report::Reasoning(text) if self.shown.thinking => {
                self.close();
                self.block(&format!("[reasoning]\n{text}"));
            }
            Report::ToolUse(tool) => {
                self.close();
                self.block(&tool_lines(tool));
            }
            Report::Note(text) => note(text),
            Report::Retry { attempt, wait, error } => retry(attempt, wait, error),
            Report::Error(text) => note(text),
            _ => {}
        }
    }
}

/// Writes one line to standard error. Nobody is told when that is gone as well.
pub fn note(text: &str) {
    let line = format!("crystal: {}\n", clean(text).trim_end());
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Says on standard error that an attempt failed and another follows.
pub fn retry(attempt: u32, wait: Duration, error: &str) {
    note(&format!("{error}; attempt {} in {:.1} s", attempt + 1, wait.as_secs_f64()));
}

fn tool_lines(tool: &ToolUse) -> String {
    let mut text = format!("[{}] {}", tool.name, subject(&tool.arguments));
    match tool.status {
        Status::Completed => {}
        status => {
            let _ = write!(text, " ({status})");
        }
    }
    let body = match &tool.diff {
        Some(diff) if tool.status == Status::Completed => excerpt(diff, usize::MAX, 0),
        _ if tool.status == Status::Completed => excerpt(&tool.output, HEAD, TAIL),
        _ => excerpt(&tool.output, HEAD, FAILED_TAIL),
    };
    for line in body.lines() {
        let _ = write!(text, "\n  {line}");
    }
    text
}

/// The argument that says most about a call, on one line.
fn subject(arguments: &Value) -> String {
    const TELLING: &[&str] = &["command", "path", "pattern", "name", "question"];
    let told = TELLING.iter().find_map(|key| arguments.get(key)?.as_str());
    let told = told.map_or_else(
        || match arguments {
            Value::Object(map) if map.is_empty() => String::new(),
            other => other.to_string(),
        },
        str::to_owned,
    );
    let mut lines = told.lines();
    let first: String = lines.next().unwrap_or_default().chars().take(160).collect();
    if lines.next().is_some() || first.len() < told.lines().next().unwrap_or_default().len() {
        format!("{first} <…>")
    } else {
        first
    }
}

fn excerpt(text: &str, head: usize, tail: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    if lines.len() <= head.saturating_add(tail).saturating_add(1) {
        return lines.join("\n");
    }
    let omitted = lines.len() - head - tail;
    let start = lines.get(..head).unwrap_or_default().join("\n");
    let end = lines.get(lines.len() - tail..).unwrap_or_default().join("\n");
    format!("{start}\n<{omitted} lines omitted>\n{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_results_keep_their_ends_and_count_what_is_left_out() {
        let text = (1..=20).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        let short = excerpt(&text, 2, 1);
        assert_eq!(short, "1\n2\n<17 lines omitted>\n20");
        assert_eq!(excerpt("a\nb", 2, 1), "a\nb");
    }

    #[test]
    fn a_call_is_one_line_named_by_its_main_argument() {
        assert_eq!(subject(&serde_json::json!({ "path": "a.rs", "offset": 3 })), "a.rs");
        assert_eq!(subject(&serde_json::json!({ "command": "a\nb" })), "a <…>");
        assert_eq!(subject(&serde_json::json!({})), "");
    }
}
