//! Moments of a model call: the request that goes out, the step around it, the answer that comes back.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::hook::item::item_value;
use crate::hook::moment::{Accepted, Given, Moment, Offer, Rejection, place};
use crate::hook::rebuild::{Held, rebuild};
use crate::hook::reply::wrong;
use crate::hook::revise::revise;
use crate::model::item::{Item, Items};
use crate::model::request::Purpose;
use crate::model::response::{FinishReason, Usage};

/// What of an outbound call the request hooks see.
#[derive(Clone)]
pub struct Outbound {
    /// Why the model is called.
    pub purpose: Purpose,
    /// The runtime that calls.
    pub runtime: Arc<str>,
    /// The conversation, system item first.
    pub items: Items,
    /// The images that a raw hook may name, and whether this call takes any.
    pub held: Held,
}

/// `rebuild_model`: raw hooks rebuild the items.
#[derive(Clone)]
pub struct RebuildModel(pub Outbound);

/// `transform_model`: hooks revise texts of the items.
#[derive(Clone)]
pub struct TransformModel(pub Outbound);

/// A finished call's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Why the model was called.
    pub purpose: Purpose,
    /// Why it stopped.
    pub finish_reason: FinishReason,
    /// What it said, with the ids that the host gave.
    pub items: Vec<Arc<Item>>,
    /// What it cost.
    pub usage: Usage,
}

impl Answer {
    /// The answer as handlers see it.
    pub(crate) fn value(&self) -> Value {
        let items: Vec<_> = self.items.iter().map(|item| item_value(item)).collect();
        let Usage { input, output, cached, reasoning, .. } = self.usage;
        json!({
            "purpose": self.purpose,
            "finish_reason": self.finish_reason,
            "items": items,
            "usage": { "input": input, "output": output, "cached": cached, "reasoning": reasoning },
        })
    }
}

/// `model_response`: an answer, before the host commits it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelResponse(pub Answer);

impl Outbound {
    fn offer(&self) -> Offer {
        let Self { purpose, runtime, items, held } = self;
        let request =
            json!({ "purpose": purpose, "runtime": runtime, "accepts_images": held.accepts_images });
        Offer::of([request]).with_list("items", items)
    }
    fn with(&self, items: Items) -> Self {
        Self { items, ..self.clone() }
    }
}

/// The items of a reply that is a list, or a request that holds one.
fn returned(value: Value) -> Result<Option<Value>, Rejection> {
    match value {
        Value::Null => Ok(None),
        Value::Array(_) => Ok(Some(value)),
        Value::Object(mut fields) => Ok(fields.remove("items")),
        other => Err(wrong("items", &other, "a list of items")),
    }
}

impl Moment for RebuildModel {
    const PLACE: usize = place("rebuild_model");
    fn offer(&self) -> Offer {
        self.0.offer()
    }
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        let items = returned(given.value)?;
        let items = rebuild(&self.0.items, items, given.edits, &self.0.held)?;
        Ok(Accepted { changed: items.map(|items| Self(self.0.with(items))), ignored: Vec::new() })
    }
}

impl Moment for TransformModel {
    const PLACE: usize = place("transform_model");
    fn offer(&self) -> Offer {
        self.0.offer()
    }
    fn accept(&self, given: Given) -> Result<Accepted<Self>, Rejection> {
        let items = returned(given.value)?;
        let items = revise(&self.0.items, items, given.edits)?;
        Ok(Accepted { changed: items.map(|items| Self(self.0.with(items))), ignored: Vec::new() })
    }
}

impl Moment for ModelResponse {
    const PLACE: usize = place("model_response");
    fn offer(&self) -> Offer {
        Offer::of([self.0.value()])
    }
}
