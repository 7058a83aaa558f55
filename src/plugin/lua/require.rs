//! `require`, confined to the plugin's own files and the standard library.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use mlua::chunk::ChunkMode;
use mlua::{Lua, Value};

use crate::plugin::files::{Files, LUAU};
use crate::plugin::host;
use crate::plugin::lua::Shared;

/// Deepest nesting of modules that load one another.
const MAX_NESTED: usize = 32;

/// Loaded modules by path; none while one is being loaded.
type Loaded = RefCell<HashMap<String, Option<Value>>>;

pub(super) fn install(lua: &Lua, shared: &Rc<Shared>, files: &Rc<Files>) -> mlua::Result<()> {
    let files = Rc::clone(files);
    let loaded = Loaded::default();
    let raw = lua.create_function(move |lua, name: Value| {
        let Value::String(name) = name else {
            return Ok((false, Value::String(lua.create_string("require: the module name must be text")?)));
        };
        match module(lua, &files, &loaded, &name.to_string_lossy()) {
            Ok(value) => Ok((true, value)),
            Err(Trouble::Refused(message)) => Ok((false, Value::String(lua.create_string(message)?))),
            Err(Trouble::Raised(error)) => Err(error),
        }
    })?;
    let require: Value = shared.raising.call(raw)?;
    lua.globals().raw_set("require", require)
}

enum Trouble {
    /// The module cannot be had.
    Refused(String),
    /// Its code failed; the error names the place in it.
    Raised(mlua::Error),
}

fn module(lua: &Lua, files: &Files, loaded: &Loaded, name: &str) -> Result<Value, Trouble> {
    let refused = |message: String| Trouble::Refused(host::short(&format!("require: {message}")));
    let module = files.module(name, &LUAU).map_err(refused)?;
    match loaded.borrow().get(&module.path) {
        Some(Some(value)) => return Ok(value.clone()),
        Some(None) => {
            return Err(refused(format!("'{}' requires itself, directly or in a circle", module.path)));
        }
        None => {}
    }
    if loaded.borrow().values().filter(|value| value.is_none()).count() >= MAX_NESTED {
        return Err(refused(format!("modules are nested deeper than {MAX_NESTED}")));
    }
    loaded.borrow_mut().insert(module.path.clone(), None);
    let chunk = lua.load(module.source).set_name(format!("@{}", module.path)).set_mode(ChunkMode::Text);
    let value = chunk.eval::<Value>();
    match value {
        Ok(value) => {
            loaded.borrow_mut().insert(module.path, Some(value.clone()));
            Ok(value)
        }
        Err(error) => {
            // A failed module may be tried again.
            loaded.borrow_mut().remove(&module.path);
            Err(Trouble::Raised(error))
        }
    }
}
