//! Items as handlers see them and hand them back.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::hook::moment::Rejection;
use crate::hook::reply::{object, take, take_bool, take_list, take_text, wrong};
use crate::model::item::{Body, CallId, Image, Item, ItemId, Kind, ToolCall, ToolResult};

/// An item as a handler sees it: `{ id, kind, text?, images?, tool_call?, call_id?, name?, failed? }`.
pub fn item_value(item: &Item) -> Value {
    let mut value = Map::new();
    value.insert("id".into(), item.id.as_str().into());
    value.insert("kind".into(), item.kind().as_str().into());
    if let Some(text) = item.text() {
        value.insert("text".into(), (**text).into());
    }
    if !item.images().is_empty() {
        value.insert("images".into(), json!(item.images()));
    }
    match &item.body {
        Body::ToolCall(call) => {
            let call =
                json!({ "id": call.id, "name": call.name, "arguments": arguments_value(&call.arguments) });
            value.insert("tool_call".into(), call);
        }
        Body::ToolResult(result) => {
            value.insert("call_id".into(), result.call_id.as_str().into());
            value.insert("name".into(), (*result.name).into());
            value.insert("failed".into(), result.failed.into());
        }
        _ => {}
    }
    Value::Object(value)
}

/// A call's arguments, decoded.
pub(crate) fn arguments_value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::Object(Map::new()))
}

/// Arguments that a reply gives as an object or as JSON text of one, as text; the text they had where they say the
/// same, so that what was not touched goes on token for token.
pub(crate) fn arguments_text(given: Value, before: &Arc<str>) -> Result<Arc<str>, Rejection> {
    let (value, text) = match given {
        Value::String(text) => match serde_json::from_str::<Value>(&text) {
            Ok(value) => (value, Some(text)),
            Err(error) => return Err(Rejection::shape(format!("its `arguments` are not JSON: {error}"))),
        },
        value => (value, None),
    };
    if !value.is_object() {
        return Err(wrong("arguments", &value, "an object"));
    }
    if text.as_deref() == Some(before) || value == arguments_value(before) && text.is_none() {
        return Ok(before.clone());
    }
    Ok(text.unwrap_or_else(|| value.to_string()).into())
}

/// An item as a reply gives it: the fields that are there.
pub(crate) struct Draft {
    id: Option<String>,
    kind: Option<Kind>,
    text: Option<String>,
    images: Option<Vec<Image>>,
    call: Option<Map<String, Value>>,
    call_id: Option<String>,
    name: Option<String>,
    failed: Option<bool>,
}

impl Draft {
    /// Reads an item of a reply. Fields it does not know are left out.
    pub(crate) fn read(value: Value) -> Result<Self, Rejection> {
        let mut fields = object(value, "an item of its reply is")?;
        let kind =
            match take_text(&mut fields, "kind")? {
                None => None,
                Some(name) => Some(serde_json::from_value(name.as_str().into()).map_err(|_| {
                    Rejection::shape(format!("it gives an item of the unknown kind `{name}`"))
                })?),
            };
        let images = take_list(&mut fields, "images")?
            .map(|images| {
                images
                    .into_iter()
                    .map(|image| {
                        serde_json::from_value(image).map_err(|_| {
                            Rejection::shape("it gives an image that is not `{ id, media_type }`")
                        })
                    })
                    .collect()
            })
            .transpose()?;
        Ok(Self {
            id: take_text(&mut fields, "id")?,
            kind,
            text: take_text(&mut fields, "text")?,
            images,
            call: take(&mut fields, "tool_call")
                .map(|call| object(call, "its `tool_call` is"))
                .transpose()?,
            call_id: take_text(&mut fields, "call_id")?,
            name: take_text(&mut fields, "name")?,
            failed: take_bool(&mut fields, "failed")?,
        })
    }

