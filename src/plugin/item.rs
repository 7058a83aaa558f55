//! An item as plugins see it. What only the host and the provider need (origin, provider state) stays behind.

use serde_json::{Map, Value, json};

use crate::model::item::{Body, Image, Item};

/// The `item` payload: a call's arguments are the decoded object.
pub fn payload(item: &Item) -> Value {
    let mut out = Map::new();
    out.insert("id".into(), item.id.as_str().into());
    out.insert("kind".into(), item.kind().as_str().into());
    if let Some(text) = item.text() {
        out.insert("text".into(), text.as_ref().into());
    }
    if !item.images().is_empty() {
        out.insert("images".into(), item.images().iter().map(image).collect());
    }
    match &item.body {
        Body::ToolCall(call) => {
            let arguments = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
            let call = json!({ "id": call.id.as_str(), "name": &*call.name, "arguments": arguments });
            out.insert("tool_call".into(), call);
        }
        Body::ToolResult(result) => {
            out.insert("call_id".into(), result.call_id.as_str().into());
            out.insert("name".into(), result.name.as_ref().into());
            out.insert("failed".into(), result.failed.into());
        }
        Body::System { .. } | Body::User { .. } | Body::Assistant { .. } | Body::Reasoning { .. } => {}
    }
    Value::Object(out)
}

fn image(image: &Image) -> Value {
    json!({ "id": &*image.id, "media_type": image.media_type.as_str() })
}
