//! Moments of one step of a runtime's tool loop, as events see it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::hook::model::Answer;
use crate::hook::moment::{Accepted, Given, Moment, Offer, Rejection, place};
use crate::hook::prompt::Segment;
use crate::hook::rebuild::{Held, check_kinds, rebuild};
use crate::hook::reply::{kind, list, object, take, take_bool, take_list, take_text, unlisted, wrong};
use crate::model::item::{Item, Items, Kind};
use crate::model::judgement::names;
use crate::model::request::{ToolChoice, ToolSpec};

/// `PreStep`: a step is about to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct PreStep {
    /// Which step, from 1.
    pub step: u64,
    /// How many are left, this one included; none for no limit. At least 1.
    pub steps_remaining: Option<u64>,
    /// How many there are in all; none for no limit.
    pub max_steps: Option<u64>,
    /// What this step offers the model; narrowing it keeps no tool from being run.
    pub tool_names: Vec<Arc<str>>,
    /// What the model must do about tools.
    pub tool_choice: ToolChoice,
    /// Whether this step answers a correction that demands a tool call, which `auto` does not lift.
    pub must_call: bool,
    /// How a handler ends the loop; none to go on.
    pub stop: Option<Stop>,
}

/// The end of a tool loop before its model call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// How it ends.
    pub reason: StepStop,
    /// In a handler's words.
    pub message: Option<String>,
}

/// How `PreStep` may end a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepStop {
    /// As if it had succeeded.
    ToolFinished,
    /// As a failure.
    Cancelled,
}
names!(StepStop { ToolFinished = "tool-finished", Cancelled = "cancelled" });

/// `PreLLMCall`: one call, complete.
#[derive(Clone)]
pub struct PreLlmCall {
    /// The items.
    pub messages: Items,
    /// The model's name.
    pub model: Arc<str>,
    /// The tools it is offered.
    pub tools: Arc<[ToolSpec]>,
    /// Every tool of the runtime, which a replacement may name without describing it.
    pub catalog: Arc<[ToolSpec]>,
    /// Whether the call must go out without tools, whatever a handler says (a call that repairs an output).
    pub tools_closed: bool,
    /// Whether it streams.
    pub stream: bool,
    /// Whose `prompt` hook appended.
    pub prompt_segments: Arc<[Segment]>,
    /// The images that replacements may name.
    pub held: Held,
}

/// `PostLLMResponse`: one answer, before its tool calls run.
#[derive(Clone)]
pub struct PostLlmResponse {
    /// The answer.
    pub response: Answer,
    /// What had been sent.
    pub messages: Items,
    /// What the model is told instead, when a handler sent the answer back; none to keep the answer.
    pub correction: Option<Arc<str>>,
    /// The images that replacements may name.
    pub held: Held,
}

fn choice_value(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Named(name) => json!({ "name": name }),
    }
}

impl Moment for PreStep {
    const PLACE: usize = place("PreStep");
    fn offer(&self) -> Offer {
        let mut payload = json!({
            "step": self.step,
            "steps_remaining": self.steps_remaining,
            "max_steps": self.max_steps,
            "tool_names": self.tool_names,
            "tool_choice": choice_value(&self.tool_choice),
        });
        if let Some(Stop { reason, message }) = &self.stop {
            payload["stop"] = json!({ "reason": reason.as_str(), "message": message });
        }
        Offer::of([payload])
    }
    /// Whatever of a replacement is no good is left out; a step never fails for it.
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        let mut fields = given.object()?;
        let mut ignored = Vec::new();
        let mut now = self.clone();
        if let Some(tools) = take(&mut fields, "tools") {
            now.narrow(tools, &mut ignored);
        }
        if let Some(choice) = take(&mut fields, "tool_choice") {
            now.choose(&choice, &mut ignored);
        }
        if let Some(steps) = take(&mut fields, "steps_remaining") {
            now.lower(&steps, &mut ignored);
        }
        if let Some(stop) = take(&mut fields, "stop") {
            match Stop::read(&stop) {
                Some(stop) => now.stop = Some(stop),
                None => ignored.push("`stop`, whose reason is neither tool-finished nor cancelled".into()),
            }
        }
        ignored.extend(unlisted(&fields));
        Ok(Accepted { changed: (now != *self).then_some(now), ignored })
    }
}

