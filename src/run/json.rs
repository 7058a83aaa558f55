//! `--format json`: one JSON object a line, and nothing else, on standard output.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};

use crate::hook::context::TraceRecord;
use crate::run::out::Out;
use crate::session::report::{Report, Reporter};

/// What is printed beyond the fixed lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// `reasoning` lines.
    pub thinking: bool,
    /// `text_delta` lines.
    pub stream: bool,
    /// `hook` lines.
    pub trace: bool,
}

/// Renders reports as JSON lines.
pub struct JsonLines {
    out: Arc<Out>,
    session: Arc<str>,
    shown: Shown,
    buffer: Mutex<Vec<u8>>,
}

#[derive(Serialize)]
struct Line<'a, T: Serialize> {
    r#type: &'a str,
    timestamp: String,
    session: &'a str,
    #[serde(flatten)]
    body: T,
}

impl JsonLines {
    /// Lines for that session.
    pub fn new(out: Arc<Out>, session: Arc<str>, shown: Shown) -> Self {
        Self { out, session, shown, buffer: Mutex::default() }
    }
    /// Writes one line of that type. The body must serialise as an object.
    pub fn line(&self, kind: &str, body: impl Serialize) {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        buffer.clear();
        let line = Line { r#type: kind, timestamp: now(), session: &self.session, body };
        // Serialising into memory fails only for a body that is no object, and no caller has such a body.
        if serde_json::to_writer(&mut *buffer, &line).is_ok() {
            buffer.push(b'\n');
            self.out.write(&[&buffer]);
        }
        // A line of megabytes is rare; its buffer is not worth keeping.
        if buffer.capacity() > 1024 * 1024 {
            *buffer = Vec::new();
        }
    }
}

/// The time in UTC, to the millisecond.
fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

impl Reporter for JsonLines {
    fn report(&self, report: Report<'_>) {
        match report {
            Report::StepStart { step, runtime } => {
                self.line("step_start", json!({ "step": step, "runtime": runtime }))
            }
            Report::TextDelta(text) if self.shown.stream => self.line("text_delta", Text { text }),
            Report::Text(text) => self.line("text", Text { text }),
            Report::Reasoning(text) if self.shown.thinking => self.line("reasoning", Text { text }),
            Report::ToolUse(tool) => self.line(
                "tool_use",
                ToolUseLine {
                    name: &tool.name,
                    call_id: &tool.call_id,
                    arguments: &tool.arguments,
                    status: tool.status.as_str(),
                    output: &tool.output,
                },
            ),
            Report::Note(text) => self.line("note", Text { text }),
            Report::Retry { attempt, wait, error } => {
                self.line("retry", json!({ "attempt": attempt, "wait_ms": u64::try_from(wait.as_millis()).unwrap_or(u64::MAX), "error": error }));
            }
            Report::Error(message) => self.line("error", json!({ "message": message })),
            Report::Hook(record) if self.shown.trace => self.line("hook", hook(record)),
            Report::StepFinish(step) => self.line("step_finish", step),
            _ => {}
        }
    }

    fn wants_trace(&self) -> bool {
        self.shown.trace
    }
}

/// A handler call as a line.
fn hook(record: &TraceRecord) -> Value {
    let mut line = json!({
        "event": record.event,
        "plugin": &*record.plugin.dir,
        "list": record.list.as_str(),
        "duration_ms": u64::try_from(record.duration.as_millis()).unwrap_or(u64::MAX),
        "outcome": record.outcome.as_str(),
    });
    if let Some(reason) = &record.reason {
        line["reason"] = reason.as_str().into();
    }
    if let Some(change) = &record.change {
        line["change"] = change.as_str().into();
    }
    line
}

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
}

#[derive(Serialize)]
struct ToolUseLine<'a> {
    name: &'a str,
    call_id: &'a str,
    arguments: &'a Value,
    status: &'a str,
    output: &'a str,
}
