//! What a protocol's `stream` says: text, reasoning, tool calls, usage, and why it stopped.

use serde_json::Value;

use crate::model::response::{Finish, FinishReason, Usage};
use crate::plugin::host::{Answer, Function, Given, Parameter, Place, Scene, Shape, When};
use crate::plugin::vm::lend::Emit;

const PIECE: &[Parameter] = &[Parameter { name: "text", shape: Shape::Text, optional: false }];

pub(super) const TEXT: Function = Function {
    place: Place::Emit,
    name: "text",
    parameters: PIECE,
    result: "",
    permission: None,
    when: When::Always,
    doc: "More answer text. Every piece that is emitted gives the script its whole time limit again.",
    run: &text,
};

pub(super) const REASONING: Function = Function {
    place: Place::Emit,
    name: "reasoning",
    parameters: PIECE,
    result: "",
    permission: None,
    when: When::Always,
    doc: "More readable reasoning.",
    run: &reasoning,
};

pub(super) const TOOL_CALL: Function = Function {
    place: Place::Emit,
    name: "tool_call",
    parameters: &[Parameter { name: "tool", shape: Shape::Record, optional: false }],
    result: "",
    permission: None,
    when: When::Always,
    doc: "A whole tool call: `name`, `arguments` (a table, or JSON text as the model wrote it) and, where the provider \
          has one, `id`.",
    run: &tool_call,
};

pub(super) const USAGE: Function = Function {
    place: Place::Emit,
    name: "usage",
    parameters: &[Parameter { name: "usage", shape: Shape::Record, optional: false }],
    result: "",
    permission: None,
    when: When::Always,
    doc: "Tokens: `input` (cached ones included), `output` (reasoning included), `cached`, `cache_write`, `reasoning`. \
          A later call replaces an earlier one.",
    run: &usage,
};

pub(super) const FINISH: Function = Function {
    place: Place::Emit,
    name: "finish",
    parameters: &[
        Parameter { name: "reason", shape: Shape::Text, optional: false },
        Parameter { name: "raw", shape: Shape::Text, optional: true },
    ],
    result: "",
    permission: None,
    when: When::Always,
    doc: "Why the model stopped: `stop`, `tool_calls`, `length`, `filtered` or `other`, and the provider's own word. \
          Left out: `tool_calls` after a tool call, else `stop`.",
    run: &finish,
};

fn text(scene: &Scene<'_>, arguments: Vec<Given>) -> Result<Answer, String> {
    send(scene, Emit::Text(word(arguments)))
}

fn reasoning(scene: &Scene<'_>, arguments: Vec<Given>) -> Result<Answer, String> {
    send(scene, Emit::Reasoning(word(arguments)))
}

fn tool_call(scene: &Scene<'_>, arguments: Vec<Given>) -> Result<Answer, String> {
    let record = arguments.into_iter().next().map(Given::into_record).unwrap_or_default();
    record.only(&["id", "name", "arguments"])?;
    let id = match record.fields.get("id") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(id)) => id.clone(),
        Some(_) => return Err("'id' is not text".to_owned()),
    };
    let arguments = match record.fields.get("arguments") {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(text)) if text.trim().is_empty() || text.trim() == "null" => "{}".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(object @ Value::Object(_)) => object.to_string(),
        Some(_) => return Err("'arguments' must be a table or JSON text".to_owned()),
    };
    send(scene, Emit::Call { id, name: record.text("name")?.to_owned(), arguments })
}

fn usage(scene: &Scene<'_>, arguments: Vec<Given>) -> Result<Answer, String> {
    let record = arguments.into_iter().next().map(Given::into_record).unwrap_or_default();
    record.only(&["input", "output", "cached", "cache_write", "reasoning"])?;
    let count = |field: &str| match record.fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            value.as_u64().map(Some).ok_or_else(|| format!("'{field}' must be a whole number from 0"))
        }
    };
    send(
        scene,
        Emit::Usage(Usage {
            input: count("input")?,
            output: count("output")?,
            cached: count("cached")?,
            cache_write: count("cache_write")?,
            reasoning: count("reasoning")?,
        }),
    )
}

fn finish(scene: &Scene<'_>, arguments: Vec<Given>) -> Result<Answer, String> {
    let mut words = arguments.into_iter();
    let word = words.next().map(Given::into_text).unwrap_or_default();
    let raw = words.next().map(Given::into_text).filter(|raw| !raw.is_empty()).map(Into::into);
    let Some(reason) = FinishReason::parse(&word) else {
        let known: Vec<&str> = FinishReason::ALL.iter().map(|reason| reason.as_str()).collect();
        return Err(format!("'{word}' is no reason; it knows {}", known.join(", ")));
    };
    send(scene, Emit::Finish(Finish { reason, raw }))
}

fn word(arguments: Vec<Given>) -> String {
    arguments.into_iter().next().map(Given::into_text).unwrap_or_default()
}

fn send(scene: &Scene<'_>, piece: Emit) -> Result<Answer, String> {
    let emitter = scene.emitter.ok_or("there is no answer to emit into")?;
    emitter.send(piece)?;
    scene.desk.renew();
    Ok(Answer::Nothing)
}