impl PreStep {
    fn narrow(&mut self, tools: Value, ignored: &mut Vec<String>) {
        let wanted = match list(tools) {
            Ok(wanted) => wanted,
            Err(other) => return ignored.push(format!("`tools`, which is {}, not a list", kind(&other))),
        };
        let mut names: Vec<&str> = Vec::new();
        for entry in &wanted {
            match entry.as_str() {
                Some(name) if self.tool_names.iter().any(|have| &**have == name) => names.push(name),
                Some(name) => ignored.push(format!("tool `{name}`, which this step does not offer")),
                None => ignored.push(format!("a tool that is {}, not a name", kind(entry))),
            }
        }
        let narrowed: Vec<_> =
            self.tool_names.iter().filter(|have| names.contains(&&***have)).cloned().collect();
        self.tool_names = narrowed;
        let gone = match &self.tool_choice {
            ToolChoice::Named(name) => !self.tool_names.contains(name),
            ToolChoice::Required => self.tool_names.is_empty(),
            ToolChoice::Auto | ToolChoice::None => false,
        };
        if gone {
            // A provider refuses a request that demands a tool it does not list.
            self.tool_choice = match self.must_call && !self.tool_names.is_empty() {
                true => ToolChoice::Required,
                false => ToolChoice::Auto,
            };
        }
    }

    fn choose(&mut self, choice: &Value, ignored: &mut Vec<String>) {
        let named = choice.get("name").and_then(Value::as_str);
        match (choice.as_str(), named) {
            (Some("auto"), _) if self.must_call => {
                ignored.push("`tool_choice` auto in a step that must call a tool".into());
            }
            (Some("auto"), _) => self.tool_choice = ToolChoice::Auto,
            (Some("required"), _) if self.tool_names.is_empty() => {
                ignored.push("`tool_choice` required in a step without tools".into());
            }
            (Some("required"), _) => self.tool_choice = ToolChoice::Required,
            (None, Some(name)) => match self.tool_names.iter().find(|have| &***have == name) {
                Some(name) => self.tool_choice = ToolChoice::Named(name.clone()),
                None => ignored.push(format!("`tool_choice` {name}, which this step does not offer")),
            },
            _ => ignored.push("`tool_choice`, which is not auto, required or a tool's name".into()),
        }
    }

    fn lower(&mut self, steps: &Value, ignored: &mut Vec<String>) {
        // A script's number may come as 3.0.
        let whole = steps.as_u64().or_else(|| {
            let number = steps.as_f64().filter(|number| number.fract() == 0.0)?;
            (1.0..=9e15).contains(&number).then_some(number as u64)
        });
        match whole {
            Some(steps) if steps >= 1 && self.steps_remaining.is_none_or(|left| steps <= left) => {
                self.steps_remaining = Some(steps);
            }
            Some(steps) if steps >= 1 => {
                ignored.push(format!("`steps_remaining` {steps}, which is more than there are"));
            }
            _ => ignored.push("`steps_remaining`, which is not a whole number from 1".into()),
        }
    }
}

impl Stop {
    fn read(value: &Value) -> Option<Self> {
        let reason = StepStop::parse(value.get("reason")?.as_str()?)?;
        Some(Self { reason, message: value.get("message").and_then(Value::as_str).map(str::to_owned) })
    }
}

impl Moment for PreLlmCall {
    const PLACE: usize = place("PreLLMCall");
    fn offer(&self) -> Offer {
        let tools: Vec<_> = self.tools.iter().map(tool_value).collect();
        let payload = json!({
            "model": self.model,
            "tools": tools,
            "stream": self.stream,
            "prompt_segments": self.prompt_segments,
        });
        Offer::of([payload]).with_list("messages", &self.messages)
    }
    fn accept(&self, mut given: Given) -> Result<Accepted<Self>, Rejection> {
        let edits = given.edits.take();
        let mut fields = given.fields()?;
        let mut ignored = Vec::new();
        let mut now = self.clone();
        let items = rebuild(&self.messages, fields.remove("messages"), edits, &self.held)?;
        let mut changed = items.is_some();
        now.messages = items.unwrap_or(now.messages);
        if let Some(model) = take_text(&mut fields, "model")? {
            if model.trim().is_empty() {
                return Err(Rejection::shape("its `model` is empty"));
            }
            now.model = model.into();
        }
        if let Some(tools) = take_list(&mut fields, "tools")? {
            let tools = self.specs(tools)?;
            match self.tools_closed && !tools.is_empty() {
                true => ignored.push("`tools` of a call that must go out without any".into()),
                false => now.tools = tools,
            }
        }
        match take_bool(&mut fields, "stream")? {
            Some(true) if !self.stream => ignored.push("`stream`, which can only be turned off".into()),
            Some(stream) => now.stream = stream,
            None => {}
        }
        changed |= now.model != self.model || now.tools != self.tools || now.stream != self.stream;
        ignored.extend(unlisted(&fields));
        Ok(Accepted { changed: changed.then_some(now), ignored })
    }
}

fn tool_value(tool: &ToolSpec) -> Value {
    json!({ "name": tool.name, "description": tool.description, "schema": tool.schema })
}

