//! One outbound request: what handlers make of it before it goes out, and what the file remembers of the difference.

use std::collections::{HashMap, HashSet};
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
    /// The stored conversation at that time.
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
        let left = turn.budget.model_calls_left();
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
            turn.budget.lower_model_calls(remaining);
        }
        let wanted = |spec: &&ToolSpec| step.tool_names.contains(&spec.name);
        let tools = if step.tool_names.len() == specs.len() {
            specs
        } else {
            specs.iter().filter(wanted).cloned().collect()
        };
        Ok(Some(Allowed { tools, tool_choice: step.tool_choice }))
    }

    /// rebuild_model, transform_model, PreLLMCall: the request as it goes out.
    pub(super) async fn draft(&self, running: &Running, cx: &Context, allowed: Allowed) -> Draft {
        let hooks = Arc::clone(&self.parts.hooks);
        let outbound = Outbound {
            purpose: self.mode.purpose(),
            runtime: Arc::clone(&running.name),
            items: self.sent_items(running),
            held: self.held(),
        };
        let rebuilt = hooks.fire(cx, RebuildModel(outbound)).await;
        let mut changed_by = running.rewrote.clone();
        changed_by.extend(rebuilt.changed_by.into_iter().filter(|plugin| !running.rewrote.contains(plugin)));
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
        let choice = offered(allowed.tool_choice, &call.tools);
        let request = self.request(running, call.messages, call.tools, choice, call.stream);
        Draft { request, model, changed_by, stored: self.transcript.items() }
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

/// The choice as far as the tools go along with it: a provider refuses a request that demands a tool it does not list.
fn offered(choice: ToolChoice, tools: &[ToolSpec]) -> ToolChoice {
    match &choice {
        ToolChoice::Named(name) if !tools.iter().any(|tool| tool.name == *name) => ToolChoice::Auto,
        ToolChoice::Required if tools.is_empty() => ToolChoice::Auto,
        _ => choice,
    }
}

/// What was sent other than `stored`, as changes in order. Where nothing was changed this is one look.
pub(super) fn changes(stored: &Items, sent: &Items) -> Vec<Change> {
    if Arc::ptr_eq(stored, sent) {
        return Vec::new();
    }
    let same = |(old, new): &(&Arc<Item>, &Arc<Item>)| Arc::ptr_eq(old, new);
    let head = stored.iter().zip(sent.iter()).take_while(same).count();
    let rest = stored.len().min(sent.len()) - head;
    let tail = stored.iter().rev().zip(sent.iter().rev()).take(rest).take_while(same).count();
    let old = stored.get(head..stored.len() - tail).unwrap_or_default();
    let new = sent.get(head..sent.len() - tail).unwrap_or_default();

    // A longest run of known items in their stored order stays where it is; everything else is taken out and put in.
    let known: HashMap<&ItemId, usize> =
        old.iter().enumerate().map(|(place, item)| (&item.id, place)).collect();
    let places: Vec<Option<usize>> = new.iter().map(|item| known.get(&item.id).copied()).collect();
    let stays: HashSet<usize> = rising(&places);
    let kept: HashSet<usize> = stays.iter().filter_map(|at| places.get(*at).copied().flatten()).collect();
    let mut changes: Vec<Change> = old
        .iter()
        .enumerate()
        .filter(|(place, _)| !kept.contains(place))
        .map(|(_, item)| Change::Remove { id: item.id.clone() })
        .collect();
    let mut after = head.checked_sub(1).and_then(|last| stored.get(last)).map(|item| item.id.clone());
    for (at, item) in new.iter().enumerate() {
        let was = places.get(at).copied().flatten().filter(|_| stays.contains(&at));
        match was.and_then(|place| old.get(place)) {
            Some(old) if old == item => {}
            Some(_) => changes.push(Change::Replace { id: item.id.clone(), item: Arc::clone(item) }),
            None => changes.push(Change::Insert { after: after.clone(), item: Arc::clone(item) }),
        }
        after = Some(item.id.clone());
    }
    changes
}

/// Where a longest rising run of the places stands; those without a place belong to none.
fn rising(places: &[Option<usize>]) -> HashSet<usize> {
    let place = |at: &usize| places.get(*at).copied().flatten();
    // Where the run of each length ends that ends lowest, and what comes before each entry in its run.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(places.len());
    for (at, here) in places.iter().enumerate() {
        let length = ends.partition_point(|end| place(end) < *here);
        before.push(length.checked_sub(1).and_then(|shorter| ends.get(shorter).copied()));
        match ends.get_mut(length) {
            _ if here.is_none() => {}
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut run = HashSet::with_capacity(ends.len());
    let mut last = ends.last().copied();
    while let Some(at) = last {
        run.insert(at);
        last = before.get(at).copied().flatten();
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::item::Body;
    use crate::session::store::rebuild;
    use proptest::prelude::*;

    fn item(id: &str, text: &str) -> Arc<Item> {
        Arc::new(Item::new(ItemId::new(id), Body::User { text: text.into(), images: Vec::new() }))
    }

    fn list(ids: &[&str]) -> Items {
        Arc::new(ids.iter().map(|id| item(id, "said")).collect())
    }

    fn replayed(stored: &Items, changes: &[Change]) -> Vec<Arc<Item>> {
        let mut items = stored.to_vec();
        rebuild::change(&mut items, changes).unwrap();
        items
    }

    #[derive(Clone, Debug)]
    enum Act {
        Remove(usize),
        Insert(usize),
        Replace(usize),
        Other(usize),
        Move(usize, usize),
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let place = 0..64_usize;
        let act = prop_oneof![
            place.clone().prop_map(Act::Remove),
            place.clone().prop_map(Act::Insert),
            place.clone().prop_map(Act::Replace),
            place.clone().prop_map(Act::Other),
            (place.clone(), place).prop_map(|(from, to)| Act::Move(from, to)),
        ];
        proptest::collection::vec(act, 0..12)
    }

    fn acted(stored: &Items, acts: &[Act]) -> Vec<Arc<Item>> {
        let mut items = stored.to_vec();
        for (number, act) in acts.iter().enumerate() {
            let length = items.len();
            match *act {
                Act::Insert(at) => items.insert(at % (length + 1), item(&format!("x{number}"), "new")),
                _ if length == 0 => {}
                Act::Remove(at) => drop(items.remove(at % length)),
                Act::Replace(at) => items[at % length] = item(items[at % length].id.as_str(), "changed"),
                // A known id with another kind is a new item.
                Act::Other(at) => {
                    let id = items[at % length].id.clone();
                    items[at % length] = Arc::new(Item::new(id, Body::Assistant { text: "said".into() }));
                }
                Act::Move(from, to) => {
                    let moved = items.remove(from % length);
                    items.insert(to % length, moved);
                }
            }
        }
        items
    }

    proptest! {
        #[test]
        fn the_recorded_changes_give_back_what_was_sent(count in 0..40_usize, acts in acts()) {
            let stored: Items = Arc::new((0..count).map(|n| item(&format!("i{n}"), "said")).collect());
            let sent: Items = Arc::new(acted(&stored, &acts));
            let changes = changes(&stored, &sent);
            prop_assert_eq!(replayed(&stored, &changes), sent.to_vec());
            // One act is at most one item taken out and one put in.
            prop_assert!(changes.len() <= 2 * acts.len());
        }
    }

    #[test]
    fn a_move_to_the_front_is_two_changes_however_long_the_list_is() {
        let stored = list(&["a", "b", "c", "d", "e"]);
        let mut sent = stored.to_vec();
        sent.rotate_right(1);
        let changes = changes(&stored, &Arc::new(sent));
        assert!(
            matches!(&changes[..], [Change::Remove { .. }, Change::Insert { after: None, .. }]),
            "{changes:?}"
        );
    }

    #[test]
    fn the_same_items_in_another_list_are_no_change() {
        let stored = list(&["a", "b"]);
        assert!(changes(&stored, &Arc::new(stored.to_vec())).is_empty());
        assert!(changes(&stored, &list(&["a", "b"])).is_empty());
    }
}
