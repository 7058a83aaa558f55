//! Luau values to plain values and back; the one place where they meet.

use mlua::{AnyUserData, Lua, LuaSerdeExt, Table, UserData, Value};
use serde_json::Number;

use crate::plugin::lua::list_mark;
use crate::plugin::value::{Budget, Plain, ValueError, finite};

/// A number with more digits than a float holds (`crystal.int`).
pub(super) struct Exact(pub(super) Number);

impl UserData for Exact {
    fn add_methods<M: mlua::UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(mlua::MetaMethod::ToString, |_, this, ()| Ok(this.0.to_string()));
    }
}

/// A Luau copy of a plain value.
pub(super) fn value(lua: &Lua, value: &serde_json::Value) -> mlua::Result<Value> {
    Ok(match value {
        serde_json::Value::Null => lua.null(),
        serde_json::Value::Bool(value) => Value::Boolean(*value),
        serde_json::Value::Number(number) => Value::Number(number.as_f64().unwrap_or_default()),
        serde_json::Value::String(text) => Value::String(lua.create_string(text)?),
        serde_json::Value::Array(list) => {
            let table = lua.create_table_with_capacity(list.len(), 0)?;
            for item in list {
                table.raw_push(self::value(lua, item)?)?;
            }
            table.set_metatable(Some(list_mark(lua)))?;
            Value::Table(table)
        }
        serde_json::Value::Object(map) => {
            let table = lua.create_table_with_capacity(0, map.len())?;
            for (key, item) in map {
                table.raw_set(key.as_str(), self::value(lua, item)?)?;
            }
            Value::Table(table)
        }
    })
}

/// A plain copy of a Luau value.
pub(super) fn plain(lua: &Lua, value: &Value) -> Result<Plain, ValueError> {
    Walk { lua, budget: Budget::default(), open: Vec::new() }.value(value)
}

/// One walk through a value.
pub(super) struct Walk<'a> {
    pub(super) lua: &'a Lua,
    pub(super) budget: Budget,
    /// The tables that the walk is inside of.
    pub(super) open: Vec<Table>,
}

impl Walk<'_> {
    pub(super) fn value(&mut self, value: &Value) -> Result<Plain, ValueError> {
        self.budget.node(self.open.len())?;
        match value {
            Value::Nil => Ok(Plain::Null),
            other if other.is_null() => Ok(Plain::Null),
            Value::Boolean(value) => Ok(Plain::Bool(*value)),
            Value::Integer(value) => Ok(Plain::Number(*value as f64)),
            Value::Number(value) => finite(*value).map(Plain::Number),
            Value::String(text) => self.text(text).map(Plain::Text),
            Value::Table(table) => self.table(table),
            Value::UserData(data) => exact(data),
            other => Err(ValueError::kind(other.type_name())),
        }
    }

    fn text(&mut self, text: &mlua::LuaString) -> Result<String, ValueError> {
        self.budget.text(text.as_bytes().len())?;
        match text.to_str() {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(ValueError::new("is not UTF-8 text")),
        }
    }

    fn table(&mut self, table: &Table) -> Result<Plain, ValueError> {
        if self.open.iter().any(|open| open == table) {
            return Err(ValueError::new("contains itself"));
        }
        self.open.push(table.clone());
        let plain = self.entries(table);
        self.open.pop();
        plain
    }

    fn entries(&mut self, table: &Table) -> Result<Plain, ValueError> {
        let mut list: Vec<(usize, Value)> = Vec::new();
        let mut map: Vec<(String, Plain)> = Vec::new();
        for pair in table.pairs::<Value, Value>() {
            let (key, value) = pair.map_err(|_| ValueError::new("cannot be read"))?;
            match key {
                Value::String(key) => {
                    let key = self.text(&key).map_err(|error| error.in_key("(a field name)"))?;
                    let plain = self.value(&value).map_err(|error| error.in_key(&key))?;
                    map.push((key, plain));
                }
                Value::Integer(place) if place >= 1 => {
                    // Positions are paid for before they are kept, so that a huge list cannot fill host memory.
                    self.budget.node(self.open.len())?;
                    list.push((usize::try_from(place).unwrap_or(usize::MAX), value));
                }
                Value::Integer(_) | Value::Number(_) => {
                    return Err(ValueError::new("has a number as a key that is no list position"));
                }
                other => return Err(ValueError::new(format!("has a {} as a key", other.type_name()))),
            }
        }
        if !list.is_empty() && !map.is_empty() {
            return Err(ValueError::new("mixes list items and named fields"));
        }
        if list.is_empty() && map.is_empty() {
            let is_list = table.metatable().is_some_and(|mark| mark == list_mark(self.lua));
            return Ok(if is_list { Plain::List(Vec::new()) } else { Plain::Empty });
        }
        if list.is_empty() {
            return Ok(Plain::Map(map));
        }
        list.sort_unstable_by_key(|(place, _)| *place);
        let mut out = Vec::with_capacity(list.len());
        for (index, (place, value)) in list.iter().enumerate() {
            if *place != index + 1 {
                return Err(ValueError::new(format!("is a list with a hole at {}", index + 1)));
            }
            out.push(self.value(value).map_err(|error| error.in_list(*place))?);
        }
        Ok(Plain::List(out))
    }
}

fn exact(data: &AnyUserData) -> Result<Plain, ValueError> {
    match data.borrow::<Exact>() {
        Ok(exact) => Ok(Plain::Exact(exact.0.clone())),
        Err(_) => Err(ValueError::kind("host handle")),
    }
}
