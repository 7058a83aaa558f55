//! Sessions as lists, as a short account, and as JSON.

use std::path::Path;

use clap::ArgMatches;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::cli::console::Console;
use crate::cli::sessions::form;
use crate::error::{Exit, Failure};
use crate::model::response::Usage;
use crate::session::store::list::{self, Summary};
use crate::session::store::load::{self, Loaded};
use crate::text::{display, table};

/// Prints a list of sessions.
pub(super) fn list(found: &[Summary], form: &str, console: &mut Console<'_>) -> Result<(), Failure> {
    match form {
        "json" => {
            let all: Vec<_> = found.iter().map(summary_json).collect();
            console.line(&Value::from(all).to_string())
        }
        "text" => found.iter().try_for_each(|one| {
            let title = if one.title.is_empty() { "(no turn yet)" } else { &one.title };
            console.line(&format!("{}  {title}", one.header.id))
        }),
        _ if found.is_empty() => console.line("no sessions"),
        _ => {
            let rows: Vec<_> = found.iter().map(row).collect();
            let text = table::columns(&["ID", "WRITTEN", "SIZE", "MODEL", "WORKSPACE", "TITLE"], &rows);
            console.line(text.trim_end())
        }
    }
}

/// Prints one session in short.
pub(super) fn run(args: &ArgMatches, path: &Path, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let summary = list::summary(path).map_err(Failure::usage)?;
    let loaded = load::read(path).map_err(Failure::usage)?;
    if form(args) == "json" {
        console.line(&session_json(&summary, &loaded).to_string())?;
    } else {
        for (name, value) in facts(&summary, &loaded) {
            console.line(&format!("{name:<12}{value}"))?;
        }
        for todo in &loaded.todos {
            let status = serde_json::to_value(todo.status).unwrap_or_default();
            let status = status.as_str().unwrap_or_default().to_owned();
            console.line(&format!("{:<12}[{status}] {}", "todo", clean(&todo.content)))?;
        }
    }
    for notice in &loaded.notices {
        console.note(notice);
    }
    Ok(Exit::Done)
}

/// Bytes for people.
pub(super) fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal place is shown")]
    let value = bytes as f64;
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{:.1} KiB", value / 1_024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", value / 1_048_576.0),
        _ => format!("{:.1} GiB", value / 1_073_741_824.0),
    }
}

fn row(one: &Summary) -> Vec<String> {
    vec![
        clean(&one.header.id),
        local(one.modified),
        size(one.bytes),
        clean(&format!("{}/{}", one.header.provider, one.header.model)),
        clean(&one.header.workspace),
        one.title.clone(),
    ]
}

fn summary_json(one: &Summary) -> Value {
    json!({
        "id": one.header.id,
        "title": one.title,
        "workspace": one.header.workspace,
        "created": one.header.created,
        "modified": one.modified,
        "bytes": one.bytes,
        "provider": one.header.provider,
        "model": one.header.model,
        "mode": one.header.mode,
        "parent": one.header.parent,
        "path": one.path.to_string_lossy(),
    })
}

fn session_json(summary: &Summary, loaded: &Loaded) -> Value {
    let mut value = summary_json(summary);
    let turns = loaded.turns.iter().map(|turn| json!({ "turn": turn.turn, "stop_reason": turn.stop_reason }));
    let more = [
        ("provider", json!(loaded.provider)),
        ("model", json!(loaded.model)),
        ("mode", json!(loaded.mode)),
        ("turns", turns.collect()),
        ("usage", json!(loaded.usage())),
        ("todos", json!(loaded.todos)),
        ("interrupted", json!(loaded.interrupted.as_ref().map(|open| open.start.turn))),
        ("read_only", json!(loaded.read_only)),
        ("notices", json!(loaded.notices)),
    ];
    if let Some(fields) = value.as_object_mut() {
        fields.extend(more.map(|(name, field)| (name.to_owned(), field)));
    }
    value
}

fn facts(summary: &Summary, loaded: &Loaded) -> Vec<(&'static str, String)> {
    let header = &loaded.header;
    let mut facts = vec![
        ("session", clean(&header.id)),
        ("title", summary.title.clone()),
        ("file", format!("{} ({})", summary.path.display(), size(summary.bytes))),
        ("workspace", clean(&header.workspace)),
        ("created", local(header.created)),
        ("written", local(summary.modified)),
        ("model", clean(&format!("{}/{}", loaded.provider, loaded.model))),
        ("mode", loaded.mode.to_string()),
        ("turns", loaded.turns.len().to_string()),
        ("usage", tokens(&loaded.usage())),
    ];
    if let Some(parent) = &header.parent {
        facts.push(("fork of", format!("{} (its first {} lines)", parent.session, parent.record)));
    }
    if let Some(open) = &loaded.interrupted {
        let text = format!("turn {}; crystal run --resume {} goes on with it", open.start.turn, header.id);
        facts.push(("interrupted", text));
    }
    facts
}

fn tokens(usage: &Usage) -> String {
    let number =
        |tokens: Option<u64>| tokens.map_or_else(|| "unknown".to_owned(), |tokens| tokens.to_string());
    format!("{} tokens in, {} out", number(usage.input), number(usage.output))
}

fn local(at: Timestamp) -> String {
    at.to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Text from a file, without what a terminal would obey.
fn clean(text: &str) -> String {
    display::line(text, usize::MAX)
}
