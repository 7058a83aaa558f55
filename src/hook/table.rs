//! The one table of moments: every hook, raw hook and event, declared once.
//!
//! Dispatch, the manifest check, what is shown of a plugin, type definitions and the reference page read it.
//! What the columns say is enforced by each moment's `accept` and by the dispatcher.

use crate::model::judgement::names;

/// One moment.
#[derive(Debug)]
pub struct Row {
    /// The name that handlers are registered under.
    pub name: &'static str,
    /// The list, which decides what its handlers may do.
    pub list: List,
    /// What it is about.
    pub scope: Scope,
    /// How its handlers run.
    pub run: Run,
    /// What a failing handler means.
    pub failure: Failure,
    /// Whether a handler sees the turn's cancel, or only its own deadline.
    pub stops: Stops,
    /// The names of a handler's arguments (an event's `ctx` comes before them).
    pub arguments: &'static [&'static str],
    /// The shape of the first argument, or of all of them.
    pub given: &'static str,
    /// What of a reply counts.
    pub takes: Takes,
    /// What a handler may do.
    pub may: &'static str,
    /// What it may not; empty where the list's general rules say it all.
    pub may_not: &'static str,
}

impl Row {
    /// The row of that list and name.
    pub fn find(list: List, name: &str) -> Option<&'static Self> {
        EVENTS.iter().find(|row| row.list == list && row.name == name)
    }
    /// Whether a plugin that registers for it is announced by a note: raw hooks, and the events that replace what
    /// the model sees or says or what is written.
    pub fn announced(&self) -> bool {
        self.list == List::RawHook || ANNOUNCED.contains(&self.name)
    }
    /// Whether its handlers can block what is about to happen.
    pub fn guards(&self) -> bool {
        self.failure == Failure::Aborts
    }
}

/// Events that do what raw hooks do.
const ANNOUNCED: &[&str] =
    &["PostContextAssembly", "PreLLMCall", "PostLLMResponse", "PostRuntime", "PreStateCommit"];

/// The three lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum List {
    /// Cannot weaken the host.
    Hook,
    /// Privileged, announced.
    RawHook,
    /// Lifecycle events.
    Event,
}
names!(List { Hook = "hook", RawHook = "raw_hook", Event = "event" });

/// What a moment is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Scope {
    Session,
    Turn,
    Runtime,
}
names!(Scope { Session = "session", Turn = "turn", Runtime = "runtime" });

/// How the handlers of a moment run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Run {
    /// One after another; each sees what the one before it changed.
    Sequential,
    /// At once; replies mean nothing.
    Parallel,
}
names!(Run { Sequential = "sequential", Parallel = "parallel" });

/// What a throw, a timeout or a malformed reply means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The handler is skipped, with a note (hooks) or a record in the trace (events).
    Skips,
    /// What was about to happen does not happen.
    Aborts,
}
names!(Failure { Skips = "skip", Aborts = "abort" });

/// What of a handler's reply counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: it reads.
    Nothing,
    /// Text, as the whole reply of a hook.
    Text,
    /// A list of items, as the whole reply of a hook or as its `items`.
    Items,
    /// These fields, of the object that a hook returns or of an event's `replace`.
    Fields(&'static [&'static str]),
}

/// What ends a handler early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stops {
    /// The turn's cancel, or its deadline.
    Cancel,
    /// Its deadline only: it tells of something that is over, or belongs to no turn.
    Deadline,
}
names!(Stops { Cancel = "cancel", Deadline = "deadline" });

const HOOK: Row = Row {
    name: "",
    list: List::Hook,
    scope: Scope::Turn,
    run: Run::Sequential,
    failure: Failure::Skips,
    stops: Stops::Cancel,
    arguments: &[],
    given: "",
    takes: Takes::Nothing,
    may: "",
    may_not: "",
};
const RAW: Row = Row { list: List::RawHook, ..HOOK };
const EVENT: Row = Row { list: List::Event, arguments: &["payload"], ..HOOK };
const GUARD: Row = Row { failure: Failure::Aborts, ..EVENT };
const WATCH: Row = Row { run: Run::Parallel, may: "watch", ..EVENT };

/// The shape of a request, in hooks and raw hooks.
const REQUEST: &str = "{ purpose, runtime, items: [item…], accepts_images }";
/// The shape of a turn.
const TURN: &str = "{ number, text, mode, session, stop_reason? }";

