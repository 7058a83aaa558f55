//! Reading replies: what every acceptance rule needs of a returned value.

use serde_json::{Map, Value};

use crate::hook::moment::{Given, Rejection};

impl Given {
    /// The value of a reply that takes no transcript.
    pub(crate) fn plain(self) -> Result<Value, Rejection> {
        match self.edits {
            None => Ok(self.value),
            Some(_) => Err(Rejection::shape("it returned a list of items, which this moment does not take")),
        }
    }
    /// Text, as text hooks return it.
    pub(crate) fn text(self) -> Result<String, Rejection> {
        match self.plain()? {
            Value::String(text) => Ok(text),
            other => Err(Rejection::shape(format!("it returned {}, not text", kind(&other)))),
        }
    }
    /// An object.
    pub(crate) fn object(self) -> Result<Map<String, Value>, Rejection> {
        object(self.plain()?, "it returned")
    }
    /// An event's replacement that may carry the transcript, and the edits apart from it.
    pub(crate) fn fields(self) -> Result<Map<String, Value>, Rejection> {
        object(self.value, "its `replace` is")
    }
}

/// An object, or a sentence that begins with `what`.
pub(crate) fn object(value: Value, what: &str) -> Result<Map<String, Value>, Rejection> {
    match value {
        Value::Object(map) => Ok(map),
        other => Err(Rejection::shape(format!("{what} {}, not an object", kind(&other)))),
    }
}

/// Takes a field out; null is absent.
pub(crate) fn take(map: &mut Map<String, Value>, field: &str) -> Option<Value> {
    map.remove(field).filter(|value| !value.is_null())
}

/// Takes a text field out.
pub(crate) fn take_text(map: &mut Map<String, Value>, field: &str) -> Result<Option<String>, Rejection> {
    match take(map, field) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong(field, &other, "text")),
    }
}

/// Takes a true-or-false field out.
pub(crate) fn take_bool(map: &mut Map<String, Value>, field: &str) -> Result<Option<bool>, Rejection> {
    match take(map, field) {
        None => Ok(None),
        Some(Value::Bool(yes)) => Ok(Some(yes)),
        Some(other) => Err(wrong(field, &other, "true or false")),
    }
}

/// Takes a list out. An empty object counts as an empty list: a script's empty table may cross as either.
pub(crate) fn take_list(map: &mut Map<String, Value>, field: &str) -> Result<Option<Vec<Value>>, Rejection> {
    take(map, field).map(|value| list(value).map_err(|other| wrong(field, &other, "a list"))).transpose()
}

/// A list, or the value that is none.
pub(crate) fn list(value: Value) -> Result<Vec<Value>, Value> {
    match value {
        Value::Array(list) => Ok(list),
        Value::Object(map) if map.is_empty() => Ok(Vec::new()),
        other => Err(other),
    }
}

/// A field of the wrong kind.
pub(crate) fn wrong(field: &str, value: &Value, wanted: &str) -> Rejection {
    Rejection::shape(format!("its `{field}` is {}, not {wanted}", kind(value)))
}

/// What a value is, with its article.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Lines for the fields of a reply that do not count here.
pub(crate) fn unlisted(map: &Map<String, Value>) -> Vec<String> {
    map.keys().map(|field| format!("`{field}` cannot be replaced here")).collect()
}
