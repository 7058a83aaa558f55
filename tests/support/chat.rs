//! Chat Completions answers for the scripted server: each function gives one server-sent event (or several), ready
//! to be passed to [`Reply::sse`](crate::support::server::Reply::sse).

use serde_json::{Value, json};

/// The end mark.
pub const DONE: &str = "data: [DONE]\n\n";

/// One event with this JSON.
pub fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// One chunk whose only choice has this delta and finish reason.
pub fn chunk(delta: Value, finish: Option<&str>) -> String {
    event(&json!({
        "id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }))
}

/// Answer text.
pub fn text(text: &str) -> String {
    chunk(json!({"content": text}), None)
}

/// Readable reasoning.
pub fn reasoning(text: &str) -> String {
    chunk(json!({"reasoning_content": text}), None)
}

/// A whole tool call in one chunk; `index` counts the calls of one answer from 0.
pub fn call(index: usize, id: &str, name: &str, arguments: &Value) -> String {
    let function = json!({"name": name, "arguments": arguments.to_string()});
    chunk(json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}), None)
}

/// The chunk that says why the answer ended.
pub fn finish(reason: &str) -> String {
    chunk(json!({}), Some(reason))
}

/// The choice-less chunk with token counts.
pub fn usage(input: u64, output: u64) -> String {
    let usage = json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output});
    event(&json!({"id": "chat-1", "object": "chat.completion.chunk", "choices": [], "usage": usage}))
}

/// A complete streamed answer with this text.
pub fn says(words: &str) -> Vec<String> {
    vec![text(words), finish("stop"), usage(100, 10), DONE.to_owned()]
}

/// A complete streamed answer with these tool calls, as (id, name, arguments).
pub fn calls(list: &[(&str, &str, Value)]) -> Vec<String> {
    let mut events: Vec<String> = list
        .iter()
        .enumerate()
        .map(|(index, (id, name, arguments))| call(index, id, name, arguments))
        .collect();
    events.extend([finish("tool_calls"), usage(100, 10), DONE.to_owned()]);
    events
}

/// A complete answer that is not streamed.
pub fn whole(message: Value, finish: &str) -> Value {
    json!({
        "id": "chat-1", "object": "chat.completion", "created": 1, "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    })
}
