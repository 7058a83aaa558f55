//! `HOST`: everything the host offers to scripts, once, for both languages.
//!
//! A row names a function, its parameters and what it does; each engine binds all rows by one loop, so a function exists
//! in both or in neither. An engine converts arguments as the row says and calls [`run`], which keeps panics and host
//! memory out of the script's world.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Map, Number, Value};

use crate::plugin::vm::desk::{Desk, panic_text};
use crate::plugin::vm::engine::FunctionId;
use crate::plugin::vm::lend::Emitter;
use crate::plugin::vm::memory;

mod basic;
mod contribute;
mod emit;

/// The table. Names are no reserved words of either language; a test guards that.
pub const HOST: &[Function] = &[
    contribute::TOOL,
    contribute::PROTOCOL,
    basic::LOG,
    basic::SETTINGS,
    basic::ARRAY,
    basic::INT,
    emit::TEXT,
    emit::REASONING,
    emit::TOOL_CALL,
    emit::USAGE,
    emit::FINISH,
];

/// One function for scripts.
#[derive(Clone, Copy)]
pub struct Function {
    /// On what it is found.
    pub place: Place,
    /// Its name there.
    pub name: &'static str,
    /// Its parameters, required ones first.
    pub parameters: &'static [Parameter],
    /// What it gives back, in words for the reference; empty for nothing.
    pub result: &'static str,
    /// The `[permissions]` entry it needs; none where it reaches nothing outside its VM.
    pub permission: Option<&'static str>,
    /// When it may be called.
    pub when: When,
    /// One or two sentences for authors.
    pub doc: &'static str,
    /// The function.
    pub run: &'static Run,
}

/// A host function: its arguments come as its row's parameters say, one each.
pub type Run = dyn Fn(&Scene<'_>, Vec<Given>) -> Result<Answer, String> + Sync;

impl Function {
    /// Its full name: `crystal.log`, `emit.text`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.place.name(), self.name)
    }
    /// How many arguments it needs at least.
    pub fn required(&self) -> usize {
        self.parameters.iter().filter(|parameter| !parameter.optional).count()
    }
}

/// Where a function is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The global table `crystal` (Luau), the module `crystal` (Rhai).
    Crystal,
    /// The `emit` that a protocol's `stream` is given.
    Emit,
}

impl Place {
    /// Its name in scripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Crystal => "crystal",
            Self::Emit => "emit",
        }
    }
}

/// When a function may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// While the entry script runs.
    Loading,
    /// At any time.
    Always,
}

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name in the reference and in messages.
    pub name: &'static str,
    /// What it takes.
    pub shape: Shape,
    /// Whether it may be left out.
    pub optional: bool,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Text.
    Text,
    /// Any plain value.
    Value,
    /// A list; an empty table is an empty list.
    List,
    /// A table of plain values and, at its top, functions.
    Record,
}

impl Shape {
    /// Its name in messages and in the reference.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Value => "a plain value",
            Self::List => "a list",
            Self::Record => "a table",
        }
    }
}

/// A converted argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// It was left out.
    Nothing,
    /// A plain value: text, a list or any, as the row's shape says.
    Value(Value),
    /// A record: its plain fields and its functions.
    Record(Record),
}

/// A table of plain values and functions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Plain fields.
    pub fields: Map<String, Value>,
    /// Functions, kept by the engine.
    pub functions: Vec<(String, FunctionId)>,
}

/// What a host function gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Nothing.
    Nothing,
    /// A plain value.
    Value(Value),
    /// A number that must not lose digits in an engine without integers.
    Exact(Number),
}

/// What a host function may reach.
pub struct Scene<'a> {
    /// The VM.
    pub desk: &'a Desk,
    /// Where the answer in progress goes, for functions of [`Place::Emit`].
    pub emitter: Option<&'a Emitter>,
}

/// A line as it is logged: at most 8 KiB.
pub(crate) fn line(text: &str) -> &str {
    text.get(..text.floor_char_boundary(8 * 1024)).unwrap_or(text)
}

/// A script's words, cut to what a message can hold.
pub(crate) fn short(text: &str) -> String {
    const MAX: usize = 2_000;
    match text.get(..text.floor_char_boundary(MAX)) {
        Some(cut) if cut.len() < text.len() => format!("{cut}…"),
        _ => text.to_owned(),
    }
}

/// Whether a function may be called now.
pub fn permit(function: &Function, desk: &Desk) -> Result<(), String> {
    if function.when == When::Loading && !desk.loading() {
        return Err(format!("{} works only while the entry script runs", function.path()));
    }
    Ok(())
}

/// Runs a host function on behalf of a script.
pub fn run(function: &Function, scene: &Scene<'_>, arguments: Vec<Given>) -> Result<Answer, String> {
    let work = AssertUnwindSafe(|| (function.run)(scene, arguments));
    let outcome = memory::uncounted(|| catch_unwind(work));
    match outcome {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(message)) => Err(memory::uncounted(|| format!("{}: {message}", function.path()))),
        Err(panic) => Err(memory::uncounted(|| {
            format!("{}: the host failed: {}", function.path(), panic_text(&*panic))
        })),
    }
}

impl Given {
    /// Text; empty where it was left out.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Value(Value::String(text)) => text,
            _ => String::new(),
        }
    }
    /// A record; empty where it was left out.
    pub(crate) fn into_record(self) -> Record {
        match self {
            Self::Record(record) => record,
            _ => Record::default(),
        }
    }
    /// A plain value; null where it was left out.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Value(value) => value,
            _ => Value::Null,
        }
    }
}

impl Record {
    /// The text in a field that must be there.
    pub(crate) fn text(&self, field: &str) -> Result<&str, String> {
        match self.fields.get(field) {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(text),
            Some(Value::String(_)) => Err(format!("'{field}' is empty")),
            Some(_) => Err(format!("'{field}' is not text")),
            None => Err(format!("'{field}' is missing")),
        }
    }
    /// The function in a field that must be there.
    pub(crate) fn function(&self, field: &str) -> Result<FunctionId, String> {
        let found = self.functions.iter().find(|(name, _)| name == field);
        found.map(|(_, function)| *function).ok_or_else(|| format!("'{field}' must be a function"))
    }
    /// A yes or no; `default` where the field is left out.
    pub(crate) fn flag(&self, field: &str, default: Flag) -> Result<Flag, String> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(default),
            Some(Value::Bool(true)) => Ok(Flag::Yes),
            Some(Value::Bool(false)) => Ok(Flag::No),
            Some(_) => Err(format!("'{field}' must be true or false")),
        }
    }
    /// An error if there is a field that nobody reads: a misspelt name must not pass in silence.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), String> {
        let names = self.fields.keys().chain(self.functions.iter().map(|(name, _)| name));
        match names.into_iter().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(format!("'{name}' is no field of it; it takes {}", known.join(", "))),
            None => Ok(()),
        }
    }
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum Flag {
    Yes,
    No,
}
