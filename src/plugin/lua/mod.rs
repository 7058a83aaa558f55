//! The Luau engine. Together with its folder the only place that names `mlua`.
//!
//! A script sees an explicit set of libraries, read-only, and the host's functions. Its clock is the flag that the
//! interrupt reads at every call and loop; its memory limit is the VM's own.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::chunk::ChunkMode;
use mlua::{Error, Function, Lua, LuaOptions, StdLib, Table, Value, VmState};

use crate::plugin::files::{Files, LUAU};
use crate::plugin::host;
use crate::plugin::value::Plain;
use crate::plugin::vm::desk::Desk;
use crate::plugin::vm::engine::{Argument, Engine, FunctionId, ScriptError};

mod bind;
mod convert;
mod harden;
mod lend;
mod require;

/// Stack of a VM thread: Luau nests at most 200 levels of native calls.
pub const STACK_BYTES: usize = 8 * 1024 * 1024;

/// The stop that the interrupt raises. Scripts may catch it; they are stopped again at their next step.
const STOPPED: &str = "the call was stopped";

/// One VM.
pub struct Luau {
    lua: Lua,
    files: Rc<Files>,
    shared: Rc<Shared>,
}

/// What the bound functions need.
struct Shared {
    desk: Rc<Desk>,
    functions: RefCell<Vec<Function>>,
    /// Turns a host function that returns its error into one that raises it, with the caller's line.
    raising: Function,
    rows: Vec<host::Function>,
}

impl Luau {
    /// A hardened VM with every function of `rows`.
    pub fn new(desk: &Rc<Desk>, rows: Vec<host::Function>, files: Files) -> Result<Self, ScriptError> {
        Self::build(desk, rows, files).map_err(|error| failure(&error))
    }

    fn build(desk: &Rc<Desk>, rows: Vec<host::Function>, files: Files) -> mlua::Result<Self> {
        let removed = StdLib::OS | StdLib::DEBUG | StdLib::INTEGER;
        let lua = Lua::new_with(StdLib::ALL_SAFE ^ removed, LuaOptions::new().catch_rust_panics(false))?;
        harden::libraries(&lua, desk)?;
        let raising = harden::raising(&lua)?;
        let shared = Rc::new(Shared { desk: Rc::clone(desk), functions: RefCell::default(), raising, rows });
        bind::globals(&lua, &shared)?;
        let files = Rc::new(files);
        require::install(&lua, &shared, &files)?;
        let clock = desk.clock().clone();
        lua.set_interrupt(move |_| match clock.must_stop() {
            false => Ok(VmState::Continue),
            true => Err(Error::runtime(STOPPED)),
        });
        // Last: from here on the libraries and globals made above are read-only.
        lua.sandbox(true)?;
        lua.set_memory_limit(desk.memory_bytes())?;
        Ok(Self { lua, files, shared })
    }
}

impl Engine for Luau {
    fn load(&self, entry: &str) -> Result<(), ScriptError> {
        let module = self.files.entry(entry, &LUAU).map_err(ScriptError::Raised)?;
        let chunk = self.lua.load(module.source).set_name(format!("@{}", module.path));
        let result = chunk.set_mode(ChunkMode::Text).exec();
        result.map_err(|error| failure(&error))
    }

    fn call(&self, function: FunctionId, arguments: Vec<Argument>) -> Result<Plain, ScriptError> {
        let found = self.shared.functions.borrow().get(function.0).cloned();
        let function = found.ok_or_else(|| ScriptError::Raised("the function is gone".to_owned()))?;
        let mut values = mlua::MultiValue::new();
        for argument in arguments {
            values.push_back(self.argument(argument).map_err(|error| failure(&error))?);
        }
        let result: Value = function.call(values).map_err(|error| failure(&error))?;
        convert::plain(&self.lua, &result).map_err(ScriptError::Value)
    }

    fn exposed(&self) -> Vec<String> {
        bind::exposed(&self.lua, &self.shared).unwrap_or_default()
    }
}

impl Luau {
    fn argument(&self, argument: Argument) -> mlua::Result<Value> {
        match argument {
            Argument::Value(value) => convert::value(&self.lua, &value),
            Argument::Record(fields, transcript) => {
                let record = convert::value(&self.lua, &fields)?;
                if let Value::Table(table) = &record {
                    table.raw_set("items", lend::Items(transcript))?;
                }
                Ok(record)
            }
            Argument::Emit(emitter) => Ok(Value::Table(bind::emit(&self.lua, &self.shared, &emitter)?)),
        }
    }
}

/// An error as the host tells it: the script's words, from which the traceback is cut.
fn failure(error: &Error) -> ScriptError {
    match error {
        Error::MemoryError(_) => ScriptError::Memory,
        Error::CallbackError { cause, .. } => failure(cause),
        Error::WithContext { cause, .. } => failure(cause),
        Error::RuntimeError(message) => ScriptError::Raised(words(message)),
        Error::SyntaxError { message, .. } => ScriptError::Raised(words(message)),
        other => ScriptError::Raised(words(&other.to_string())),
    }
}

fn words(message: &str) -> String {
    let end = message.find("\nstack traceback:").unwrap_or(message.len());
    let text = message.get(..end).unwrap_or(message).trim();
    let text = text.strip_prefix("runtime error: ").unwrap_or(text);
    host::short(text)
}

/// A table that is a list even when it is empty.
fn list_mark(lua: &Lua) -> Table {
    mlua::LuaSerdeExt::array_metatable(lua)
}
