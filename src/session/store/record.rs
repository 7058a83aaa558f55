//! The records of a session file: one JSON object a line, told apart by `type`, stamped in UTC.
//!
//! The first line is the header. Items are stored by value and never change; everything that would repeat (system
//! text, catalog, output schema) is stored at its first use and named by hash from then on, so a step's record has
//! a size of its own whatever the length of the conversation. Types and fields of a newer Crystal stay in the file
//! as they are: lines are never rewritten, and a fork copies them byte for byte.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::item::{CallId, Item, ItemId, ResponseId};
use crate::model::judgement::Approval;
use crate::model::port::Todo;
use crate::model::request::{Mode, Purpose, Sampling, ToolChoice, ToolSpec};
use crate::model::response::{Finish, Usage};

/// The format this build writes. A file of a higher one opens read-only.
pub const FORMAT: u32 = 1;

/// One table of record types: the name on disk, the variant, its shape. Writer and parser both come from it.
macro_rules! records {
    ($($(#[$doc:meta])* $variant:ident($shape:ty) = $name:literal,)+) => {
        /// One line of a session file.
        #[derive(Clone, Debug)]
        pub enum Record {
            $($(#[$doc])* $variant($shape),)+
            /// A type of a newer Crystal (its name): kept on disk, not understood.
            Other(String),
        }

        impl Record {
            /// The names of all known types.
            pub const TYPES: &'static [&'static str] = &[$($name),+];
            /// The name on disk.
            pub fn kind(&self) -> &str {
                match self { $(Self::$variant(_) => $name,)+ Self::Other(name) => name }
            }
            /// The record's own fields as JSON, without `type` and time.
            pub(super) fn body(&self) -> serde_json::Result<Vec<u8>> {
                match self {
                    $(Self::$variant(body) => serde_json::to_vec(body),)+
                    Self::Other(_) => Ok(b"{}".to_vec()),
                }
            }
            /// Reads the fields of a line whose `type` is already known.
            pub(super) fn from_line(kind: &str, line: &[u8]) -> serde_json::Result<Self> {
                match kind {
                    $($name => serde_json::from_slice(line).map(Self::$variant),)+
                    other => serde_json::from_slice::<serde::de::IgnoredAny>(line).map(|_| Self::Other(other.to_owned())),
                }
            }
        }
    };
}

records! {
    /// The header, once, first.
    Session(Header) = "session",
    /// An item was added to a transcript.
    Item(Entry) = "item",
    /// A turn began.
    TurnStart(TurnStart) = "turn_start",
    /// A turn ended; a turn without this record was interrupted.
    TurnEnd(TurnEnd) = "turn_end",
    /// A model call was made.
    Step(Box<Step>) = "step",
    /// The live system item was replaced.
    System(System) = "system",
    /// A catalog occurs for the first time.
    Catalog(Catalog) = "catalog",
    /// An output schema occurs for the first time.
    Schema(Schema) = "schema",
    /// The todo list, whole.
    Todos(Todos) = "todos",
    /// A line from the host to the operator.
    Note(Note) = "note",
    /// The mode changed.
    Mode(ModeSet) = "mode",
    /// Provider or model changed.
    Model(ModelSet) = "model",
    /// Older items were shortened.
    Compaction(Compaction) = "compaction",
    /// A file is about to be written (the record comes first, so that a kill leaves the way back).
    Commit(Commit) = "commit",
    /// A recorded commit did not happen.
    Void(Void) = "void",
    /// Changes of the workspace that the gate did not make.
    Observed(Observed) = "observed",
    /// A turn's writes were taken back.
    Undo(Undo) = "undo",
    /// A value of a plugin's own store; null removes it.
    State(State) = "state",
    /// A runtime's result.
    Runtime(RuntimeResult) = "runtime",
    /// The file was repaired when it was opened.
    Repair(Repair) = "repair",
    /// The session's title.
    Title(Title) = "title",
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Format version.
    pub format: u32,
    /// The session's id.
    pub id: Arc<str>,
    /// When it was created.
    pub created: Timestamp,
    /// The workspace's real path.
    pub workspace: String,
    /// The Crystal that wrote it.
    pub version: String,
    /// Provider at creation.
    pub provider: String,
    /// Model at creation.
    pub model: String,
    /// Mode at creation.
    pub mode: Mode,
    /// Where it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
}

/// What a fork comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The other session's id.
    pub session: Arc<str>,
    /// How many of its lines, header included, were taken over.
    pub record: u64,
}

/// An item of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The turn it belongs to.
    pub turn: u64,
    /// The runtime whose own transcript it is in; none for the conversation itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Arc<str>>,
    /// The item it stands behind; none for the end of the transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ItemId>,
    /// The item.
    pub item: Arc<Item>,
}

impl Entry {
    /// An item at the end of the conversation.
    pub fn new(turn: u64, item: Arc<Item>) -> Self {
        Self { turn, runtime: None, after: None, item }
    }
}

/// A turn's beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnStart {
    /// Its number, from 1.
    pub turn: u64,
    /// The number of the operator input it belongs to, from 1.
    pub logical_turn: u64,
    /// What the operator said.
    pub text: Arc<str>,
    /// Its mode.
    pub mode: Mode,
    /// Its approval mode.
    pub approval: Approval,
}

/// A turn's end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnEnd {
    /// Its number.
    pub turn: u64,
    /// Why it ended (`completed`, `failed`, …).
    pub stop_reason: String,
}

