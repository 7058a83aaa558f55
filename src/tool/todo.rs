//! The tools `todowrite` and `todoread`: the session's todo list.

use serde_json::{Map, Value, json};

use crate::model::port::{BoxFuture, Payload, Proposal, Todo, TodoStatus};
use crate::model::request::ToolSpec;
use crate::text::cut;
use crate::tool::{Catalogs, MAX_OUTPUT_CHARS, Output, Tool, ToolContext, spec, text};

/// Replaces the list.
#[derive(Debug)]
pub struct TodoWrite(ToolSpec);

/// Shows the list.
#[derive(Debug)]
pub struct TodoRead(ToolSpec);

const WRITE: &str = "\
Replaces the session's todo list, which the operator sees; give the whole list each time, an empty one to clear it. \
Use it for work of several steps: set an entry in_progress when you begin it and completed as soon as it is done.";
const READ: &str = "Shows the session's todo list.";

/// The most entries, and the most characters of one.
const MAX_TODOS: usize = 500;
const MAX_CHARS: usize = 2000;

impl TodoWrite {
    /// The tool.
    pub fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "maxItems": MAX_TODOS,
                    "description": "The whole list, in order.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": {
                                "type": "string", "minLength": 1, "maxLength": MAX_CHARS,
                                "description": "What is to be done."
                            },
                            "status": {
                                "enum": ["pending", "in_progress", "completed", "cancelled"],
                                "description": "Default pending."
                            }
                        },
                        "required": ["content"]
                    }
                }
            },
            "required": ["todos"],
            "additionalProperties": false
        });
        Self(spec("todowrite", WRITE, schema))
    }
}

impl TodoRead {
    /// The tool.
    pub fn new() -> Self {
        let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
        Self(spec("todoread", READ, schema))
    }
}

impl Default for TodoWrite {
    fn default() -> Self {
        Self::new()
    }
}

impl Default for TodoRead {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for TodoWrite {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn catalogs(&self) -> Catalogs {
        Catalogs { plan: true, work: true }
    }
    fn run<'a>(&'a self, arguments: &'a Map<String, Value>, cx: &'a ToolContext) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let todos: Vec<Todo> = entries(arguments).map(todo).collect();
            let proposal = Proposal { source: cx.source.clone(), payload: Payload::Todos(todos) };
            match cx.commit.commit(proposal).await {
                Ok(_) => Output::said(list(&cx.commit.todos())),
                Err(refusal) => Output::failed(refusal.0),
            }
        })
    }
}

impl Tool for TodoRead {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn catalogs(&self) -> Catalogs {
        Catalogs { plan: true, work: true }
    }
    fn concurrent(&self) -> bool {
        true
    }
    fn run<'a>(&'a self, _: &'a Map<String, Value>, cx: &'a ToolContext) -> BoxFuture<'a, Output> {
        Box::pin(async move { Output::said(list(&cx.commit.todos())) })
    }
}

fn entries(arguments: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    arguments.get("todos").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

fn todo(entry: &Map<String, Value>) -> Todo {
    let status = match text(entry, "status") {
        "in_progress" => TodoStatus::InProgress,
        "completed" => TodoStatus::Completed,
        "cancelled" => TodoStatus::Cancelled,
        _ => TodoStatus::Pending,
    };
    Todo { content: text(entry, "content").to_owned(), status }
}

/// The list as the model reads it.
fn list(todos: &[Todo]) -> String {
    if todos.is_empty() {
        return "The todo list is empty".into();
    }
    let line = |(index, todo): (usize, &Todo)| {
        let status = match todo.status {
            TodoStatus::Pending => "pending",
            TodoStatus::InProgress => "in_progress",
            TodoStatus::Completed => "completed",
            TodoStatus::Cancelled => "cancelled",
        };
        format!("{}. [{status}] {}\n", index + 1, todo.content)
    };
    let text: String = todos.iter().enumerate().map(line).collect();
    cut::middle(&text, MAX_OUTPUT_CHARS - 100, |left| format!("<{} lines left out>", left.lines().count()))
}
