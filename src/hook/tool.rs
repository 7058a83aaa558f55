//! Moments of a tool call.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::hook::item::{arguments_text, arguments_value};
use crate::hook::moment::{Accepted, Given, Moment, Offer, Rejection, place};
use crate::hook::rebuild::Held;
use crate::hook::reply::{object, take, take_bool, take_list, take_text, unlisted, wrong};
use crate::model::item::{self, Image, MediaType};
use crate::model::request::ToolSpec;

/// `tool_call`: the model's call, before anything is checked.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The call.
    pub call: item::ToolCall,
    /// What may be called.
    pub catalog: Arc<[ToolSpec]>,
}

/// `tool_result`: what a call gave.
#[derive(Clone, Debug)]
pub struct ToolResult {
    /// The call.
    pub call: item::ToolCall,
    /// What the model reads.
    pub text: Arc<str>,
    /// The images it sees.
    pub images: Vec<ResultImage>,
    /// Whether the call failed.
    pub failed: bool,
    /// The session's images, and whether this turn's model takes any.
    pub held: Held,
}

/// An image of a result.
#[derive(Clone, PartialEq)]
pub enum ResultImage {
    /// One that the session holds.
    Held(Image),
    /// Bytes that a handler gave, for the host to store.
    New {
        /// What they are.
        media_type: MediaType,
        /// The bytes.
        bytes: Bytes,
    },
}

impl fmt::Debug for ResultImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held(image) => image.fmt(f),
            Self::New { media_type, bytes } => write!(f, "{} of {} bytes", media_type.as_str(), bytes.len()),
        }
    }
}

/// `PreToolUse`: a call is about to be judged and run.
#[derive(Clone, Debug, PartialEq)]
pub struct PreToolUse {
    /// The call.
    pub call: item::ToolCall,
}

/// `PostToolUse`: a call ran.
#[derive(Clone, Debug, PartialEq)]
pub struct PostToolUse {
    /// The call.
    pub call: item::ToolCall,
    /// What it gave.
    pub result: UsedResult,
    /// Whether the tool loop ends after this step.
    pub terminate: bool,
}

/// The result of a call that ran. Handlers rewrite the first two fields.
#[derive(Clone, Debug, PartialEq)]
pub struct UsedResult {
    /// What the model reads.
    pub result: Arc<str>,
    /// The value that the text stands for; none for a tool that gives text only.
    pub parsed_result: Option<Value>,
    /// Why it failed.
    pub error: Option<ToolError>,
    /// Whether it succeeded.
    pub success: bool,
    /// Whether it was refused before it ran.
    pub refused: bool,
    /// How it was approved (`granted`, `prompt`, …).
    pub approval: Arc<str>,
}

/// A failed call's error, for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ToolError {
    pub code: Arc<str>,
    pub message: String,
    pub hint: Option<String>,
}

/// A call as hooks see it: `arguments` is the decoded object.
pub(crate) fn call_value(call: &item::ToolCall) -> Value {
    json!({ "id": call.id, "name": call.name, "arguments": arguments_value(&call.arguments) })
}

/// A call as events see it: `arguments` is JSON text.
fn call_text(call: &item::ToolCall) -> Value {
    json!({ "id": call.id, "name": call.name, "arguments": call.arguments })
}

/// The call with what a reply replaces of name and arguments.
fn rewritten(call: &item::ToolCall, reply: &mut Map<String, Value>) -> Result<item::ToolCall, Rejection> {
    let mut now = call.clone();
    if let Some(name) = take_text(reply, "name")? {
        if name.is_empty() {
            return Err(Rejection::shape("its `name` is empty"));
        }
        now.name = name.into();
    }
    if let Some(arguments) = take(reply, "arguments") {
        let text = arguments_text(arguments, &call.arguments)?;
        if text != call.arguments {
            now.arguments = text;
            now.malformed = None;
        }
    }
    Ok(now)
}

impl Moment for ToolCall {
    const PLACE: usize = place("tool_call");
    fn offer(&self) -> Offer {
        Offer::of([call_value(&self.call)])
    }
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        let mut reply = given.object()?;
        if take_text(&mut reply, "id")?.is_some_and(|id| id != self.call.id.as_str()) {
            return Err(Rejection::rule("it changes the call's id"));
        }
        let call = rewritten(&self.call, &mut reply)?;
        if call.name != self.call.name && !self.catalog.iter().any(|tool| tool.name == call.name) {
            return Err(Rejection::rule(format!(
                "it names the tool `{}`, which is not in the current catalog",
                call.name
            )));
        }
        Ok(Accepted::if_other(self, Self { call, catalog: self.catalog.clone() }))
    }
}

impl Moment for PreToolUse {
    const PLACE: usize = place("PreToolUse");
    fn offer(&self) -> Offer {
        Offer::of([json!({ "tool_call": call_text(&self.call) })])
    }
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        let mut fields = given.object()?;
        let mut now = self.clone();
        let mut ignored = Vec::new();
        if let Some(call) = take(&mut fields, "tool_call") {
            let mut call = object(call, "its `tool_call` is")?;
            if take(&mut call, "id").is_some_and(|id| id != self.call.id.as_str()) {
                ignored.push("`tool_call.id` cannot be replaced".into());
            }
            now.call = rewritten(&self.call, &mut call)?;
        }
        ignored.extend(unlisted(&fields));
        Ok(Accepted { changed: (now != *self).then_some(now), ignored })
    }
}