/// Every moment: hooks, raw hooks, events, each list in the order in which they come about.
pub static EVENTS: &[Row] = &[
    Row {
        name: "session_started",
        scope: Scope::Session,
        stops: Stops::Deadline,
        arguments: &["session"],
        given: "{ workspace, id, approval, locale }",
        may: "read the workspace root, the session's id and the approval mode",
        may_not: "ask the operator; write configuration",
        ..HOOK
    },
    Row {
        name: "session_ended",
        scope: Scope::Session,
        stops: Stops::Deadline,
        arguments: &["session"],
        given: "{ workspace, id, approval, locale }",
        may: "read the workspace and session being left",
        may_not: "ask the operator; write configuration",
        ..HOOK
    },
    Row {
        name: "user_message",
        arguments: &["message"],
        given: "{ text, mode, session, attachments: [{ media_type, name }] }",
        takes: Takes::Text,
        may: "replace the operator's message before it is stored",
        may_not: "leave it blank (a blank reply is ignored); run for a side question",
        ..HOOK
    },
    Row {
        name: "turn_started",
        arguments: &["turn"],
        given: TURN,
        may: "read the stored text and the mode",
        may_not: "change the transcript",
        ..HOOK
    },
    Row {
        name: "turn_finished",
        stops: Stops::Deadline,
        arguments: &["turn"],
        given: TURN,
        may: "read the stored text, the mode and why the turn stopped",
        may_not: "change the transcript",
        ..HOOK
    },
    Row {
        name: "prompt",
        scope: Scope::Runtime,
        arguments: &["prompt"],
        given: "{ mode, workspace, session, instructions }",
        takes: Takes::Text,
        may: "append text to the instruction block",
        may_not: "replace the Work, Plan or Review prompt",
        ..HOOK
    },
    Row {
        name: "transform_model",
        scope: Scope::Runtime,
        arguments: &["request"],
        given: REQUEST,
        takes: Takes::Items,
        may: "change the text of user, assistant and tool-result items for one outbound call; drop image references an item has",
        may_not: "reorder, add or drop items; change id, kind, tool_call, call_id, name, failed, reasoning or a system item; add an image; touch the archive",
        ..HOOK
    },
    Row {
        name: "model_response",
        scope: Scope::Runtime,
        arguments: &["response"],
        given: "{ purpose, finish_reason, items: [item…], usage: { input, output, cached, reasoning } }",
        may: "read a finished work, plan, side or compaction call",
        may_not: "change anything",
        ..HOOK
    },
    Row {
        name: "tool_call",
        scope: Scope::Runtime,
        arguments: &["c"],
        given: "{ id, name, arguments }",
        takes: Takes::Fields(&["name", "arguments"]),
        may: "replace the name or the arguments of a call; the name must be in the current catalog",
        may_not: "change the id; skip the call; skip approval",
        ..HOOK
    },
    Row {
        name: "tool_result",
        scope: Scope::Runtime,
        arguments: &["c", "result"],
        given: "{ id, name, arguments }, { text, images?: [{ id, media_type }], failed }",
        takes: Takes::Fields(&["text", "images"]),
        may: "replace the text and, on a turn that takes images, the images (png, jpeg, gif, webp; `{ media_type, data }` is a new one)",
        may_not: "change whether the call failed; mark an approval as passed",
        ..HOOK
    },
    Row {
        name: "approval",
        scope: Scope::Runtime,
        arguments: &["c", "facts"],
        given: "{ id, name, arguments }, { risk, authority, summary, approval, require_prompt?, reason? }",
        takes: Takes::Fields(&["risk", "require_prompt", "reason"]),
        may: "raise the risk; require another prompt",
        may_not: "lower the risk; pass by itself",
        ..HOOK
    },
    Row {
        name: "compaction",
        arguments: &["compaction"],
        given: "{ phase, text }",
        takes: Takes::Text,
        may: "append facts to the summary prompt (`phase` is `prompt`) or to the summary (`summary`)",
        may_not: "drop history; replace the compactor",
        ..HOOK
    },
    Row {
        name: "rebuild_model",
        scope: Scope::Runtime,
        arguments: &["request"],
        given: REQUEST,
        takes: Takes::Items,
        may: "drop, reorder, add or rewrite items of any kind for one outbound call; split a call from its result",
        may_not: "repeat an id; return empty reasoning; name an image the session does not hold; add an image where the request takes none; touch the archive",
        ..RAW
    },
    Row {
        name: "rewrite_prompt",
        scope: Scope::Runtime,
        arguments: &["prompt", "composed"],
        given: "{ mode, workspace, session, instructions }, text",
        takes: Takes::Text,
        may: "replace the composed system text of work, plan, review or compaction with any string, the empty one too",
        may_not: "write prompt files",
        ..RAW
    },
    Row {
        name: "rewrite_compaction",
        arguments: &["phase", "text"],
        given: "`prompt` or `summary`, text",
        takes: Takes::Text,
        may: "replace the compaction prompt or the stored summary with any string, the empty one too",
        may_not: "choose what is folded; replace the compactor",
        ..RAW
    },
    Row {
        name: "rewrite_approval",
        scope: Scope::Runtime,
        arguments: &["c", "facts", "require_prompt"],
        given: "{ id, name, arguments }, { risk, authority, summary, approval }, true or false",
        takes: Takes::Fields(&["risk", "authority", "summary", "require_prompt"]),
        may: "set any risk, authority, summary and prompt requirement after the ordinary approval hooks",
        may_not: "skip the policy, which then uses that classification",
        ..RAW
    },
    Row {
        name: "SessionStart",
        scope: Scope::Session,
        stops: Stops::Deadline,
        given: "{ session }",
        may: "watch: a new session was stored; once per session",
        ..WATCH
    },
    Row {
        name: "TurnStart",
        given: "{ operator_message, actions: [{ kind, text?, source }], active_runtimes: [id…] }",
        may: "abort the turn before any runtime; the reason reaches the caller",
        ..GUARD
    },
    Row { name: "PreCompaction", given: "{ message_count }", may: "abort this turn's compaction", ..GUARD },
    Row { name: "PostCompaction", given: "{ compacted, summary_id? }", ..WATCH },
    Row {
        name: "PreSchedule",
        given: "{ triggered: [manifest…] }",
        takes: Takes::Fields(&["triggered"]),
        may: "drop or reorder the runtimes chosen for this turn, by name; `[]` runs none",
        may_not: "add a runtime or change a manifest",
        ..EVENT
    },
    Row {
        name: "PreRuntime",
        scope: Scope::Runtime,
        given: "{ manifest, input }",
        may: "abort the runtime, which is recorded as skipped",
        ..GUARD
    },
    Row {
        name: "PostContextAssembly",
        scope: Scope::Runtime,
        given: "{ system_prompt, messages: [item…], prompt_template?, prompt_segments: [{ plugin_id, id }] }",
        takes: Takes::Fields(&["system_prompt", "messages"]),
        may: "rewrite the system prompt and the history",
        may_not: "what `rebuild_model` may not; take away the host's own frame, which is put before the replacement again",
        ..EVENT
    },
    Row {
        name: "PreStep",
        scope: Scope::Runtime,
        given: "{ step, steps_remaining, max_steps, tool_names: [name…], tool_choice, stop? }",
        takes: Takes::Fields(&["tools", "tool_choice", "steps_remaining", "stop"]),
        may: "narrow this step's tools, set the tool choice, lower the remaining steps, end the loop (`stop` is `{ reason, message? }` with `tool-finished` or `cancelled`)",
        may_not: "offer a tool the step does not have; raise the remaining steps; keep a narrowed tool from being run",
        ..EVENT
    },
    Row {
        name: "PreLLMCall",
        scope: Scope::Runtime,
        given: "{ messages: [item…], model, tools: [{ name, description, schema }], stream, prompt_segments: [{ plugin_id, id }] }",
        takes: Takes::Fields(&["messages", "model", "tools", "stream"]),
        may: "rewrite one call's messages, model and tools; turn streaming off",
        may_not: "what `rebuild_model` may not; give tools to a step that must not have any; touch the archive",
        ..EVENT
    },
    Row {
        name: "PostLLMResponse",
        scope: Scope::Runtime,
        given: "{ response: { purpose, finish_reason, items: [item…], usage }, messages: [item…], correction? }",
        takes: Takes::Fields(&["response", "correction"]),
        may: "replace the answer, or send it back with a correction",
        may_not: "change the purpose or the usage",
        ..EVENT
    },
    Row {
        name: "PostRuntime",
        scope: Scope::Runtime,
        given: "{ result: { plugin_id, runtime_id, run_id, turn_id, status, output, canonical_value?, pending_proposals, effects, completion, error?, usage }, resumed? }",
        takes: Takes::Fields(&["result"]),
        may: "rewrite the runtime's result",
        may_not: "change its ids; add proposals, effects or a completion (a changed status drops them all)",
        ..EVENT
    },
    Row {
        name: "PreToolUse",
        scope: Scope::Runtime,
        given: "{ tool_call: { id, name, arguments } }, arguments as JSON text",
        takes: Takes::Fields(&["tool_call"]),
        may: "abort a call (the model gets a `refused` error), or rewrite its name and arguments",
        may_not: "change the id",
        ..GUARD
    },
    Row {
        name: "PostToolUse",
        scope: Scope::Runtime,
        given: "{ tool_call, result: { result, parsed_result?, error?: { code, message, hint? }, success, refused, approval }, terminate? }",
        takes: Takes::Fields(&["result", "terminate"]),
        may: "rewrite what the model reads of a result (`result`, `parsed_result`), or end the tool loop",
        may_not: "change the error, success, refusal or approval",
        ..EVENT
    },
    Row {
        name: "PreStateCommit",
        scope: Scope::Runtime,
        given: "{ proposal: { id, kind, source: { plugin, runtime }, payload } }",
        takes: Takes::Fields(&["proposal"]),
        may: "refuse a write, or replace its payload (`proposal.payload`)",
        may_not: "change the id, the kind, the source or a path",
        ..GUARD
    },
    Row {
        name: "PostStateCommit",
        scope: Scope::Runtime,
        stops: Stops::Deadline,
        given: "{ proposal, result }",
        ..WATCH
    },
    Row {
        name: "TurnStop",
        stops: Stops::Deadline,
        given: "{ runtime_results: [result…], duration_ms }",
        may: "watch: all runtimes ran; staged writes are not committed yet",
        ..WATCH
    },
    Row {
        name: "SessionEnd",
        scope: Scope::Session,
        stops: Stops::Deadline,
        given: "{ session, reason }, reason is `ended` or `deleted`",
        ..WATCH
    },
];
