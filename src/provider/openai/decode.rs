//! A Chat Completions answer, streamed or whole, out of its events.
//!
//! Errors are looked for before choices; only the first choice counts; tool calls are what their fragments say, whatever
//! the finish reason is. Deltas of one network piece are handed out together.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::model::response::{Delta, Response, Usage};
use crate::provider::http::said::{Said, excerpt};
use crate::provider::openai::calls::Calls;
use crate::provider::openai::chunk::{self, Call, Choice, Chunk, Message, Piece};
use crate::provider::openai::details::Details;
use crate::provider::openai::finish::is_failure;
use crate::provider::openai::think::{Kind, Think};
use crate::provider::openai::usage;
use crate::provider::stream::{Decode, Fault, Sink, Step};

/// The decoder of one answer.
#[derive(Debug, Default)]
pub struct Decoder {
    pub(super) parts: Vec<Building>,
    pub(super) calls: Calls,
    pub(super) think: Think,
    pub(super) details: Details,
    /// What the provider wants back with the message.
    pub(super) extra: Option<Value>,
    pub(super) usage: Usage,
    pub(super) finish: Option<Arc<str>>,
    pub(super) refused: bool,
    /// The field that readable reasoning comes in, once one was used.
    source: Option<Source>,
    /// Bytes of content and reasoning so far, to tell what a repeated whole message adds.
    taken: usize,
    taken_reasoning: usize,
    choices_seen: bool,
    /// The end mark, or the end of a document, has come.
    ended: bool,
    pending: Option<Delta>,
    /// The start of the last event that was no chunk.
    stray: Option<String>,
}

#[derive(Debug)]
pub(super) enum Building {
    Text(String),
    Reasoning(String),
    Call(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Content,
    Plain,
    Details,
}

impl Decode for Decoder {
    fn event(&mut self, name: &str, data: &str, sink: &mut Sink<'_>) -> Result<Step, Fault> {
        let data = data.trim();
        if data == "[DONE]" {
            self.ended = true;
            return Ok(Step::Done);
        }
        if name == "error" {
            return Err(Said::read(data).into());
        }
        match serde_json::from_str::<Chunk<'_>>(data) {
            Ok(chunk) => self.chunk(&chunk, data, sink),
            Err(error) => self.odd(data, &error, sink),
        }
    }

    fn flush(&mut self, sink: &mut Sink<'_>) {
        if let Some(delta) = self.pending.take() {
            sink(delta);
        }
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    fn document(&mut self) {
        self.ended = true;
    }

    fn end(&mut self) -> Result<Response, Fault> {
        if self.finish.is_none() {
            let empty = self.parts.is_empty() && self.details.is_empty();
            if !self.choices_seen && empty {
                return Err(Fault::Foreign(self.stray.take().unwrap_or_default()));
            }
            if !self.ended || empty {
                return Err(Fault::Cut);
            }
        }
        if let Some(reason) = self.finish.as_deref().filter(|reason| is_failure(reason)) {
            return Err(Said::words(format!("the model stopped with finish reason {reason:?}")).into());
        }
        Ok(self.response())
    }

    fn partial(&mut self) -> Option<Box<Response>> {
        let response = self.response();
        let empty = response.parts.is_empty() && response.usage == Usage::default();
        (!empty).then(|| Box::new(response))
    }
}

impl Decoder {
    fn chunk(&mut self, chunk: &Chunk<'_>, data: &str, sink: &mut Sink<'_>) -> Result<Step, Fault> {
        let counts = chunk.usage.or_else(|| chunk.x_groq.as_ref()?.usage);
        if let Some(counts) = counts {
            self.count(counts);
        }
        if let Some(error) = chunk.error.filter(|raw| !matches!(raw.get(), "null" | "{}" | "\"\"" | "false"))
        {
            // The whole chunk is read, since code and type may stand beside the error.
            let said = serde_json::from_str(data).ok().and_then(|value| Said::of(&value));
            return Err(said.unwrap_or_else(|| Said::words(excerpt(error.get()))).into());
        }
        let Some(choices) = &chunk.choices else {
            if chunk.object.is_some_and(|object| object.get() == "\"error\"") {
                return Err(Said::read(data).into());
            }
            self.stray.get_or_insert_with(|| excerpt(data));
            return Ok(Step::Nothing);
        };
        let first = choices.iter().find(|choice| is_first(choice));
        let Some(choice) = first else { return Ok(Step::Nothing) };
        self.choices_seen = true;
        self.choice(choice, sink)?;
        Ok(Step::News)
    }

