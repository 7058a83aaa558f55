//! Moments of a turn and of the runtimes it runs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::hook::moment::{Accepted, Given, Moment, Offer, Rejection, place};
use crate::hook::reply::{kind, object, take, take_list, unlisted};
use crate::model::judgement::names;
use crate::model::request::Mode;
use crate::model::response::Usage;

/// What turn hooks are told.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The turn's number in its session, from 1.
    pub number: u64,
    /// The operator's words as they were stored.
    pub text: Arc<str>,
    /// The mode.
    pub mode: Mode,
    /// The session's id.
    pub session: Arc<str>,
}

/// `turn_started`: the operator's words are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnStarted(pub Turn);

/// `turn_finished`: the turn is over.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnFinished {
    /// The turn.
    pub turn: Turn,
    /// Why it stopped.
    pub stop_reason: StopReason,
}

/// Why a turn stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model was done.
    Completed,
    /// A model call or the runtime failed.
    Failed,
    /// The operator cancelled it.
    Cancelled,
    /// A budget was used up.
    Budget,
    /// The conversation no longer fits the context window.
    Overflow,
    /// The output limit cut the answer off.
    Truncated,
    /// A content filter stopped the model.
    Filtered,
    /// A guard blocked it.
    Aborted,
}
names!(StopReason {
    Completed = "completed",
    Failed = "failed",
    Cancelled = "cancelled",
    Budget = "budget",
    Overflow = "overflow",
    Truncated = "truncated",
    Filtered = "filtered",
    Aborted = "aborted",
});

/// What a turn was given.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Input {
    /// The operator's words; empty for a turn nobody asked for.
    pub operator_message: Arc<str>,
    /// What the operator did.
    pub actions: Vec<Action>,
}

/// One act of the operator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Action {
    /// What kind of act (`message`).
    pub kind: Arc<str>,
    /// Its words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Arc<str>>,
    /// Where it came from (`run`, `repl`).
    pub source: Arc<str>,
}

/// `TurnStart`: no runtime has been chosen yet.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnStart {
    /// What the turn was given.
    pub input: Input,
    /// The ids of the runtimes that this session has.
    pub active_runtimes: Vec<Arc<str>>,
}

/// `PreSchedule`: these runtimes will run, in this order.
#[derive(Clone, Debug, PartialEq)]
pub struct PreSchedule {
    /// The runtimes.
    pub triggered: Vec<Manifest>,
}

/// A runtime as handlers see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Its id (`crystal/main`).
    pub name: Arc<str>,
    /// Everything else that is said of it.
    pub facts: Arc<Map<String, Value>>,
}

impl Manifest {
    fn value(&self) -> Value {
        let mut value = Map::new();
        value.insert("name".into(), (*self.name).into());
        value.extend(self.facts.iter().map(|(key, fact)| (key.clone(), fact.clone())));
        Value::Object(value)
    }
}

/// `PreRuntime`: a runtime is about to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct PreRuntime {
    /// The runtime.
    pub manifest: Manifest,
    /// What the turn was given.
    pub input: Input,
}

/// `PostRuntime`: a runtime has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct PostRuntime {
    /// How it ended.
    pub result: RuntimeResult,
    /// Whether it continued an interrupted turn.
    pub resumed: bool,
    /// What handlers rewrote so far; the host checks a rewritten result against the runtime's output schema.
    pub rewritten: Rewritten,
}

/// Which parts of a result handlers rewrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// The status: nothing of the runtime is committed then.
    pub status: bool,
    /// The output.
    pub output: bool,
    /// The canonical value.
    pub canonical_value: bool,
}

/// How a runtime ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuntimeResult {
    /// Its plugin's directory.
    pub plugin_id: Arc<str>,
    /// Its id.
    pub runtime_id: Arc<str>,
    /// This run of it.
    pub run_id: Arc<str>,
    /// The turn.
    pub turn_id: Arc<str>,
    /// How it ended.
    pub status: RuntimeStatus,
    /// What it says.
    pub output: Value,
    /// The value that its output stands for; none where it has none of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical_value: Option<Value>,
    /// Writes it staged.
    pub pending_proposals: Vec<Value>,
    /// What it did besides.
    pub effects: Vec<Value>,
    /// What it completed; null for nothing.
    pub completion: Value,
    /// Why it failed or was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// What its model calls cost.
    pub usage: Usage,
}

/// How a runtime can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum RuntimeStatus {
    Completed,
    Failed,
    Skipped,
}
names!(RuntimeStatus { Completed = "completed", Failed = "failed", Skipped = "skipped" });

/// `TurnStop`: every runtime ran; staged writes are not committed yet.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnStop {
    /// How they ended.
    pub runtime_results: Vec<RuntimeResult>,
    /// How long the turn took, in milliseconds.
    pub duration_ms: u64,
}

fn turn_value(turn: &Turn, stop_reason: Option<StopReason>) -> Value {
    let Turn { number, text, mode, session } = turn;
    let mut value = json!({ "number": number, "text": text, "mode": mode, "session": session });
    if let Some(reason) = stop_reason {
        value["stop_reason"] = reason.as_str().into();
    }
    value
}

impl Moment for TurnStarted {
    const PLACE: usize = place("turn_started");
    fn offer(&self) -> Offer {
        Offer::of([turn_value(&self.0, None)])
    }
}

