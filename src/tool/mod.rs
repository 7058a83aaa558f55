//! Tools: one trait for built-in, plugin and external tools, and the table of the built-in ones.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::fence::Fence;
use crate::model::item::Image;
use crate::model::port::{BoxFuture, Commit, ImageStore, Operator, Reach, Source};
use crate::model::request::ToolSpec;
use crate::process::environment::Environment;

/// A tool. Its arguments were checked against its schema before [`Tool::run`].
pub trait Tool: Send + Sync {
    /// Name, description and schema.
    fn spec(&self) -> &ToolSpec;
    /// Which catalogs offer it.
    fn catalogs(&self) -> Catalogs;
    /// Whether calls only read, so that several may run at once.
    fn concurrent(&self) -> bool {
        false
    }
    /// Runs one call. Every failure is an output that the model can read. Cancel (`cx.cancel`) ends it soon.
    fn run<'a>(&'a self, arguments: &'a Map<String, Value>, cx: &'a ToolContext) -> BoxFuture<'a, Output>;
}

/// The catalogs a tool is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Catalogs {
    pub plan: bool,
    pub work: bool,
}

/// What a call may use: facts and ports captured when it started.
pub struct ToolContext {
    /// Who calls.
    pub source: Source,
    /// The session's id.
    pub session: Arc<str>,
    /// Paths.
    pub fence: Arc<Fence>,
    /// How far outside the workspace this call was approved to go.
    pub reach: Reach,
    /// The only way to write the workspace and the todo list.
    pub commit: Arc<dyn Commit>,
    /// The only way to ask the operator.
    pub operator: Arc<dyn Operator>,
    /// Where images of tool results are kept.
    pub images: Arc<dyn ImageStore>,
    /// Which file contents this session has seen.
    pub seen: Arc<seen::Seen>,
    /// Whether this turn's model takes images.
    pub accepts_images: bool,
    /// Longest time a command may run when its call names none; none is no limit.
    pub bash_timeout: Option<Duration>,
    /// Ends the call.
    pub cancel: CancellationToken,
}

/// What a call gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// What the model reads.
    pub text: String,
    /// Images it sees.
    pub images: Vec<Image>,
    /// Whether the call failed.
    pub failed: bool,
    /// Whether it was a question that nobody answered.
    pub dismissed: bool,
    /// The diff of a write, for the operator.
    pub diff: Option<String>,
}

impl Output {
    /// What the model reads of a call that went well.
    pub fn said(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
    /// What the model reads of a call that failed.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { text: text.into(), failed: true, ..Self::default() }
    }
}

/// A built-in tool.
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// Makes it.
    pub new: fn(&Kit) -> Arc<dyn Tool>,
}

/// What built-in tools are made with.
pub struct Kit {
    /// The environment of commands.
    pub environment: Arc<Environment>,
}

/// The built-in tools, in catalog order.
pub const TOOLS: &[Row] = &[
    Row { name: "read", new: |_| Arc::new(read::Read::new()) },
    Row { name: "glob", new: |_| Arc::new(glob::Glob::default()) },
    Row { name: "grep", new: |_| Arc::new(grep::Grep::default()) },
    Row { name: "todowrite", new: |_| Arc::new(todo::TodoWrite::new()) },
    Row { name: "todoread", new: |_| Arc::new(todo::TodoRead::new()) },
    Row { name: "question", new: |_| Arc::new(question::Question::new()) },
    Row { name: "edit", new: |_| Arc::new(edit::Edit::new()) },
    Row { name: "write", new: |_| Arc::new(write::Write::new()) },
    Row { name: "bash", new: |kit| Arc::new(bash::Bash::new(Arc::clone(&kit.environment))) },
];

/// The most characters of one call's text that a model is given.
pub const MAX_OUTPUT_CHARS: usize = 100_000;

/// A built-in tool's spec.
fn spec(name: &str, description: &str, schema: Value) -> ToolSpec {
    ToolSpec { name: name.into(), description: description.into(), schema: Arc::new(schema) }
}

/// A checked argument that is a string; empty when it is not there.
fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub mod arguments;
pub mod bash;
pub mod edit;
mod file;
pub mod glob;
pub mod grep;
pub mod question;
pub mod read;
pub mod schema;
mod search;
pub mod seen;
pub mod todo;
pub mod write;
