//! A conversation for people (Markdown) or programs (JSON): all of it, as it was said, also what a compaction shortened.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::model::item::{Body, Item, ToolCall, ToolResult};
use crate::session::store::error::StoreError;
use crate::session::store::load;
use crate::session::store::read::{self, Next};
use crate::session::store::record::{Entry, Record};

/// The form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Form {
    Markdown,
    Json,
}

/// What goes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// What was said.
    Conversation,
    /// The live system text first.
    WithSystem,
}

/// The conversation of a session file as one text that ends in a newline.
pub fn export(path: &Path, form: Form, scope: Scope) -> Result<String, StoreError> {
    let loaded = load::read(path)?;
    let system = loaded.items.first().filter(|item| matches!(item.body, Body::System { .. })).cloned();
    let system = system.filter(|_| scope == Scope::WithSystem);
    let items: Vec<_> = system.into_iter().chain(said(path)?).collect();
    Ok(match form {
        Form::Markdown => markdown(&loaded, &items),
        Form::Json => format!("{:#}\n", as_json(&loaded, &items)),
    })
}

/// Every item of the conversation, in its place.
fn said(path: &Path) -> Result<Vec<Arc<Item>>, StoreError> {
    let mut items: Vec<Arc<Item>> = Vec::new();
    read::records(path, |_, stamped| {
        if let Record::Item(Entry { runtime: None, after, item, .. }) = stamped.record {
            let place = after.and_then(|after| items.iter().rposition(|item| item.id == after));
            items.insert(place.map_or(items.len(), |place| place + 1), item);
        }
        Ok::<_, StoreError>(Next::More)
    })?;
    Ok(items)
}

fn as_json(loaded: &load::Loaded, items: &[Arc<Item>]) -> Value {
    let spent = loaded.spent.iter().map(|spent| {
        json!({ "provider": spent.provider, "model": spent.model, "calls": spent.calls, "usage": spent.usage })
    });
    json!({
        "session": loaded.header,
        "title": loaded.title,
        "mode": loaded.mode,
        "turns": loaded.turns.len(),
        "usage": spent.collect::<Vec<_>>(),
        "todos": loaded.todos,
        "items": items,
    })
}

fn markdown(loaded: &load::Loaded, items: &[Arc<Item>]) -> String {
    let header = &loaded.header;
    let mut text = format!("# {}\n\n", loaded.title.as_deref().unwrap_or("Conversation"));
    put(&mut text, format_args!("- Session: `{}`\n", header.id));
    put(&mut text, format_args!("- Created: {:.0}\n", header.created));
    put(&mut text, format_args!("- Workspace: `{}`\n", header.workspace));
    put(&mut text, format_args!("- Model: `{}/{}`\n", loaded.provider, loaded.model));
    for item in items {
        section(&mut text, item);
    }
    text
}

fn section(out: &mut String, item: &Item) {
    match &item.body {
        Body::System { text } => titled(out, "System", text),
        Body::User { text, .. } => titled(out, "User", text),
        Body::Assistant { text } => titled(out, "Assistant", text),
        Body::Reasoning { text } if text.trim().is_empty() => {}
        Body::Reasoning { text } => titled(out, "Reasoning", &quoted(text)),
        Body::ToolCall(call) => titled(out, &format!("Call of {}", call.name), &arguments(call)),
        Body::ToolResult(result) => titled(out, &result_title(result), &fenced("text", &result.text)),
    }
    for image in item.images() {
        put(out, format_args!("\n[{} {}]\n", image.media_type.as_str(), image.id));
    }
}

fn titled(out: &mut String, title: &str, text: &str) {
    put(out, format_args!("\n## {title}\n\n{}\n", text.trim_end()));
}

fn result_title(result: &ToolResult) -> String {
    let how = if result.failed { " (failed)" } else { "" };
    format!("Result of {}{how}", result.name)
}

fn arguments(call: &ToolCall) -> String {
    if let Some(malformed) = &call.malformed {
        return fenced("text", malformed);
    }
    let pretty = serde_json::from_str::<Value>(&call.arguments).map(|value| format!("{value:#}"));
    fenced("json", &pretty.unwrap_or_else(|_| call.arguments.to_string()))
}

fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {line}\n")).collect()
}

/// A code block whose fence is longer than any run of backticks in the text.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}
