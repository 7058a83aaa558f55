//! Rhai values to plain values and back; the one place where they meet.

use rhai::{Array, Dynamic, Map};
use serde_json::{Number, Value};

use crate::plugin::value::{Budget, Plain, ValueError, finite};

/// A number beyond the engine's integers (`crystal::int`).
#[derive(Clone)]
pub(super) struct Exact(pub(super) Number);

/// A Rhai copy of a plain value.
pub(super) fn dynamic(value: &Value) -> Dynamic {
    match value {
        Value::Null => Dynamic::UNIT,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => self::number(number),
        Value::String(text) => text.as_str().into(),
        Value::Array(list) => list.iter().map(dynamic).collect::<Array>().into(),
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| (key.as_str().into(), dynamic(value)));
            Dynamic::from_map(entries.collect::<Map>())
        }
    }
}

/// A number as the engine's own kind, where it has one that fits.
pub(super) fn number(number: &Number) -> Dynamic {
    match number.as_i64() {
        Some(value) => value.into(),
        None => number.as_f64().unwrap_or_default().into(),
    }
}

/// A plain copy of a Rhai value.
pub(super) fn plain(value: &Dynamic) -> Result<Plain, ValueError> {
    Walk { budget: Budget::default(), depth: 0 }.value(value)
}

/// One walk through a value. Rhai's containers are values, so only a shared variable can hold itself; the depth
/// limit ends that.
pub(super) struct Walk {
    pub(super) budget: Budget,
    pub(super) depth: usize,
}

impl Walk {
    pub(super) fn value(&mut self, value: &Dynamic) -> Result<Plain, ValueError> {
        self.budget.node(self.depth)?;
        if value.is_unit() {
            return Ok(Plain::Null);
        }
        if let Ok(value) = value.as_bool() {
            return Ok(Plain::Bool(value));
        }
        if let Ok(value) = value.as_int() {
            return Ok(Plain::Int(value));
        }
        if let Ok(value) = value.as_float() {
            return finite(value).map(Plain::Float);
        }
        if let Ok(value) = value.as_char() {
            return Ok(Plain::Text(value.to_string()));
        }
        if let Ok(text) = value.as_immutable_string_ref() {
            self.budget.text(text.len())?;
            return Ok(Plain::Text(text.as_str().to_owned()));
        }
        self.depth += 1;
        let plain = self.container(value);
        self.depth -= 1;
        plain
    }

    fn container(&mut self, value: &Dynamic) -> Result<Plain, ValueError> {
        if let Some(list) = value.read_lock::<Array>() {
            let mut out = Vec::with_capacity(list.len());
            for (index, item) in list.iter().enumerate() {
                out.push(self.value(item).map_err(|error| error.in_list(index))?);
            }
            return Ok(Plain::List(out));
        }
        if let Some(map) = value.read_lock::<Map>() {
            let mut out = Vec::with_capacity(map.len());
            for (key, item) in map.iter() {
                self.budget.text(key.len())?;
                let plain = self.value(item).map_err(|error| error.in_key(key))?;
                out.push((key.to_string(), plain));
            }
            return Ok(Plain::Map(out));
        }
        if let Some(exact) = value.read_lock::<Exact>() {
            return Ok(Plain::Exact(exact.0.clone()));
        }
        let name = if value.is_fnptr() { "function" } else { value.type_name() };
        Err(ValueError::kind(name.rsplit("::").next().unwrap_or(name)))
    }
}
