//! Moments of a durable write.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::hook::moment::{Accepted, Given, Moment, Offer, Rejection, place};
use crate::hook::reply::{object, take, take_text, unlisted};
use crate::model::port::{Committed, Expect, FileWrite, Payload, Source};

/// `PreStateCommit`: a write is about to be made.
#[derive(Clone, Debug)]
pub struct PreStateCommit {
    /// The write.
    pub proposal: Proposed,
}

/// A proposal, with what the gate knows of it.
#[derive(Clone, Debug)]
pub struct Proposed {
    /// Its id, unique in its session.
    pub id: Arc<str>,
    /// Who asks.
    pub source: Source,
    /// What is to be written.
    pub payload: Payload,
    /// A file's permission bits; none where the host's default holds, and for what is no file.
    pub mode: Option<u32>,
}

/// `PostStateCommit`: a write was made, or a change was seen that went round the gate.
#[derive(Clone, Debug)]
pub struct PostStateCommit {
    /// The write.
    pub proposal: Subject,
    /// What is there now.
    pub result: Committed,
}

/// What `PostStateCommit` is about.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A proposal that was committed.
    Proposed(Proposed),
    /// A change in the workspace that a command or an external tool made.
    Observed {
        /// Its id, unique in its session.
        id: Arc<str>,
        /// The call it was seen after.
        source: Source,
        /// The file, relative to the workspace root.
        path: String,
    },
}

impl Proposed {
    /// The kind of write: `file`, `todos` or `state`.
    pub fn kind(&self) -> &'static str {
        match self.payload {
            Payload::File(_) => "file",
            Payload::Todos(_) => "todos",
            Payload::State { .. } => "state",
        }
    }
    fn value(&self) -> Value {
        json!({
            "id": self.id,
            "kind": self.kind(),
            "source": source_value(&self.source),
            "payload": self.payload_value(),
        })
    }
    fn payload_value(&self) -> Value {
        match &self.payload {
            Payload::File(file) => file_value(file, self.mode),
            Payload::Todos(todos) => json!({ "todos": todos }),
            Payload::State { key, value } => json!({ "key": key, "value": value }),
        }
    }
}

fn source_value(source: &Source) -> Value {
    json!({ "plugin": source.plugin, "runtime": source.runtime })
}

/// Text contents as `contents`, other bytes as `contents_base64`. `previous_hash` is absent where anything may be
/// there now and null where nothing may; `mode` is octal text.
fn file_value(file: &FileWrite, mode: Option<u32>) -> Value {
    let mut value = Map::new();
    value.insert("path".into(), file.path.as_str().into());
    match std::str::from_utf8(&file.contents) {
        Ok(text) => value.insert("contents".into(), text.into()),
        Err(_) => value.insert("contents_base64".into(), STANDARD.encode(&file.contents).into()),
    };
    match &file.expect {
        Expect::Any => {}
        Expect::Absent => {
            value.insert("previous_hash".into(), Value::Null);
        }
        Expect::Hash(hash) => {
            value.insert("previous_hash".into(), hash.as_str().into());
        }
    }
    if let Some(mode) = mode {
        value.insert("mode".into(), format!("{mode:o}").into());
    }
    Value::Object(value)
}

impl Moment for PreStateCommit {
    const PLACE: usize = place("PreStateCommit");
    fn offer(&self) -> Offer {
        Offer::of([json!({ "proposal": self.proposal.value() })])
    }
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        let mut fields = given.object()?;
        let mut ignored = Vec::new();
        let mut now = self.clone();
        let before = self.proposal.value();
        if let Some(proposal) = take(&mut fields, "proposal") {
            let mut proposal = object(proposal, "its `proposal` is")?;
            if let Some(payload) = take(&mut proposal, "payload") {
                ignored.extend(now.proposal.replace(payload, &before)?);
            }
            ignored.extend(frozen(&proposal, &before, "proposal"));
        }
        ignored.extend(unlisted(&fields));
        let changed = now.proposal.value() != before;
        Ok(Accepted { changed: changed.then_some(now), ignored })
    }
}

/// A line for each field that differs from what it was and may not.
fn frozen(new: &Map<String, Value>, before: &Value, at: &str) -> Vec<String> {
    new.iter()
        .filter(|(field, value)| before.get(*field) != Some(*value))
        .map(|(field, _)| format!("`{at}.{field}` cannot be replaced"))
        .collect()
}

impl Proposed {
    /// Takes new contents, a new list or a new value; what names the place of the write stays.
    fn replace(&mut self, payload: Value, before: &Value) -> Result<Vec<String>, Rejection> {
        let unreadable = |what: &str| Rejection::shape(format!("its `proposal.payload` {what}"));
        if let (Payload::Todos(todos), Value::Array(_)) = (&mut self.payload, &payload) {
            *todos = serde_json::from_value(payload)
                .map_err(|error| unreadable(&format!("is not a todo list: {error}")))?;
            return Ok(Vec::new());
        }
        let mut new = object(payload, "its `proposal.payload` is")?;
        match &mut self.payload {
            Payload::File(file) => {
                let text = take_text(&mut new, "contents")?;
                let encoded = take_text(&mut new, "contents_base64")?;
                match (text, encoded) {
                    (Some(_), Some(_)) => {
                        return Err(unreadable("holds both `contents` and `contents_base64`"));
                    }
                    (Some(text), None) => file.contents = text.into(),
                    (None, Some(encoded)) => {
                        file.contents = STANDARD
                            .decode(encoded)
                            .map_err(|error| unreadable(&format!("holds broken base64: {error}")))?
                            .into();
                    }
                    (None, None) => {}
                }
            }
            Payload::Todos(todos) => {
                if let Some(list) = take(&mut new, "todos") {
                    *todos = serde_json::from_value(list)
                        .map_err(|error| unreadable(&format!("is not a todo list: {error}")))?;
                }
            }
            Payload::State { value, .. } => {
                if let Some(new) = new.remove("value") {
                    *value = new;
                }
            }
        }
        Ok(frozen(&new, before.get("payload").unwrap_or(&Value::Null), "proposal.payload"))
    }
}

impl Moment for PostStateCommit {
    const PLACE: usize = place("PostStateCommit");
    fn offer(&self) -> Offer {
        let proposal = match &self.proposal {
            Subject::Proposed(proposed) => proposed.value(),
            Subject::Observed { id, source, path } => json!({
                "id": id,
                "kind": "observed",
                "source": source_value(source),
                "payload": { "path": path },
            }),
        };
        Offer::of([json!({ "proposal": proposal, "result": result_value(&self.result) })])
    }
}

fn result_value(result: &Committed) -> Value {
    let mut value = Map::new();
    if let Some(path) = &result.path {
        value.insert("path".into(), path.to_string_lossy().into());
    }
    if let Some(hash) = &result.hash {
        value.insert("hash".into(), hash.as_str().into());
    }
    value.insert("diff".into(), result.diff.as_str().into());
    value.insert("added".into(), result.added.into());
    value.insert("removed".into(), result.removed.into());
    value.insert("created".into(), result.created.into());
    Value::Object(value)
}