impl Moment for TurnFinished {
    const PLACE: usize = place("turn_finished");
    fn offer(&self) -> Offer {
        Offer::of([turn_value(&self.turn, Some(self.stop_reason))])
    }
}

impl Moment for TurnStart {
    const PLACE: usize = place("TurnStart");
    fn offer(&self) -> Offer {
        let mut payload = json!(self.input);
        payload["active_runtimes"] = json!(self.active_runtimes);
        Offer::of([payload])
    }
}

impl Moment for PreRuntime {
    const PLACE: usize = place("PreRuntime");
    fn offer(&self) -> Offer {
        Offer::of([json!({ "manifest": self.manifest.value(), "input": self.input })])
    }
}

impl Moment for TurnStop {
    const PLACE: usize = place("TurnStop");
    fn offer(&self) -> Offer {
        Offer::of([json!({ "runtime_results": self.runtime_results, "duration_ms": self.duration_ms })])
    }
}

impl Moment for PreSchedule {
    const PLACE: usize = place("PreSchedule");
    fn offer(&self) -> Offer {
        let triggered: Vec<_> = self.triggered.iter().map(Manifest::value).collect();
        Offer::of([json!({ "triggered": triggered })])
    }
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        let mut fields = given.object()?;
        let mut ignored = Vec::new();
        let mut now = self.clone();
        if let Some(wanted) = take_list(&mut fields, "triggered")? {
            let mut triggered: Vec<Manifest> = Vec::new();
            for entry in &wanted {
                let name = entry.as_str().or_else(|| entry.get("name").and_then(Value::as_str)).ok_or_else(
                    || Rejection::shape(format!("its `triggered` holds {} without a name", kind(entry))),
                )?;
                match self.triggered.iter().find(|manifest| &*manifest.name == name) {
                    Some(_) if triggered.iter().any(|manifest| &*manifest.name == name) => {
                        ignored.push(format!("runtime `{name}` a second time"));
                    }
                    Some(manifest) => triggered.push(manifest.clone()),
                    None => ignored.push(format!("runtime `{name}`, which was not chosen for this turn")),
                }
            }
            now.triggered = triggered;
        }
        ignored.extend(unlisted(&fields));
        Ok(Accepted { changed: (now != *self).then_some(now), ignored })
    }
}

impl Moment for PostRuntime {
    const PLACE: usize = place("PostRuntime");
    fn offer(&self) -> Offer {
        let mut payload = json!({ "result": self.result });
        if self.resumed {
            payload["resumed"] = true.into();
        }
        Offer::of([payload])
    }
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        let mut fields = given.object()?;
        let mut ignored = Vec::new();
        let mut now = self.clone();
        if let Some(result) = take(&mut fields, "result") {
            let frozen = now.rewrite(object(result, "its `result` is")?)?;
            ignored.extend(frozen);
        }
        ignored.extend(unlisted(&fields));
        Ok(Accepted { changed: (now != *self).then_some(now), ignored })
    }
}

/// The parts of a runtime's result that stay the host's.
const OWNED: [&str; 7] =
    ["plugin_id", "runtime_id", "run_id", "turn_id", "pending_proposals", "effects", "completion"];

impl PostRuntime {
    /// Takes what counts of a replacement and returns a line for each owned part that it would have changed.
    /// A field that the replacement leaves out stays.
    fn rewrite(&mut self, mut new: Map<String, Value>) -> Result<Vec<String>, Rejection> {
        let before = self.result.clone();
        let result = &mut self.result;
        let owned = json!(before);
        let ignored = OWNED
            .iter()
            .filter(|field| new.get(**field).is_some_and(|value| owned.get(**field) != Some(value)))
            .map(|field| format!("`result.{field}` is the runtime's own"))
            .collect();
        if let Some(status) = take(&mut new, "status") {
            result.status = serde_json::from_value(status)
                .map_err(|_| Rejection::shape("its `result.status` is not completed, failed or skipped"))?;
        }
        if let Some(output) = new.remove("output") {
            result.output = output;
        }
        if let Some(error) = new.remove("error") {
            result.error = Some(error).filter(|error| !error.is_null());
        }
        if let Some(usage) = take(&mut new, "usage") {
            result.usage = serde_json::from_value(usage)
                .map_err(|error| Rejection::shape(format!("its `result.usage` cannot be read: {error}")))?;
        }
        if let Some(value) = new.remove("canonical_value") {
            result.canonical_value = Some(value).filter(|value| !value.is_null());
        }
        self.settle(&before);
        Ok(ignored)
    }

    /// Drops what no longer goes with what was rewritten.
    fn settle(&mut self, before: &RuntimeResult) {
        let result = &mut self.result;
        let output = result.output != before.output;
        let value = result.canonical_value != before.canonical_value;
        if output && !value {
            result.canonical_value = None;
        }
        let status = result.status != before.status;
        if status {
            result.pending_proposals.clear();
            result.effects.clear();
            result.completion = Value::Null;
        }
        if status && result.status == RuntimeStatus::Completed && result.error == before.error {
            result.error = None;
        }
        self.rewritten.status |= status;
        self.rewritten.output |= output;
        self.rewritten.canonical_value |= value;
    }
}
