//! Items as Chat Completions messages.
//!
//! One message comes from a run of neighbouring items: everything the model said between two results is one assistant
//! message; user items that follow each other are one user message, and so are the images of a batch of results, which
//! `tool` messages cannot carry, together with what the user said next.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

use crate::model::item::{Body, Image, Item, ToolResult};
use crate::model::request::Request;
use crate::provider::endpoint::Endpoint;
use crate::provider::openai::TOKEN;
use crate::provider::openai::encode::put;

/// Whether an item goes on with what its predecessor began, so that both must be written together.
pub(super) fn continues(before: &Item, after: &Item) -> bool {
    let said = |item: &Item| {
        matches!(item.body, Body::Assistant { .. } | Body::Reasoning { .. } | Body::ToolCall(_))
    };
    match (&before.body, &after.body) {
        (Body::User { .. } | Body::ToolResult(_), Body::User { .. }) => true,
        (Body::ToolResult(_), Body::ToolResult(_)) => true,
        _ => said(before) && said(after),
    }
}

/// Writes messages, with commas between them.
pub(super) struct Writer<'a> {
    request: &'a Request,
    endpoint: &'a Endpoint,
    out: Vec<u8>,
    begun: bool,
}

/// One part of a user message.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum UserPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: Url },
}

#[derive(Serialize)]
struct Url {
    url: String,
}

impl<'a> Writer<'a> {
    /// A writer; `begun` when a message stands before its first.
    pub(super) fn new(request: &'a Request, endpoint: &'a Endpoint, begun: bool) -> Self {
        Self { request, endpoint, out: Vec::new(), begun }
    }

    /// Bytes written since the last take.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    /// Takes what was written.
    pub(super) fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.out).into()
    }

    /// Writes one run of items.
    pub(super) fn message(&mut self, run: &[std::sync::Arc<Item>]) {
        let results = run.iter().take_while(|item| matches!(item.body, Body::ToolResult(_))).count();
        let (results, rest) = run.split_at(results);
        let mut pictures = Vec::new();
        for item in results {
            if let Body::ToolResult(result) = &item.body {
                self.result(result);
                if !result.images.is_empty() {
                    pictures.push(result);
                }
            }
        }
        let users: Vec<&Item> =
            rest.iter().map(|item| &**item).filter(|item| matches!(item.body, Body::User { .. })).collect();
        if !pictures.is_empty() || !users.is_empty() {
            self.user(&pictures, &users);
        } else if !rest.is_empty() {
            self.assistant(rest);
        }
    }

    fn result(&mut self, result: &ToolResult) {
        self.put(&json!({"role": "tool", "tool_call_id": result.wire_id(), "content": result.text}));
    }

    fn user(&mut self, pictures: &[&ToolResult], users: &[&Item]) {
        let leads: Vec<String> =
            pictures.iter().map(|result| format!("Images of the result of {}:", result.name)).collect();
        let mut sources: Vec<(&str, &[Image])> = Vec::new();
        for (lead, result) in leads.iter().zip(pictures) {
            sources.push((lead, &result.images));
        }
        for item in users {
            sources.push((item.text().map_or("", |text| text), item.images()));
        }
        let mut parts = Vec::new();
        for (text, images) in sources {
            if !text.is_empty() {
                parts.push(UserPart::Text { text });
            }
            parts.extend(images.iter().map(|image| self.image(image)));
        }
        let only_text: Option<Vec<&str>> = parts
            .iter()
            .map(|part| match part {
                UserPart::Text { text } => Some(*text),
                UserPart::ImageUrl { .. } => None,
            })
            .collect();
        // Many servers take plain strings only.
        match only_text {
            Some(texts) if texts.is_empty() => {}
            Some(texts) => self.put(&json!({"role": "user", "content": texts.join("\n\n")})),
            None => {
                #[derive(Serialize)]
                struct Message<'a> {
                    role: &'static str,
                    content: &'a [UserPart<'a>],
                }
                self.put(&Message { role: "user", content: &parts });
            }
        }
    }

    fn image(&self, image: &Image) -> UserPart<'static> {
        if !self.request.accepts_images {
            return UserPart::Text { text: "(an image was left out: this model takes none)" };
        }
        match self.request.images.load(&image.id) {
            Some(bytes) => {
                let mut url = format!("data:{};base64,", image.media_type.as_str());
                STANDARD.encode_string(&bytes, &mut url);
                UserPart::ImageUrl { image_url: Url { url } }
            }
            None => UserPart::Text { text: "(an image was left out: its bytes are no longer stored)" },
        }
    }

    fn assistant(&mut self, run: &[std::sync::Arc<Item>]) {
        let mut message = Assistant { role: "assistant", ..Assistant::default() };
        let (mut text, mut reasoning) = (String::new(), String::new());
        let mut details = Vec::new();
        let mut text_origin = None;
        for item in run {
            let state = item.state_for(TOKEN, &self.endpoint.model.name);
            match &item.body {
                Body::Assistant { text: more } => {
                    // Pieces of one response belong together as they are; two responses are two paragraphs.
                    let origin = item.origin.as_ref().map(|origin| &origin.response);
                    if !text.is_empty() && (origin.is_none() || origin != text_origin) {
                        text.push_str("\n\n");
                    }
                    text.push_str(more);
                    text_origin = origin;
                }
                Body::Reasoning { text: more } => {
                    // What another model signed is not readable reasoning of this one.
                    if item.state.is_none() || state.is_some() {
                        reasoning.push_str(more);
                    }
                    details.extend(
                        state
                            .and_then(|state| state.get("reasoning_details")?.as_array())
                            .into_iter()
                            .flatten(),
                    );
                    message.extra_content =
                        state.and_then(|state| state.get("extra_content")).or(message.extra_content);
                }
                Body::ToolCall(call) => message.tool_calls.push(Call {
                    id: call.wire_id(),
                    kind: "function",
                    function: Function { name: &call.name, arguments: &call.arguments },
                    extra_content: state.and_then(|state| state.get("extra_content")),
                }),
                _ => {}
            }
        }
        if text.is_empty() && message.tool_calls.is_empty() {
            return;
        }
        message.content = (!text.is_empty()).then_some(&text);
        message.reasoning_content =
            (self.endpoint.replay_reasoning && !reasoning.is_empty()).then_some(&reasoning);
        message.reasoning_details = (!details.is_empty()).then_some(details);
        self.put(&message);
    }

    fn put(&mut self, message: &impl Serialize) {
        if std::mem::replace(&mut self.begun, true) {
            self.out.push(b',');
        }
        put(&mut self.out, message);
    }
}

#[derive(Default, Serialize)]
struct Assistant<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<Vec<&'a Value>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}