impl PreLlmCall {
    /// The tools of a replacement: by name alone for one the host knows, described for any other.
    fn specs(&self, entries: Vec<Value>) -> Result<Arc<[ToolSpec]>, Rejection> {
        let mut specs: Vec<ToolSpec> = Vec::with_capacity(entries.len());
        for entry in entries {
            let mut fields = match entry {
                Value::String(name) => Map::from_iter([("name".to_owned(), Value::String(name))]),
                other => object(other, "an entry of its `tools` is")?,
            };
            let name = take_text(&mut fields, "name")?.unwrap_or_default();
            if specs.iter().any(|spec| *spec.name == *name) {
                return Err(Rejection::rule(format!("it lists the tool `{name}` twice")));
            }
            let known = self.tools.iter().chain(self.catalog.iter()).find(|spec| *spec.name == *name);
            let described = take_text(&mut fields, "description")?.map(Arc::from);
            let schema = match take(&mut fields, "schema") {
                None => None,
                Some(schema) if schema.is_object() => Some(Arc::new(schema)),
                Some(other) => return Err(wrong("tools.schema", &other, "an object")),
            };
            specs.push(match known {
                Some(spec) => ToolSpec {
                    name: spec.name.clone(),
                    description: described.unwrap_or_else(|| spec.description.clone()),
                    schema: schema.filter(|new| **new != *spec.schema).unwrap_or_else(|| spec.schema.clone()),
                },
                None if name.is_empty() => return Err(Rejection::shape("it lists a tool without a name")),
                None => ToolSpec {
                    description: described.unwrap_or_default(),
                    schema: schema.ok_or_else(|| {
                        Rejection::shape(format!("it lists the new tool `{name}` without a schema"))
                    })?,
                    name: name.into(),
                },
            });
        }
        Ok(specs.into())
    }
}

impl Moment for PostLlmResponse {
    const PLACE: usize = place("PostLLMResponse");
    fn offer(&self) -> Offer {
        let mut payload = json!({ "response": self.response.value() });
        if let Some(correction) = &self.correction {
            payload["correction"] = (**correction).into();
        }
        Offer::of([payload]).with_list("messages", &self.messages)
    }
    fn accept(&self, mut given: Given) -> Result<Accepted<Self>, Rejection> {
        let mut ignored = Vec::new();
        if given.edits.take().is_some_and(|edits| !edits.is_empty()) {
            ignored.push("`messages`, which were sent already".into());
        }
        let mut fields = given.fields()?;
        let mut now = self.clone();
        if let Some(response) = take(&mut fields, "response") {
            ignored.extend(now.answer(object(response, "its `response` is")?)?);
        }
        if let Some(correction) = take_text(&mut fields, "correction")? {
            match correction.trim().is_empty() {
                true => ignored.push("a blank `correction`".into()),
                false => now.correction = Some(correction.into()),
            }
        }
        let changed = now.response != self.response || now.correction != self.correction;
        ignored.extend(unlisted(&fields));
        Ok(Accepted { changed: changed.then_some(now), ignored })
    }
}

impl PostLlmResponse {
    /// Refuses a new item under an id that the conversation has already.
    fn check_ids(&self, items: &[Arc<Item>]) -> Result<(), Rejection> {
        let own = |item: &&Arc<Item>| self.response.items.iter().any(|was| was.id == item.id);
        let new: Vec<_> = items.iter().filter(|item| !own(item)).collect();
        let taken = |item: &&&Arc<Item>| self.messages.iter().any(|sent| sent.id == item.id);
        match new.iter().find(taken) {
            None => Ok(()),
            Some(item) => Err(Rejection::rule(format!("it repeats the item id `{}`", item.id))),
        }
    }

    fn answer(&mut self, mut new: Map<String, Value>) -> Result<Vec<String>, Rejection> {
        if let Some(reason) = take(&mut new, "finish_reason") {
            self.response.finish_reason = serde_json::from_value(reason.clone())
                .map_err(|_| wrong("response.finish_reason", &reason, "a finish reason"))?;
        }
        let before: Items = Arc::new(self.response.items.clone());
        if let Some(items) = rebuild(&before, new.remove("items"), None, &self.held)? {
            check_kinds(&items, &[Kind::Assistant, Kind::Reasoning, Kind::ToolCall])?;
            self.check_ids(&items)?;
            self.response.items = Arc::unwrap_or_clone(items);
        }
        let was = self.response.value();
        let frozen = new.iter().filter(|(field, value)| was.get(*field) != Some(*value));
        Ok(frozen.map(|(field, _)| format!("`response.{field}` cannot be replaced")).collect())
    }
}
