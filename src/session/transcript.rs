//! The live conversation: the items since the last compaction, system item first, and the ids that come next.

use std::collections::HashSet;
use std::sync::Arc;

use crate::model::item::{
    Body, CallId, Image, Item, Items, Origin, ProviderState, ResponseId, ToolCall, ToolResult,
};
use crate::model::response::{Content, Part, Response};
use crate::session::store::id::Ids;
use crate::tool::arguments;

/// The conversation as the next request will carry it.
#[derive(Debug, Default)]
pub struct Transcript {
    items: Items,
    /// Provider call ids that went out already: a second call with one of them goes out under the host's id.
    provider_ids: HashSet<Arc<str>>,
}

/// A call as it came in, and what is wrong with it.
#[derive(Clone, Debug)]
pub struct Received {
    /// The stored call.
    pub call: ToolCall,
    /// Why it cannot run, in words for the model.
    pub problem: Option<String>,
}

/// An answer with ids, not yet part of the conversation.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The answer's id.
    pub response: ResponseId,
    /// Its items.
    pub items: Vec<Arc<Item>>,
    /// Calls that the output limit cut off.
    cut: HashSet<CallId>,
}

impl Candidate {
    /// The same answer with these items in the place of its own.
    pub fn with(&self, items: Vec<Arc<Item>>) -> Self {
        Self { response: self.response.clone(), items, cut: self.cut.clone() }
    }

    /// The same answer as handlers rewrote it. Ids of items and calls that will be stored are the host's: a new one gets
    /// its own, a kept one has the one it had. What says nothing is left out.
    pub fn rewritten(&self, ids: &Ids, items: &[Arc<Item>]) -> Self {
        let said = items.iter().filter(|item| !silent(item));
        let items: Vec<_> = said.enumerate().map(|(place, item)| self.adopted(ids, place, item)).collect();
        let whole = |call: &ToolCall| {
            let kept = self.calls().find(|own| own.id == call.id);
            kept.is_none_or(|own| own.arguments != call.arguments)
        };
        let mut cut = self.cut.clone();
        for item in &items {
            if let Body::ToolCall(call) = &item.body
                && whole(call)
            {
                cut.remove(&call.id);
            }
        }
        Self { response: self.response.clone(), items, cut }
    }

    fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.items.iter().filter_map(|item| match &item.body {
            Body::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    fn adopted(&self, ids: &Ids, place: usize, item: &Arc<Item>) -> Arc<Item> {
        if self.items.iter().any(|own| Arc::ptr_eq(own, item)) {
            return Arc::clone(item);
        }
        let own = self.items.iter().find(|own| own.id == item.id && own.kind() == item.kind());
        let mut body = item.body.clone();
        if let Body::ToolCall(call) = &mut body {
            match own.map(|own| &own.body) {
                Some(Body::ToolCall(was)) => {
                    call.id = was.id.clone();
                    call.provider_id.clone_from(&was.provider_id);
                }
                _ => call.id = ids.call(),
            }
        }
        let index = u32::try_from(place).unwrap_or(u32::MAX);
        let origin = Origin { response: self.response.clone(), index };
        match own {
            Some(_) => Arc::new(Item { body, ..Item::clone(item) }),
            None => Arc::new(Item { origin: Some(origin), ..Item::new(ids.item(), body) }),
        }
    }
}

impl Transcript {
    /// A conversation that goes on: stored items, and the provider call ids in use.
    pub fn resume(items: Vec<Arc<Item>>, provider_ids: HashSet<Arc<str>>) -> Self {
        Self { items: Arc::new(items), provider_ids }
    }
    /// The items, shared.
    pub fn items(&self) -> Items {
        Arc::clone(&self.items)
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// The live system item.
    pub fn system(&self) -> Option<&Arc<Item>> {
        self.items.first().filter(|item| matches!(item.body, Body::System { .. }))
    }
    /// Puts `text` in the place of the live system item; none when it says that already.
    pub fn set_system(&mut self, ids: &Ids, text: Arc<str>) -> Option<Arc<Item>> {
        if self.system().and_then(|item| item.text()).is_some_and(|old| *old == text) {
            return None;
        }
        let item = Arc::new(Item::new(ids.item(), Body::System { text }));
        let replaces = self.system().is_some();
        let items = Arc::make_mut(&mut self.items);
        match items.first_mut() {
            Some(first) if replaces => *first = Arc::clone(&item),
            _ => items.insert(0, Arc::clone(&item)),
        }
        Some(item)
    }
    /// Adds what the operator said.
    pub fn user(&mut self, ids: &Ids, text: Arc<str>, images: Vec<Image>) -> Arc<Item> {
        self.push(Item::new(ids.item(), Body::User { text, images }))
    }
    /// Adds the result of a call.
    pub fn result(&mut self, ids: &Ids, result: ToolResult) -> Arc<Item> {
        self.push(Item::new(ids.item(), Body::ToolResult(result)))
    }
    /// Gives the parts of an answer their ids, without adding them: hooks see the candidate first.
    pub fn candidate(
        &mut self,
        ids: &Ids,
        response: &Response,
        protocol: &Arc<str>,
        model: &Arc<str>,
    ) -> Candidate {
        let mut candidate = Candidate {
            response: ids.response(),
            items: Vec::with_capacity(response.parts.len()),
            cut: HashSet::new(),
        };
        for part in &response.parts {
            let Some(body) = self.body(ids, part) else { continue };
            if let (Body::ToolCall(call), Content::Call { complete: false, .. }) = (&body, &part.content) {
                candidate.cut.insert(call.id.clone());
            }
            let index = u32::try_from(candidate.items.len()).unwrap_or(u32::MAX);
            candidate.items.push(Arc::new(Item {
                origin: Some(Origin { response: candidate.response.clone(), index }),
                state: part.state.clone().map(|data| ProviderState {
                    protocol: Arc::clone(protocol),
                    model: Arc::clone(model),
                    data,
                }),
                ..Item::new(ids.item(), body)
            }));
        }
        candidate
    }
    /// Adds a candidate's items and returns its calls, in order.
    pub fn commit(&mut self, candidate: &Candidate) -> Vec<Received> {
        let mut received = Vec::new();
        for item in &candidate.items {
            if let Body::ToolCall(call) = &item.body {
                let problem = problem(call, candidate.cut.contains(&call.id));
                received.push(Received { call: call.clone(), problem });
            }
            Arc::make_mut(&mut self.items).push(Arc::clone(item));
        }
        received
    }

    fn push(&mut self, item: Item) -> Arc<Item> {
        let item = Arc::new(item);
        Arc::make_mut(&mut self.items).push(Arc::clone(&item));
        item
    }

    /// The stored form of one part; none for what says nothing (an empty text is refused by providers later).
    fn body(&mut self, ids: &Ids, part: &Part) -> Option<Body> {
        match &part.content {
            Content::Text(text) if text.is_empty() && part.state.is_none() => None,
            Content::Text(text) => Some(Body::Assistant { text: text.as_str().into() }),
            Content::Reasoning(text) if text.is_empty() && part.state.is_none() => None,
            Content::Reasoning(text) => Some(Body::Reasoning { text: text.as_str().into() }),
            Content::Call { id, name, arguments, complete } => {
                Some(Body::ToolCall(self.call(ids, id, name, arguments, *complete)))
            }
        }
    }

    fn call(
        &mut self,
        ids: &Ids,
        provider_id: &str,
        name: &str,
        arguments: &str,
        complete: bool,
    ) -> ToolCall {
        let provider_id = Some(provider_id)
            .filter(|id| !id.is_empty() && id.len() <= 64)
            .map(Arc::<str>::from)
            .filter(|id| self.provider_ids.insert(Arc::clone(id)));
        let (text, malformed) = match arguments::parse_arguments(arguments) {
            Ok(_) if complete && serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok() => {
                (arguments.into(), None)
            }
            Ok(object) if complete => (serde_json::Value::Object(object).to_string().into(), None),
            _ => (Arc::from("{}"), Some(Arc::from(arguments))),
        };
        ToolCall { id: ids.call(), name: name.into(), arguments: text, malformed, provider_id }
    }
}

/// An empty text without provider state, which providers refuse when it comes back.
fn silent(item: &Item) -> bool {
    matches!(&item.body, Body::Assistant { text } | Body::Reasoning { text } if text.is_empty())
        && item.state.is_none()
}

fn problem(call: &ToolCall, cut: bool) -> Option<String> {
    if cut {
        return Some(
            "the output limit cut this call off before its arguments were complete, so it was not run; \
             send it again in smaller pieces"
                .into(),
        );
    }
    let raw = call.malformed.as_deref()?;
    let why = arguments::parse_arguments(raw).err().unwrap_or_else(|| "they are not a JSON object".into());
    Some(format!("the arguments could not be read, so the call was not run: {why}"))
}
