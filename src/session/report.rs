//! What a turn tells the outside while it runs. Whoever listens (a pipeline, a terminal) renders it; the turn never
//! waits for more than the call.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::hook::context::TraceRecord;
use crate::model::judgement::names;
use crate::model::response::Usage;

/// A listener.
pub trait Reporter: Send + Sync {
    /// Takes one report. It must be quick, and it must not fail: a listener that has gone away says so by its own means.
    fn report(&self, report: Report<'_>);
    /// Whether trace records are wanted; making them costs something.
    fn wants_trace(&self) -> bool {
        false
    }
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Report<'a> {
    /// A step begins.
    StepStart {
        /// Its number in the turn, from 1.
        step: u64,
        /// The runtime.
        runtime: &'a str,
    },
    /// More answer text; display only.
    TextDelta(&'a str),
    /// More reasoning; display only.
    ReasoningDelta(&'a str),
    /// Deltas since the step began are void: another attempt follows.
    Void,
    /// A finished block of answer text.
    Text(&'a str),
    /// A finished block of reasoning.
    Reasoning(&'a str),
    /// A call begins to run.
    ToolStart {
        /// The tool.
        name: &'a str,
        /// The host's call id.
        call_id: &'a str,
        /// The arguments as the model wrote them, JSON text.
        arguments: &'a str,
    },
    /// A call ended.
    ToolUse(&'a ToolUse),
    /// One English line.
    Note(&'a str),
    /// A failed attempt will be repeated.
    Retry {
        /// The attempt that failed, from 1.
        attempt: u32,
        /// The wait before the next.
        wait: Duration,
        /// What failed.
        error: &'a str,
    },
    /// The turn cannot go on.
    Error(&'a str),
    /// A handler ran.
    Hook(&'a TraceRecord),
    /// A step ended.
    StepFinish(&'a StepFinish),
}

/// How a call ended.
#[derive(Clone, Debug)]
pub struct ToolUse {
    /// The tool.
    pub name: Arc<str>,
    /// The host's call id.
    pub call_id: String,
    /// The arguments as they ran, or the model's own text where they could not be read.
    pub arguments: Value,
    /// The ending.
    pub status: Status,
    /// What the model reads.
    pub output: Arc<str>,
    /// The diff of a write.
    pub diff: Option<String>,
}

/// The endings of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It ran and did what it should.
    Completed,
    /// It could not run, or ran and failed.
    Failed,
    /// The approval policy or the operator said no.
    Denied,
    /// A guard said no.
    Refused,
    /// It did not run because the turn ended before it.
    Skipped,
    /// It was stopped while it ran.
    Cancelled,
}
names!(Status {
    Completed = "completed",
    Failed = "failed",
    Denied = "denied",
    Refused = "refused",
    Skipped = "skipped",
    Cancelled = "cancelled",
});

/// How a step ended.
#[derive(Clone, Debug, Serialize)]
pub struct StepFinish {
    /// The finish reason.
    pub reason: &'static str,
    /// What the call cost.
    pub usage: Usage,
    /// How full the window is.
    pub context: Context,
    /// Model calls of the turn so far.
    pub model_calls: u64,
    /// Tool calls of the turn so far.
    pub tool_calls: u64,
}

/// Tokens in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Context {
    /// Used by the last request and its answer; an estimate where the provider does not count.
    pub used: u64,
    /// What the model takes.
    pub budget: u64,
}