    /// The id it gives.
    pub(crate) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }
    /// The draft with that item's id, where it gives none.
    pub(crate) fn with_id_of(mut self, base: &Item) -> Self {
        self.id.get_or_insert_with(|| base.id.as_str().to_owned());
        self
    }
    /// Whether it stands for that item, changed or not: the same id, and no other kind.
    pub(crate) fn is(&self, base: &Item) -> bool {
        self.id() == Some(base.id.as_str()) && self.kind.is_none_or(|kind| kind == base.kind())
    }

    /// The item with what the draft says of it: the same `Arc` when it says nothing new; otherwise an item
    /// without provider state, since that belongs to what the model was sent or said. Absent fields stay.
    pub(crate) fn over(self, base: &Arc<Item>) -> Result<Arc<Item>, Rejection> {
        let mut body = base.body.clone();
        match &mut body {
            Body::System { text } | Body::Assistant { text } | Body::Reasoning { text } => {
                set_text(text, self.text);
                *text = worded(text, self.images.unwrap_or_default());
            }
            Body::User { text, images } => {
                set_text(text, self.text);
                set(images, self.images);
            }
            Body::ToolCall(call) => {
                if let Some(new) = self.call {
                    recall(call, new)?;
                }
            }
            Body::ToolResult(result) => {
                set_text(&mut result.text, self.text);
                set(&mut result.images, self.images);
                set_text(&mut result.name, self.name);
                set(&mut result.failed, self.failed);
                if let Some(id) = self.call_id.filter(|id| id != result.call_id.as_str()) {
                    result.call_id = call_id(id)?;
                    result.provider_id = None;
                }
            }
        }
        if body == base.body {
            return Ok(base.clone());
        }
        Ok(changed(base, body))
    }

    /// A new item.
    pub(crate) fn fresh(self) -> Result<Arc<Item>, Rejection> {
        let Some(id) = self.id.filter(|id| !id.is_empty()) else {
            return Err(Rejection::rule("it adds an item without an id"));
        };
        let missing = |field: &str| Rejection::shape(format!("its new item `{id}` has no `{field}`"));
        let kind = self.kind.ok_or_else(|| missing("kind"))?;
        let text = self.text.map(Arc::<str>::from).ok_or_else(|| missing("text"));
        let images = self.images.unwrap_or_default();
        let body = match kind {
            Kind::System => Body::System { text: worded(&text?, images) },
            Kind::Assistant => Body::Assistant { text: worded(&text?, images) },
            Kind::Reasoning => Body::Reasoning { text: worded(&text?, images) },
            Kind::User => Body::User { text: text?, images },
            Kind::ToolCall => {
                let mut call = ToolCall {
                    id: CallId::new(""),
                    name: "".into(),
                    arguments: "{}".into(),
                    malformed: None,
                    provider_id: None,
                };
                recall(&mut call, self.call.ok_or_else(|| missing("tool_call"))?)?;
                if call.id.as_str().is_empty() || call.name.is_empty() {
                    return Err(missing("tool_call.id` and `tool_call.name"));
                }
                Body::ToolCall(call)
            }
            Kind::ToolResult => Body::ToolResult(ToolResult {
                call_id: call_id(self.call_id.ok_or_else(|| missing("call_id"))?)?,
                provider_id: None,
                name: self.name.unwrap_or_default().into(),
                text: text?,
                images,
                failed: self.failed.unwrap_or(false),
            }),
        };
        Ok(Arc::new(Item::new(ItemId::new(id.as_str()), body)))
    }
}

/// A changed copy of an item.
pub(crate) fn changed(base: &Item, body: Body) -> Arc<Item> {
    Arc::new(Item { body, state: None, ..base.clone() })
}

/// The item with another text; the same `Arc` where it is the same text.
pub(crate) fn with_text(base: &Arc<Item>, new: String) -> Result<Arc<Item>, Rejection> {
    if base.text().is_some_and(|text| **text == *new) {
        return Ok(base.clone());
    }
    let mut body = base.body.clone();
    match &mut body {
        Body::System { text }
        | Body::User { text, .. }
        | Body::Assistant { text }
        | Body::Reasoning { text } => *text = new.into(),
        Body::ToolResult(result) => result.text = new.into(),
        Body::ToolCall(_) => {
            return Err(Rejection::shape(format!("it sets the text of the tool call `{}`", base.id)));
        }
    }
    Ok(changed(base, body))
}

/// The item without that image.
pub(crate) fn without_image(base: &Item, id: &str) -> Result<Arc<Item>, Rejection> {
    let mut body = base.body.clone();
    let before = base.images().len();
    if let Body::User { images, .. } | Body::ToolResult(ToolResult { images, .. }) = &mut body {
        images.retain(|image| &*image.id != id);
        if images.len() < before {
            return Ok(changed(base, body));
        }
    }
    Err(Rejection::rule(format!("it drops the image `{id}`, which item `{}` does not have", base.id)))
}

fn set<T>(field: &mut T, new: Option<T>) {
    if let Some(new) = new {
        *field = new;
    }
}

fn set_text(field: &mut Arc<str>, new: Option<String>) {
    if let Some(new) = new.filter(|new| **new != **field) {
        *field = new.into();
    }
}

/// A text with a line for each image, for kinds whose images no model is sent.
fn worded(text: &Arc<str>, images: Vec<Image>) -> Arc<str> {
    if images.is_empty() {
        return text.clone();
    }
    let mut worded = text.to_string();
    for image in images {
        if !worded.is_empty() {
            worded.push('\n');
        }
        worded.push_str(&format!("[{} {}]", image.media_type.as_str(), image.id));
    }
    worded.into()
}

fn recall(call: &mut ToolCall, mut new: Map<String, Value>) -> Result<(), Rejection> {
    if let Some(id) = take_text(&mut new, "id")?.filter(|id| id != call.id.as_str()) {
        call.id = call_id(id)?;
        call.provider_id = None;
    }
    set_text(&mut call.name, take_text(&mut new, "name")?);
    if let Some(arguments) = take(&mut new, "arguments") {
        let text = arguments_text(arguments, &call.arguments)?;
        if text != call.arguments {
            call.arguments = text;
            call.malformed = None;
        }
    }
    Ok(())
}

fn call_id(id: String) -> Result<CallId, Rejection> {
    match id.is_empty() {
        true => Err(Rejection::shape("it gives an empty call id")),
        false => Ok(CallId::new(id)),
    }
}
