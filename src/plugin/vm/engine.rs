//! What the host needs of a script engine. Both engines sit behind it; nothing else names them.

use std::rc::Rc;

use serde_json::Value;

use crate::plugin::value::{Plain, ValueError};
use crate::plugin::vm::lend::{Emitter, Transcript};

/// A script engine with one plugin in it. It lives and dies on its VM's thread; a call may come while another waits
/// in a host function.
pub trait Engine {
    /// Runs the entry script.
    fn load(&self, entry: &str) -> Result<(), ScriptError>;
    /// Calls a function that the script handed over.
    fn call(&self, function: FunctionId, arguments: Vec<Argument>) -> Result<Plain, ScriptError>;
    /// The host names that scripts can see, sorted: `crystal.log`, `emit.text`.
    fn exposed(&self) -> Vec<String>;
}

/// A function of a script, kept by its engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionId(pub(crate) usize);

/// What a script function is called with.
#[derive(Debug)]
pub enum Argument {
    /// A plain value, copied.
    Value(Value),
    /// A map whose `items` field is a transcript, read in place.
    Record(Value, Rc<Transcript>),
    /// Where a protocol's answer goes.
    Emit(Rc<Emitter>),
}

/// How script code fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptError {
    /// It raised an error or does not parse: file, line, words.
    Raised(String),
    /// It reached its memory limit.
    Memory,
    /// It returned what cannot leave it.
    Value(ValueError),
}