    fn choice(&mut self, choice: &Choice<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        match (&choice.delta, &choice.message) {
            (Some(delta), None) => self.message(delta, sink)?,
            (Some(delta), Some(_)) if !delta.is_empty() => self.message(delta, sink)?,
            (_, Some(message)) => self.whole_message(message, sink)?,
            (None, None) => {}
        }
        let reason = choice.finish_reason.filter(|raw| raw.get() != "null");
        if let Some(reason) = reason {
            let word: Arc<str> = chunk::text(reason).map_or_else(|| reason.get().into(), |text| text.into());
            if !word.is_empty() {
                self.finish = Some(word);
            }
        }
        Ok(())
    }

    fn message(&mut self, message: &Message<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        self.reasoning(message, 0, sink);
        if let Some(content) = message.content {
            match chunk::text(content) {
                Some(text) => self.content(&text, sink),
                None if content.get() == "null" => {}
                None => self.parts(content, sink),
            }
        }
        if let Some(refusal) = chunk::some_text(message.refusal) {
            self.refused = true;
            self.push_text(&refusal, sink);
        }
        if let Some(raw) = message.tool_calls {
            let fragments: Vec<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
            for (position, raw) in fragments.iter().enumerate() {
                if let Ok(call) = serde_json::from_str::<Call<'_>>(raw.get()) {
                    self.call(&call, position, fragments.len(), sink)?;
                }
            }
        }
        if let Some(function) = &message.function_call {
            let function = chunk::Function { name: function.name, arguments: function.arguments };
            self.call(&Call { function: Some(function), ..Call::default() }, 0, 1, sink)?;
        }
        // Only a signature is worth sending back; the marks beside it say what this chunk was.
        if let Some(extra) = message.extra_content.filter(|raw| raw.get().contains("thought_signature")) {
            self.extra = serde_json::from_str(extra.get()).ok().or(self.extra.take());
        }
        Ok(())
    }

    /// A message that holds everything so far: what is new in it is taken.
    fn whole_message(&mut self, message: &Message<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let (taken, taken_reasoning) = (self.taken, self.taken_reasoning);
        self.reasoning(message, taken_reasoning, sink);
        let text = message.content.and_then(chunk::text);
        if let Some(new) = text.as_deref().and_then(|text| text.get(taken..)) {
            self.content(new, sink);
        }
        let seen = taken > 0 || taken_reasoning > 0;
        self.message(
            &Message {
                content: message.content.filter(|_| text.is_none() && !seen),
                refusal: message.refusal.filter(|_| !self.refused),
                tool_calls: message.tool_calls,
                function_call: message
                    .function_call
                    .as_ref()
                    .map(|function| chunk::Function { name: function.name, arguments: function.arguments }),
                extra_content: message.extra_content,
                ..Message::default()
            },
            sink,
        )
    }

    /// Readable reasoning: the same text may come in several fields, so the first field that brings any is kept to.
    /// The first `skip` bytes are known already.
    fn reasoning(&mut self, message: &Message<'_>, skip: usize, sink: &mut Sink<'_>) {
        let details = message.reasoning_details.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let details = details.filter(|_| skip == 0).map(|found| self.details.fold(found)).unwrap_or_default();
        let fields = [
            (Source::Content, chunk::some_text(message.reasoning_content)),
            (Source::Plain, chunk::some_text(message.reasoning)),
            (Source::Details, Some(details.into())),
        ];
        for (source, text) in fields {
            let new = text.as_deref().and_then(|text| text.get(skip..)).unwrap_or_default();
            if !new.is_empty() && *self.source.get_or_insert(source) == source {
                self.push_reasoning(new, sink);
            }
        }
    }

    fn content(&mut self, text: &str, sink: &mut Sink<'_>) {
        self.taken += text.len();
        let mut think = std::mem::take(&mut self.think);
        think.feed(text, &mut |kind, piece| match kind {
            Kind::Text => self.push_text(piece, sink),
            Kind::Reasoning => self.push_reasoning(piece, sink),
        });
        self.think = think;
    }

