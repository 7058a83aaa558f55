//! The only ways up: what a tool, a plugin or a protocol asks of the floors above it.
//!
//! A port is a cloneable handle. Whoever holds one may use it while its own caller waits for it: the commit gate
//! and the question queue take requests at any time and from any depth.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

/// A boxed future, for traits that are used as objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Where a proposal or call comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The plugin directory; `crystal` for the host.
    pub plugin: Arc<str>,
    /// The runtime (`crystal/main`).
    pub runtime: Arc<str>,
}

/// A durable write that someone wants made.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Who asks.
    pub source: Source,
    /// What is to be written.
    pub payload: Payload,
}

/// What a proposal writes.
#[derive(Clone, Debug)]
pub enum Payload {
    /// A workspace file.
    File(FileWrite),
    /// The session's todo list, whole.
    Todos(Vec<Todo>),
    /// A value in a plugin's own store.
    State {
        /// The key.
        key: String,
        /// The value.
        value: Value,
    },
}

/// A whole-file write.
#[derive(Clone, Debug)]
pub struct FileWrite {
    /// The path as it was asked for: absolute, or relative to the workspace root.
    pub path: String,
    /// Everything the file is to hold.
    pub contents: Bytes,
    /// What must be there now.
    pub expect: Expect,
    /// How far outside the workspace the operator's approval reaches.
    pub reach: Reach,
}

/// What must be at a path for a write to go ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Anything, or nothing.
    Any,
    /// Nothing.
    Absent,
    /// A file whose contents have this SHA-256 (lower-case hexadecimal).
    Hash(String),
}

/// How far a call may reach once it was judged and approved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Inside the workspace only, resolved beneath its root.
    #[default]
    Workspace,
    /// The operator approved this call's outside paths. Credential paths and Crystal's home stay refused.
    Approved,
}

/// A write that was made.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The real path of a file.
    pub path: Option<std::path::PathBuf>,
    /// SHA-256 of what is there now.
    pub hash: Option<String>,
    /// Unified diff for the operator; empty for a state write.
    pub diff: String,
    /// Lines added and removed.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
    /// Whether the file is new.
    pub created: bool,
}

/// Why a write was not made, in a sentence for the model.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// The commit gate.
pub trait Commit: Send + Sync {
    /// Passes a proposal through its guards and writes it.
    fn commit(&self, proposal: Proposal) -> BoxFuture<'_, Result<Committed, Refusal>>;
    /// The todo list as it stands.
    fn todos(&self) -> Vec<Todo>;
}

/// One todo.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Todo {
    /// What is to be done.
    pub content: String,
    /// `pending`, `in_progress`, `completed` or `cancelled`.
    pub status: TodoStatus,
}

/// How far a todo is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

/// Something only the operator can answer. One queue; one card at a time.
#[derive(Clone, Debug)]
pub enum Ask {
    /// May this call run?
    Approval {
        /// The tool.
        tool: Arc<str>,
        /// How the call was judged.
        classification: crate::model::judgement::Classification,
        /// Why it is asked.
        reason: String,
        /// What "always" would remember, in words; none when it may not be granted for longer than once.
        remember: Option<String>,
        /// The diff of an edit.
        diff: Option<String>,
    },
    /// Questions of the model.
    Questions(Vec<Question>),
}

/// One question.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Question {
    /// The question.
    pub question: String,
    /// Choices; empty for free text only.
    #[serde(default)]
    pub options: Vec<String>,
    /// Whether several choices may be taken.
    #[serde(default)]
    pub multiple: bool,
}

/// What the operator said.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Yes, for that long.
    Allow(crate::model::judgement::Grant),
    /// No, with words for the model.
    Deny(Option<String>),
    /// The answers, one a question.
    Answers(Vec<String>),
    /// Nobody answered: there is no operator, or the card was closed.
    Dismissed,
}

/// The question queue.
pub trait Operator: Send + Sync {
    /// Puts a card in the queue and waits for its answer.
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer>;
}

/// Image bytes by reference.
pub trait ImageSource: Send + Sync {
    /// The bytes of an image of this session; none when they are not (or no longer) there.
    fn load(&self, id: &str) -> Option<Bytes>;
}

/// Stores image bytes, by content.
pub trait ImageStore: ImageSource {
    /// Keeps the bytes and returns the reference, or says why it cannot.
    fn store(&self, bytes: &[u8]) -> Result<crate::model::item::Image, String>;
}
