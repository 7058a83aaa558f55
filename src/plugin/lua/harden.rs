//! What the Luau libraries lose before a plugin sees them, and what replaces it.

use std::rc::Rc;

use mlua::{Function, Lua, LuaString, MultiValue, Table, Value, Variadic};

use crate::plugin::host;
use crate::plugin::vm::desk::Desk;

/// Globals that load code, reach other functions' environments or look into the collector.
const REMOVED: &[&str] =
    &["loadstring", "getfenv", "setfenv", "newproxy", "gcinfo", "require", "collectgarbage"];

/// Characters that mean something in a pattern.
const SPECIAL: &[u8] = b"^$*+?.([%-";

/// Takes away what is dangerous. Plain search compares byte by byte inside one native call, which no deadline can
/// interrupt on long texts, so it is done by an algorithm that is linear.
pub(super) fn libraries(lua: &Lua, desk: &Rc<Desk>) -> mlua::Result<()> {
    let globals = lua.globals();
    for name in REMOVED {
        globals.raw_set(*name, Value::Nil)?;
    }
    let string: Table = globals.get("string")?;
    let pattern_find: Function = string.get("find")?;
    string.raw_set(
        "find",
        lua.create_function(move |_, (text, pattern, init, plain): FindArguments| {
            let is_plain = matches!(plain, Some(Value::Boolean(true)))
                || plain.as_ref().is_some_and(|plain| !matches!(plain, Value::Nil | Value::Boolean(_)));
            if is_plain || !pattern.as_bytes().iter().any(|byte| SPECIAL.contains(byte)) {
                return Ok(find(&text.as_bytes(), &pattern.as_bytes(), init.unwrap_or(1)));
            }
            pattern_find.call::<MultiValue>((text, pattern, init.unwrap_or(1)))
        })?,
    )?;
    string.raw_set("split", lua.create_function(split)?)?;
    globals.raw_set("print", print(lua, desk)?)
}

type FindArguments = (LuaString, LuaString, Option<i64>, Option<Value>);

/// 1-based, inclusive, as `string.find` answers.
fn find(text: &[u8], needle: &[u8], init: i64) -> MultiValue {
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let from = if init < 0 { (length + init + 1).max(1) } else { init.max(1) };
    let start = usize::try_from(from - 1).unwrap_or(usize::MAX);
    let found = text.get(start..).and_then(|rest| memchr::memmem::find(rest, needle));
    let Some(found) = found else { return MultiValue::from_iter([Value::Nil]) };
    let first = start + found + 1;
    let last = first + needle.len() - 1;
    MultiValue::from_iter([Value::Number(first as f64), Value::Number(last as f64)])
}

fn split(lua: &Lua, (text, separator): (LuaString, Option<LuaString>)) -> mlua::Result<Table> {
    let text = text.as_bytes();
    let table = lua.create_table()?;
    let separator = separator.map_or_else(|| b",".to_vec(), |separator| separator.as_bytes().to_vec());
    if separator.is_empty() {
        for byte in text.iter() {
            table.raw_push(lua.create_string([*byte])?)?;
        }
        return Ok(table);
    }
    let mut start = 0;
    for end in memchr::memmem::find_iter(&text, &separator) {
        table.raw_push(lua.create_string(text.get(start..end).unwrap_or_default())?)?;
        start = end + separator.len();
    }
    table.raw_push(lua.create_string(text.get(start..).unwrap_or_default())?)?;
    Ok(table)
}

fn print(lua: &Lua, desk: &Rc<Desk>) -> mlua::Result<Function> {
    let desk = Rc::clone(desk);
    lua.create_function(move |_, values: Variadic<Value>| {
        let mut line = String::new();
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                line.push('\t');
            }
            line.push_str(&value.to_string()?);
        }
        desk.log(host::line(&line));
        Ok(())
    })
}

/// Raw host functions return `true, value` or `false, message`; scripts call them through this, so that an error is
/// text that begins with the line of the call, as errors of the script itself do.
pub(super) fn raising(lua: &Lua) -> mlua::Result<Function> {
    let source = "
        local error = error
        return function(raw)
            return function(...)
                local fine, value = raw(...)
                if not fine then error(value, 2) end
                return value
            end
        end";
    lua.load(source).set_name("=crystal").eval()
}
