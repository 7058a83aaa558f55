//! One outbound request: what handlers make of it before it goes out, and what the file remembers of the difference.

use std::collections::HashMap;
use std::sync::Arc;

use crate::hook::context::Context;
use crate::hook::handler::Plugin;
use crate::hook::model::{Outbound, RebuildModel, TransformModel};
use crate::hook::step::{PreLlmCall, PreStep, StepStop};
use crate::hook::turn::StopReason;
use crate::model::item::{Item, ItemId, Items};
use crate::model::request::{Request, Sampling, ToolChoice, ToolSpec};
use crate::session::Session;
use crate::session::runtime::Running;
use crate::session::store::record::Change;
use crate::session::turn::{Ending, Turn};

/// A request ready to go.
pub(super) struct Draft {
    /// The request.
    pub(super) request: Request,
    /// The model, where a handler named another than the session's.
    pub(super) model: Option<Arc<str>>,
    /// The raw hooks that changed it.
    pub(super) changed_by: Vec<Plugin>,
    /// What the transcript would have sent.
    pub(super) stored: Items,
}

/// What a step may use, as PreStep left it.
pub(super) struct Allowed {
    tools: Arc<[ToolSpec]>,
    tool_choice: ToolChoice,
}

impl Session {
    /// PreStep: this step's tools and choice; none when a handler ends the loop as done.
    pub(super) async fn pre_step(
        &mut self,
        turn: &mut Turn,
        running: &Running,
        cx: &Context,
    ) -> Result<Option<Allowed>, Ending> {
        let hooks = Arc::clone(&self.parts.hooks);
        let specs = Arc::clone(self.catalog.specs());
        if !hooks.has::<PreStep>() {
            return Ok(Some(Allowed { tools: specs, tool_choice: ToolChoice::Auto }));
        }
        let left = turn.budget.model_calls_left().map(|left| left + 1);
        let step = PreStep {
            step: running.steps,
            steps_remaining: left,
            max_steps: turn.budget.model_call_limit(),
            tool_names: specs.iter().map(|spec| Arc::clone(&spec.name)).collect(),
            tool_choice: ToolChoice::Auto,
            must_call: false,
            stop: None,
        };
        let step = hooks.fire(cx, step).await.payload;
        if let Some(stop) = step.stop {
            return match stop.reason {
                StepStop::ToolFinished => Ok(None),
                StepStop::Cancelled => {
                    let why = stop.message.map(|message| format!(": {message}")).unwrap_or_default();
                    let text = format!("runtime \"{}\" was stopped by a PreStep hook{why}", running.name);
                    Err(Ending::because(StopReason::Failed, text))
                }
            };
        }
        if let Some(remaining) = step.steps_remaining.filter(|remaining| Some(*remaining) != left) {
            turn.budget.lower_model_calls(remaining.saturating_sub(1));
        }
        let offered = |spec: &&ToolSpec| step.tool_names.contains(&spec.name);
        let tools = if step.tool_names.len() == specs.len() {
            specs
        } else {
            specs.iter().filter(offered).cloned().collect()
        };
        Ok(Some(Allowed { tools, tool_choice: step.tool_choice }))
    }

    /// rebuild_model, transform_model, PreLLMCall: the request as it goes out.
    pub(super) async fn draft(&self, running: &Running, cx: &Context, allowed: Allowed) -> Draft {
        let hooks = Arc::clone(&self.parts.hooks);
        let stored = self.sent_items(running);
        let outbound = Outbound {
            purpose: self.mode.purpose(),
            runtime: Arc::clone(&running.name),
            items: Arc::clone(&stored),
            held: self.held(),
        };
        let rebuilt = hooks.fire(cx, RebuildModel(outbound)).await;
        let changed_by = rebuilt.changed_by;
        let items = hooks.fire(cx, TransformModel(rebuilt.payload.0)).await.payload.0.items;
        let endpoint = &self.parts.endpoint;
        let call = PreLlmCall {
            messages: items,
            model: Arc::clone(&endpoint.model.name),
            tools: allowed.tools,
            catalog: Arc::clone(self.catalog.specs()),
            tools_closed: false,
            stream: true,
            prompt_segments: Arc::clone(&running.segments),
            held: self.held(),
        };
        let call = hooks.fire(cx, call).await.payload;
        let model = Some(call.model).filter(|model| *model != endpoint.model.name);
        let request = self.request(running, call.messages, call.tools, allowed.tool_choice, call.stream);
        Draft { request, model, changed_by, stored }
    }

    fn request(
        &self,
        running: &Running,
        items: Items,
        tools: Arc<[ToolSpec]>,
        tool_choice: ToolChoice,
        stream: bool,
    ) -> Request {
        let model = &self.parts.endpoint.model;
        Request {
            purpose: self.mode.purpose(),
            runtime: Arc::clone(&running.name),
            items,
            tools,
            tool_choice,
            sampling: Sampling {
                temperature: model.temperature,
                top_p: model.top_p,
                max_tokens: model.max_tokens,
                thinking: self.parts.options.thinking,
                service_tier: model.service_tier.clone(),
                speed: model.speed.clone(),
            },
            output_schema: None,
            stream,
            accepts_images: model.image_input,
            images: self.images(),
        }
    }

    /// The stored conversation, or what a handler put in its place for this runtime.
    fn sent_items(&self, running: &Running) -> Items {
        let items = self.transcript.items();
        let Some(history) = &running.history else { return items };
        let system = items.iter().take(1).cloned();
        let later = items.iter().skip(history.covers).cloned();
        Arc::new(system.chain(history.items.iter().cloned()).chain(later).collect())
    }
}

/// What was sent other than `stored` would have been, as changes in order. Where nothing was changed this is one look.
pub(super) fn changes(stored: &Items, sent: &Items) -> Vec<Change> {
    if Arc::ptr_eq(stored, sent) {
        return Vec::new();
    }
    let known: HashMap<&ItemId, usize> =
        stored.iter().enumerate().map(|(place, item)| (&item.id, place)).collect();
    // The longest run of known items in their stored order stays where it is; everything else is taken out and put in.
    let mut kept: Vec<(&Arc<Item>, usize)> = Vec::new();
    for item in sent.iter() {
        if let Some(place) = known.get(&item.id)
            && kept.last().is_none_or(|(_, last)| place > last)
        {
            kept.push((item, *place));
        }
    }
    let stays: HashMap<&ItemId, usize> = kept.iter().map(|(item, place)| (&item.id, *place)).collect();
    let mut changes: Vec<Change> = stored
        .iter()
        .filter(|item| !stays.contains_key(&item.id))
        .map(|item| Change::Remove { id: item.id.clone() })
        .collect();
    let mut after: Option<ItemId> = None;
    for item in sent.iter() {
        match stays.get(&item.id).and_then(|place| stored.get(*place)) {
            Some(old) if Arc::ptr_eq(old, item) || old == item => {}
            Some(_) => changes.push(Change::Replace { id: item.id.clone(), item: Arc::clone(item) }),
            None => changes.push(Change::Insert { after: after.clone(), item: Arc::clone(item) }),
        }
        after = Some(item.id.clone());
    }
    changes
}
