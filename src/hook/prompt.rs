//! Moments of text on its way to the model: the operator's message, the instructions, the composed context.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::hook::moment::{Accepted, Given, Moment, Offer, Rejection, place};
use crate::hook::rebuild::{Held, rebuild};
use crate::hook::reply::{take_text, unlisted};
use crate::model::item::{Items, MediaType};
use crate::model::request::Mode;

/// What the prompt hooks are told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PromptFacts {
    /// Which prompt is composed.
    pub mode: PromptMode,
    /// The workspace root.
    pub workspace: Arc<str>,
    /// The session's id.
    pub session: Arc<str>,
    /// The instruction block as it stands.
    pub instructions: Arc<str>,
}

/// The prompts a handler may add to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum PromptMode {
    Work,
    Plan,
    Review,
    Compaction,
}

impl From<Mode> for PromptMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Work => Self::Work,
            Mode::Plan => Self::Plan,
        }
    }
}

/// `prompt`: handlers append to `instructions`.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt(pub PromptFacts);

/// `rewrite_prompt`: handlers replace `composed`.
#[derive(Clone, Debug, PartialEq)]
pub struct RewritePrompt {
    /// What `prompt` left.
    pub facts: PromptFacts,
    /// The whole system text.
    pub composed: Arc<str>,
}

/// `user_message`: the operator's words before they are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct UserMessage {
    /// The words.
    pub text: Arc<str>,
    /// The turn's mode.
    pub mode: Mode,
    /// The session's id.
    pub session: Arc<str>,
    /// What came with them.
    pub attachments: Vec<Attachment>,
}

/// An attachment as `user_message` shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attachment {
    /// What it is.
    pub media_type: MediaType,
    /// The name it was given.
    pub name: String,
}

/// `PostContextAssembly`: a runtime's context, before its first model call.
#[derive(Clone)]
pub struct PostContextAssembly {
    /// The system text, the host's frame first.
    pub system_prompt: Arc<str>,
    /// The beginning of the system text that no handler takes away; empty for none.
    pub frame: Arc<str>,
    /// The history, without the system item.
    pub messages: Items,
    /// The runtime's prompt before placeholders were filled in; none where it has none.
    pub prompt_template: Option<Arc<str>>,
    /// Whose `prompt` hook appended.
    pub prompt_segments: Arc<[Segment]>,
    /// The images that replacements may name.
    pub held: Held,
}

/// A plugin's part of the instructions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// The plugin's directory.
    pub plugin_id: Arc<str>,
    /// The part (`prompt`).
    pub id: Arc<str>,
}

impl Moment for Prompt {
    const PLACE: usize = place("prompt");
    fn offer(&self) -> Offer {
        Offer::of([json!(self.0)])
    }
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        Ok(appended(&self.0.instructions, &given.text()?).map_or_else(Accepted::same, |instructions| {
            Accepted::changed(Self(PromptFacts { instructions, ..self.0.clone() }))
        }))
    }
}

/// A text with another after it, a blank line between; none when there is nothing to add.
pub(crate) fn appended(text: &str, more: &str) -> Option<Arc<str>> {
    match (text.trim().is_empty(), more.trim().is_empty()) {
        (_, true) => None,
        (true, false) => Some(more.into()),
        (false, false) => Some(format!("{}\n\n{more}", text.trim_end_matches('\n')).into()),
    }
}

impl Moment for RewritePrompt {
    const PLACE: usize = place("rewrite_prompt");
    fn offer(&self) -> Offer {
        Offer::of([json!(self.facts), (*self.composed).into()])
    }
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        let composed: Arc<str> = given.text()?.into();
        Ok(Accepted::if_other(self, Self { composed, facts: self.facts.clone() }))
    }
}

impl Moment for UserMessage {
    const PLACE: usize = place("user_message");
    fn offer(&self) -> Offer {
        let Self { text, mode, session, attachments } = self;
        Offer::of([json!({ "text": text, "mode": mode, "session": session, "attachments": attachments })])
    }
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        let text = given.text()?;
        if text.trim().is_empty() {
            return Ok(Accepted { changed: None, ignored: vec!["a blank message".into()] });
        }
        Ok(Accepted::if_other(self, Self { text: text.into(), ..self.clone() }))
    }
}

impl Moment for PostContextAssembly {
    const PLACE: usize = place("PostContextAssembly");
    fn offer(&self) -> Offer {
        let mut payload = Map::new();
        payload.insert("system_prompt".into(), (*self.system_prompt).into());
        if let Some(template) = &self.prompt_template {
            payload.insert("prompt_template".into(), (**template).into());
        }
        payload.insert("prompt_segments".into(), json!(self.prompt_segments));
        Offer::of([Value::Object(payload)]).with_list("messages", &self.messages)
    }
    fn accept(&self, mut given: Given) -> Result<Accepted<Self>, Rejection> {
        let edits = given.edits.take();
        let mut fields = given.fields()?;
        let mut now = self.clone();
        let mut changed = false;
        if let Some(text) = take_text(&mut fields, "system_prompt")? {
            let framed = self.framed(text);
            changed |= framed != now.system_prompt;
            now.system_prompt = framed;
        }
        if let Some(items) = rebuild(&self.messages, fields.remove("messages"), edits, &self.held)? {
            changed = true;
            now.messages = items;
        }
        Ok(Accepted { changed: changed.then_some(now), ignored: unlisted(&fields) })
    }
}

impl PostContextAssembly {
    fn framed(&self, text: String) -> Arc<str> {
        if text.starts_with(&*self.frame) {
            return text.into();
        }
        format!("{}\n\n{text}", self.frame.trim_end_matches('\n')).into()
    }
}