/// A model call: what it sent, by reference, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The turn.
    pub turn: u64,
    /// The call's number in its turn, from 1, side and review calls included.
    pub step: u64,
    /// The answer's id; none when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<ResponseId>,
    /// The runtime that asked.
    pub runtime: Arc<str>,
    /// Provider.
    pub provider: Arc<str>,
    /// Model.
    pub model: Arc<str>,
    /// Why the call was made.
    pub purpose: Purpose,
    /// The span of the transcript that was sent, as it stood (compactions applied); none when nothing of it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Span>,
    /// What hooks (or the host, for side calls) changed in that span, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Hash of the system text that went first; none when no system item was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Arc<str>>,
    /// Hash of the catalog; none when no tools were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog: Option<Arc<str>>,
    /// Hash of the output schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Arc<str>>,
    /// Tool choice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tool_choice: ToolChoice,
    /// Sampling and limits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sampling: Sampling,
    /// Whether the answer was streamed.
    #[serde(default)]
    pub stream: bool,
    /// Whether images could be sent.
    #[serde(default)]
    pub accepts_images: bool,
    /// Why the model stopped; none when the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
    /// Why the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Tokens.
    #[serde(default)]
    pub usage: Usage,
    /// Milliseconds from the first byte sent to the last received, retries included.
    #[serde(default)]
    pub request_ms: u64,
}

/// A span of the transcript, both ends included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The first item.
    pub from: ItemId,
    /// The last item.
    pub to: ItemId,
}

/// A change to the items of one request; the transcript is not touched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Change {
    /// An item was sent with other content.
    Replace {
        /// The item that was replaced.
        id: ItemId,
        /// What was sent in its place.
        item: Arc<Item>,
    },
    /// An item was left out.
    Remove {
        /// The item.
        id: ItemId,
    },
    /// An item was sent that the transcript does not have.
    Insert {
        /// The item it followed, as the request stood; none for the very first place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<ItemId>,
        /// The item.
        item: Arc<Item>,
    },
}

/// The live system item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// The item's id.
    pub id: ItemId,
    /// SHA-256 of the text.
    pub hash: Arc<str>,
    /// The text; none when an earlier record of this file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Arc<str>>,
}

/// A catalog of tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Catalog {
    /// SHA-256 of the tools as JSON.
    pub hash: Arc<str>,
    /// The tools, in the order of the request.
    pub tools: Arc<[ToolSpec]>,
}

/// An output schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// SHA-256 of the schema as JSON.
    pub hash: Arc<str>,
    /// The schema.
    pub schema: Arc<Value>,
}

/// The todo list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Todos {
    /// All of it.
    pub todos: Vec<Todo>,
}

/// A note.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// One English line.
    pub text: String,
}

/// A change of mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModeSet {
    /// The mode from now on.
    pub mode: Mode,
}

/// A change of model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelSet {
    /// The provider from now on.
    pub provider: String,
    /// The model from now on.
    pub model: String,
}

/// Older items shortened. Clearing old results has `replaced` alone; a summary has `span` and `summary`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    /// The turn in which it happened; 0 between turns.
    pub turn: u64,
    /// The items that the summary stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// The item that takes their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Arc<Item>>,
    /// Items that go on under their own id with shorter content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<Arc<Item>>,
}

/// A file write of the gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Commit {
    /// Its number in the session, from 1.
    pub id: u64,
    /// The turn; 0 outside turns.
    pub turn: u64,
    /// The tool call it was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// Who asked: the plugin (`crystal` for the host).
    pub plugin: Arc<str>,
    /// Who asked: the runtime.
    pub runtime: Arc<str>,
    /// The file's real path.
    pub path: String,
    /// SHA-256 of the previous contents, kept as a blob; none when there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Arc<str>>,
    /// SHA-256 of the new contents; none when the file was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Arc<str>>,
    /// Permission bits of the file that was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// How many directories above the file were missing and are made with it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub missing: u32,
    /// The turn that this write takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
}

/// A commit that was recorded and not made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Void {
    /// The commit.
    pub commit: u64,
    /// Why.
    pub reason: String,
}

/// Changes made by others (a shell command, an external tool).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// The turn.
    pub turn: u64,
    /// The tool call after which they were seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// What changed.
    pub changes: Vec<ObservedChange>,
    /// How many more there were than are listed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub more: u64,
}

/// One change made by others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedChange {
    /// The path, relative to the workspace.
    pub path: String,
    /// `created`, `changed` or `removed`.
    pub what: ObservedKind,
}

/// What happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum ObservedKind {
    Created,
    Changed,
    Removed,
}

/// What an undo did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// The turn whose writes were taken back.
    pub turn: u64,
    /// The files that are as they were before it.
    pub restored: Vec<String>,
    /// The files that were left alone, and why.
    pub left: Vec<Left>,
}

/// A file that an undo left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// The file.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// A value of a plugin's own store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The plugin.
    pub plugin: Arc<str>,
    /// The key.
    pub key: String,
    /// The value; null removes the key.
    pub value: Value,
}

/// The result of a runtime that is not the main one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuntimeResult {
    /// The turn.
    pub turn: u64,
    /// The runtime.
    pub runtime: Arc<str>,
    /// Its run.
    pub run: String,
    /// `completed`, `failed`, `skipped`, ….
    pub status: String,
    /// The result, in the runtime's own shape.
    pub result: Value,
}

/// A repair made at opening.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repair {
    /// What was found and done, one English line.
    pub what: String,
    /// The calls that got a result saying that they were interrupted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallId>,
}

/// A title.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Title {
    /// The title, one line.
    pub title: String,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
