//! The end of an answer: the response out of what was decoded, with reasons and forms normalised.

use serde_json::{Map, Value};

use crate::model::response::{Content, Finish, FinishReason, Part, Response};
use crate::provider::openai::calls::{Slot, is_object};
use crate::provider::openai::decode::{Building, Decoder};
use crate::provider::openai::think::Kind;

impl Decoder {
    /// The response as far as it was decoded.
    pub(super) fn response(&mut self) -> Response {
        // What looked like the start of a tag was text after all; its delta is not worth a late one.
        let mut think = std::mem::take(&mut self.think);
        think.end(&mut |kind, piece| match kind {
            Kind::Text => self.push_text(piece, &mut |_| {}),
            Kind::Reasoning => self.push_reasoning(piece, &mut |_| {}),
        });
        let mut parts = Vec::new();
        for building in &self.parts {
            match building {
                Building::Text(text) => parts.push(plain(Content::Text(text.clone()))),
                Building::Reasoning(text) => parts.push(plain(Content::Reasoning(text.clone()))),
                Building::Call(place) => {
                    if let Some(slot) = self.calls.get(*place) {
                        self.finished(slot, self.calls.is_last(*place), &mut parts);
                    }
                }
            }
        }
        if let Some(state) = self.state() {
            match parts.iter_mut().find(|part| matches!(part.content, Content::Reasoning(_))) {
                Some(part) => part.state = Some(state),
                None => {
                    parts.insert(0, Part { content: Content::Reasoning(String::new()), state: Some(state) });
                }
            }
        }
        Response { parts, finish: self.reason(), usage: self.usage }
    }

    fn state(&mut self) -> Option<Value> {
        let mut state = Map::new();
        if let Some(details) = self.details.take() {
            state.insert("reasoning_details".into(), details);
        }
        if let Some(extra) = self.extra.take() {
            state.insert("extra_content".into(), extra);
        }
        (!state.is_empty()).then_some(Value::Object(state))
    }

    /// A slot's call, or its calls where several were glued together. Only the last call can have been cut off while it
    /// had no arguments yet.
    fn finished(&self, slot: &Slot, last: bool, parts: &mut Vec<Part>) {
        let whole = self.finish.is_some() && self.normal() != FinishReason::Length;
        let objects = slot.arguments.objects();
        for (place, text) in objects.into_iter().enumerate() {
            let empty = text.trim().is_empty();
            let nothing = empty || matches!(text.trim(), "null" | "\"null\"" | "\"\"");
            let complete = whole || if empty { !last } else { nothing || is_object(text) };
            let first = place == 0;
            parts.push(Part {
                content: Content::Call {
                    id: if first { slot.id.clone() } else { String::new() },
                    name: slot.name.clone(),
                    arguments: if nothing { "{}".into() } else { text.to_owned() },
                    complete,
                },
                state: slot
                    .extra
                    .clone()
                    .filter(|_| first)
                    .map(|extra| Value::Object(Map::from_iter([("extra_content".to_owned(), extra)]))),
            });
        }
    }

    fn reason(&self) -> Finish {
        let reason = if self.refused { FinishReason::Filtered } else { self.normal() };
        Finish { reason, raw: self.finish.clone() }
    }

    fn normal(&self) -> FinishReason {
        match self.finish.as_deref() {
            None | Some("stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" | "STOP") => {
                FinishReason::Stop
            }
            Some("tool_calls" | "function_call" | "tool_use") => FinishReason::ToolCalls,
            Some("length" | "max_tokens" | "max_output_tokens" | "model_length" | "MAX_TOKENS") => {
                FinishReason::Length
            }
            Some("content_filter" | "sensitive" | "safety" | "SAFETY" | "refusal") => FinishReason::Filtered,
            Some(_) => FinishReason::Other,
        }
    }
}

fn plain(content: Content) -> Part {
    Part { content, state: None }
}

/// Finish reasons that say that the provider failed, not that the model stopped.
pub(super) fn is_failure(reason: &str) -> bool {
    matches!(reason, "error" | "network_error" | "server_error" | "insufficient_system_resource" | "abort")
}
