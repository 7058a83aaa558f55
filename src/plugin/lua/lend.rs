//! The transcript as Luau reads it: `#items`, `items[1]`, `for index, item in items`.

use std::rc::Rc;

use mlua::{Error, Lua, MetaMethod, UserData, UserDataMethods, Value};

use crate::plugin::lua::convert;
use crate::plugin::vm::lend::Transcript;
use crate::plugin::vm::memory;

/// A lent transcript; positions count from 1.
pub(super) struct Items(pub(super) Rc<Transcript>);

impl UserData for Items {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Len, |_, this, ()| this.0.len().map_err(Error::runtime));
        methods.add_meta_method(MetaMethod::Index, |lua, this, key: Value| match key {
            Value::Integer(place) => item(lua, &this.0, place),
            _ => Err(Error::runtime("items are read by position, from 1 to #items")),
        });
        methods.add_meta_method(MetaMethod::Iter, |lua, this, ()| {
            let transcript = Rc::clone(&this.0);
            let next = lua.create_function(move |lua, (_, place): (Value, i64)| {
                let value = item(lua, &transcript, place + 1)?;
                Ok(match value {
                    Value::Nil => (Value::Nil, Value::Nil),
                    item => (Value::Number((place + 1) as f64), item),
                })
            })?;
            Ok((next, Value::Nil, 0))
        });
    }
}

fn item(lua: &Lua, transcript: &Transcript, place: i64) -> mlua::Result<Value> {
    let Ok(index) = usize::try_from(place - 1) else { return Ok(Value::Nil) };
    match transcript.get(index).map_err(Error::runtime)? {
        Some(payload) => {
            let value = convert::value(lua, &payload);
            memory::uncounted(|| drop(payload));
            value
        }
        None => Ok(Value::Nil),
    }
}