    fn parts(&mut self, content: &RawValue, sink: &mut Sink<'_>) {
        for piece in chunk::pieces(content) {
            match piece {
                Piece::Text(text) => self.content(&text, sink),
                Piece::Reasoning(text) => self.push_reasoning(&text, sink),
                Piece::Refusal(text) => {
                    self.refused = true;
                    self.push_text(&text, sink);
                }
            }
        }
    }

    fn call(
        &mut self,
        call: &Call<'_>,
        position: usize,
        count: usize,
        sink: &mut Sink<'_>,
    ) -> Result<(), Fault> {
        let folded = self.calls.fold(call, position, count);
        let (place, new) = folded.map_err(|_| Fault::Broken("it holds too many tool calls".into()))?;
        if new {
            self.parts.push(Building::Call(place));
            if let Some(before) = place.checked_sub(1) {
                self.announce(before, sink);
            }
        }
        if self.calls.get(place).is_some_and(|slot| !slot.arguments.text.is_empty()) {
            self.announce(place, sink);
        }
        Ok(())
    }

    /// Tells of a call once its name is whole: when its arguments begin, or another call does.
    fn announce(&mut self, place: usize, sink: &mut Sink<'_>) {
        let slot = self.calls.get_mut(place).filter(|slot| !slot.announced && !slot.name.is_empty());
        if let Some(slot) = slot {
            slot.announced = true;
            let name = slot.name.clone();
            self.flush(sink);
            sink(Delta::Call { name });
        }
    }

    pub(super) fn push_text(&mut self, text: &str, sink: &mut Sink<'_>) {
        if text.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Building::Text(have)) => have.push_str(text),
            _ => self.parts.push(Building::Text(text.to_owned())),
        }
        match &mut self.pending {
            Some(Delta::Text(have)) => have.push_str(text),
            _ => {
                self.flush(sink);
                self.pending = Some(Delta::Text(text.to_owned()));
            }
        }
    }

    pub(super) fn push_reasoning(&mut self, text: &str, sink: &mut Sink<'_>) {
        if text.is_empty() {
            return;
        }
        self.taken_reasoning += text.len();
        match self.parts.last_mut() {
            Some(Building::Reasoning(have)) => have.push_str(text),
            _ => self.parts.push(Building::Reasoning(text.to_owned())),
        }
        match &mut self.pending {
            Some(Delta::Reasoning(have)) => have.push_str(text),
            _ => {
                self.flush(sink);
                self.pending = Some(Delta::Reasoning(text.to_owned()));
            }
        }
    }

    fn count(&mut self, raw: &RawValue) {
        if let Ok(found) = serde_json::from_str(raw.get()) {
            usage::fold(&mut self.usage, &found);
        }
    }

    /// Data that is no chunk as it should be. A field of a wrong type, or one that is there twice, must not cost the rest.
    fn odd(&mut self, data: &str, error: &serde_json::Error, sink: &mut Sink<'_>) -> Result<Step, Fault> {
        let Ok(value) = serde_json::from_str::<Value>(data) else {
            self.stray.get_or_insert_with(|| excerpt(data));
            // Words that are no JSON are signs of life, or a page; a broken object is a broken answer.
            return match data.starts_with('{') {
                true if self.choices_seen => Err(Fault::Broken(format!("an event is no JSON ({error})"))),
                true => Err(Fault::Foreign(excerpt(data))),
                false => Ok(Step::Nothing),
            };
        };
        let text = match &value {
            Value::Array(list) => match list.first() {
                Some(first) if first.is_object() => first.to_string(),
                _ => String::new(),
            },
            other => other.to_string(),
        };
        match serde_json::from_str::<Chunk<'_>>(&text) {
            Ok(chunk) => self.chunk(&chunk, &text, sink),
            Err(_) => {
                if let Some(said) = value.get("error").filter(|error| !error.is_null()).and(Said::of(&value))
                {
                    return Err(said.into());
                }
                self.stray.get_or_insert_with(|| excerpt(data));
                Ok(Step::Nothing)
            }
        }
    }
}

/// Choices beyond the first are other answers to the same question. One without an index is the first.
fn is_first(choice: &Choice<'_>) -> bool {
    choice.index.and_then(chunk::index).is_none_or(|index| index == 0)
}