impl Moment for ToolResult {
    const PLACE: usize = place("tool_result");
    fn offer(&self) -> Offer {
        let mut result = json!({ "text": self.text, "failed": self.failed });
        if !self.images.is_empty() {
            result["images"] = self.images.iter().map(image_value).collect();
        }
        Offer::of([call_value(&self.call), result])
    }
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        let mut reply = given.object()?;
        let mut ignored = Vec::new();
        let mut now = self.clone();
        if take_bool(&mut reply, "failed")?.is_some_and(|failed| failed != self.failed) {
            return Err(Rejection::rule("it changes whether the call failed"));
        }
        if let Some(text) = take_text(&mut reply, "text")? {
            now.text = text.into();
        }
        match take_list(&mut reply, "images")? {
            None => {}
            Some(images) if self.held.accepts_images => {
                now.images = images.into_iter().map(|image| self.image(image)).collect::<Result<_, _>>()?;
            }
            Some(images) if images.is_empty() => now.images.clear(),
            Some(_) => ignored.push("images, which this turn's model does not take".into()),
        }
        ignored.extend(unlisted(&reply));
        let changed = now.text != self.text || now.images != self.images;
        Ok(Accepted { changed: changed.then_some(now), ignored })
    }
}

fn image_value(image: &ResultImage) -> Value {
    match image {
        ResultImage::Held(image) => json!(image),
        ResultImage::New { media_type, bytes } => {
            json!({ "media_type": media_type, "data": STANDARD.encode(bytes) })
        }
    }
}

impl ToolResult {
    fn image(&self, value: Value) -> Result<ResultImage, Rejection> {
        let mut fields = object(value, "an entry of its `images` is")?;
        let media_type = take_text(&mut fields, "media_type")?.unwrap_or_default();
        let media_type = serde_json::from_value(media_type.clone().into()).map_err(|_| {
            Rejection::rule(format!(
                "it gives an image of type `{media_type}`; images are image/png, image/jpeg, image/gif or image/webp"
            ))
        })?;
        if let Some(data) = take_text(&mut fields, "data")? {
            let bytes = STANDARD
                .decode(data.trim())
                .map_err(|error| Rejection::shape(format!("an image's `data` is not base64: {error}")))?;
            if MediaType::sniff(&bytes) != Some(media_type) {
                return Err(Rejection::rule(format!(
                    "it gives an image whose bytes are not {}",
                    media_type.as_str()
                )));
            }
            return Ok(ResultImage::New { media_type, bytes: bytes.into() });
        }
        let Some(id) = take_text(&mut fields, "id")? else {
            return Err(Rejection::shape("an entry of its `images` has neither `id` nor `data`"));
        };
        let image = Image { id: id.into(), media_type };
        let known = self.images.iter().any(|held| matches!(held, ResultImage::Held(held) if *held == image));
        if !known {
            self.held.check(&image)?;
        }
        Ok(ResultImage::Held(image))
    }
}

impl Moment for PostToolUse {
    const PLACE: usize = place("PostToolUse");
    fn offer(&self) -> Offer {
        let mut payload = json!({ "tool_call": call_text(&self.call), "result": self.result.value() });
        if self.terminate {
            payload["terminate"] = true.into();
        }
        Offer::of([payload])
    }
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        let mut fields = given.object()?;
        let mut ignored = Vec::new();
        let mut now = self.clone();
        if let Some(result) = take(&mut fields, "result") {
            let mut new = object(result, "its `result` is")?;
            if let Some(text) = take(&mut new, "result") {
                let Value::String(text) = text else { return Err(wrong("result.result", &text, "text")) };
                now.result.result = text.into();
            }
            if let Some(parsed) = new.remove("parsed_result") {
                now.result.parsed_result = Some(parsed).filter(|parsed| !parsed.is_null());
            }
            let before = self.result.value();
            let frozen = new.iter().filter(|(field, value)| before.get(*field) != Some(*value));
            ignored.extend(frozen.map(|(field, _)| format!("`result.{field}` cannot be replaced")));
        }
        now.terminate |= take_bool(&mut fields, "terminate")?.unwrap_or(false);
        ignored.extend(unlisted(&fields));
        Ok(Accepted { changed: (now != *self).then_some(now), ignored })
    }
}

impl UsedResult {
    fn value(&self) -> Value {
        let mut value = json!({
            "result": self.result,
            "success": self.success,
            "refused": self.refused,
            "approval": self.approval,
        });
        if let Some(parsed) = &self.parsed_result {
            value["parsed_result"] = parsed.clone();
        }
        if let Some(ToolError { code, message, hint }) = &self.error {
            let mut error = json!({ "code": code, "message": message });
            if let Some(hint) = hint {
                error["hint"] = hint.as_str().into();
            }
            value["error"] = error;
        }
        value
    }
}
