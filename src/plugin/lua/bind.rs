//! Binds every row of the host table: one loop for `crystal`, one for `emit`.

use std::rc::Rc;

use mlua::{Lua, LuaSerdeExt, MultiValue, Table, Value};

use crate::plugin::host::{self, Answer, Given, Parameter, Place, Record, Scene, Shape};
use crate::plugin::lua::convert::{self, Exact, Walk};
use crate::plugin::lua::{Shared, list_mark};
use crate::plugin::value::{Budget, Plain, ValueError, settle};
use crate::plugin::vm::engine::FunctionId;
use crate::plugin::vm::lend::Emitter;

/// Makes the global table `crystal`.
pub(super) fn globals(lua: &Lua, shared: &Rc<Shared>) -> mlua::Result<()> {
    let crystal = lua.create_table()?;
    for row in rows(shared, Place::Crystal) {
        crystal.raw_set(row.name, function(lua, shared, row, None)?)?;
    }
    crystal.raw_set("null", lua.null())?;
    crystal.set_readonly(true);
    lua.globals().raw_set(Place::Crystal.name(), crystal)
}

/// Makes the `emit` of one call.
pub(super) fn emit(lua: &Lua, shared: &Rc<Shared>, emitter: &Rc<Emitter>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    for row in rows(shared, Place::Emit) {
        table.raw_set(row.name, function(lua, shared, row, Some(emitter))?)?;
    }
    table.set_readonly(true);
    Ok(table)
}

/// Every function a script can see under `crystal` and `emit`, from the tables themselves.
pub(super) fn exposed(lua: &Lua, shared: &Rc<Shared>) -> mlua::Result<Vec<String>> {
    let (sink, _) = tokio::sync::mpsc::unbounded_channel();
    let tables = [
        (Place::Crystal, lua.globals().get::<Table>(Place::Crystal.name())?),
        (Place::Emit, emit(lua, shared, &Rc::new(Emitter::new(sink)))?),
    ];
    let mut names = Vec::new();
    for (place, table) in tables {
        for pair in table.pairs::<String, Value>() {
            let (name, value) = pair?;
            if value.is_function() {
                names.push(format!("{}.{name}", place.name()));
            }
        }
    }
    names.sort();
    Ok(names)
}

fn rows(shared: &Shared, place: Place) -> impl Iterator<Item = host::Function> {
    shared.rows.iter().copied().filter(move |row| row.place == place)
}

fn function(
    lua: &Lua,
    shared: &Rc<Shared>,
    row: host::Function,
    emitter: Option<&Rc<Emitter>>,
) -> mlua::Result<Value> {
    let (desk, raising) = (Rc::clone(shared), shared.raising.clone());
    let emitter = emitter.cloned();
    let raw = lua.create_function(move |lua, arguments: MultiValue| {
        let answer = call(lua, &desk, &row, emitter.as_deref(), arguments);
        Ok(match answer {
            Ok(Answer::Nothing) => (true, Value::Nil),
            Ok(Answer::Value(value)) => (true, convert::value(lua, &value)?),
            Ok(Answer::Exact(number)) => (true, Value::UserData(lua.create_userdata(Exact(number))?)),
            Err(message) => (false, Value::String(lua.create_string(message)?)),
        })
    })?;
    raising.call(raw)
}

fn call(
    lua: &Lua,
    shared: &Shared,
    row: &host::Function,
    emitter: Option<&Emitter>,
    arguments: MultiValue,
) -> Result<Answer, String> {
    host::permit(row, &shared.desk)?;
    if arguments.len() > row.parameters.len() {
        return Err(format!("{} takes {} arguments at most", row.path(), row.parameters.len()));
    }
    let mut given = Vec::with_capacity(row.parameters.len());
    let mut arguments = arguments.into_iter();
    for parameter in row.parameters {
        given.push(argument(lua, shared, row, parameter, arguments.next().unwrap_or(Value::Nil))?);
    }
    host::run(row, &Scene { desk: &shared.desk, emitter }, given)
}

fn argument(
    lua: &Lua,
    shared: &Shared,
    row: &host::Function,
    parameter: &Parameter,
    value: Value,
) -> Result<Given, String> {
    let wrong = || format!("{}: '{}' must be {}", row.path(), parameter.name, parameter.shape.name());
    let place = |error: ValueError| format!("{}: {}", row.path(), error.at(parameter.name));
    if value.is_nil() && (parameter.optional || parameter.shape == Shape::Value) {
        return Ok(Given::Nothing);
    }
    match (parameter.shape, &value) {
        (Shape::Text, Value::String(_)) | (Shape::Value, _) => {
            Ok(Given::Value(settle(convert::plain(lua, &value).map_err(place)?, None)))
        }
        (Shape::List, Value::Table(_)) => match convert::plain(lua, &value).map_err(place)? {
            Plain::Empty => Ok(Given::Value(serde_json::Value::Array(Vec::new()))),
            list @ Plain::List(_) => Ok(Given::Value(settle(list, None))),
            _ => Err(wrong()),
        },
        (Shape::Record, Value::Table(table)) => record(lua, shared, table).map(Given::Record).map_err(place),
        _ => Err(wrong()),
    }
}

fn record(lua: &Lua, shared: &Shared, table: &Table) -> Result<Record, ValueError> {
    let mut walk = Walk { lua, budget: Budget::default(), open: vec![table.clone()] };
    let mut record = Record::default();
    if table.metatable().is_some_and(|mark| mark == list_mark(lua)) {
        return Err(ValueError::new("is a list, not a table of named fields"));
    }
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|_| ValueError::new("cannot be read"))?;
        let Value::String(key) = key else {
            return Err(ValueError::new("has a key that is not text"));
        };
        let key = key
            .to_str()
            .map(|key| key.to_owned())
            .map_err(|_| ValueError::new("has a key that is not UTF-8"))?;
        if let Value::Function(function) = value {
            let mut functions = shared.functions.borrow_mut();
            record.functions.push((key, FunctionId(functions.len())));
            functions.push(function);
        } else {
            let plain = walk.value(&value).map_err(|error| error.in_key(&key))?;
            record.fields.insert(key, settle(plain, None));
        }
    }
    Ok(record)
}
