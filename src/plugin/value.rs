//! What crosses between a script and the host: plain JSON values, and the rules of the way back.
//!
//! An engine turns its own values into [`Plain`], which says no more than the engine knows (Luau cannot tell `{}` from
//! `[]` or `1` from `1.0`), and [`settle`] decides with the value that the script had been given at hand: what it did
//! not touch comes back token for token. Whatever cannot be represented is an error that names its place.

use std::collections::HashMap;
use std::fmt;

use serde_json::{Map, Number, Value};

/// Most nodes (values, keys not counted) one value may have.
pub const MAX_NODES: usize = 200_000;
/// Most bytes of text, keys included, one value may have.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Deepest nesting.
pub const MAX_DEPTH: usize = 128;
/// Integers up to this magnitude have an exact 64-bit float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A script's value, as far as its engine knows it.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Plain {
    Null,
    Bool(bool),
    /// An integer of an engine that has integers.
    Int(i64),
    /// A float of an engine that has integers too.
    Float(f64),
    /// A number of an engine that has one kind of number.
    Number(f64),
    /// A number made with `crystal.int`, or passed through untouched.
    Exact(Number),
    Text(String),
    List(Vec<Plain>),
    Map(Vec<(String, Plain)>),
    /// A container without entries that may be meant as a list or as a map.
    Empty,
}

/// Makes JSON of a script's value. `original` is what the script was given in its place, if anything: equal numbers
/// keep its token, an empty container its kind, a map its order (new keys follow, sorted).
pub fn settle(plain: Plain, original: Option<&Value>) -> Value {
    match plain {
        Plain::Null => Value::Null,
        Plain::Bool(value) => Value::Bool(value),
        Plain::Text(text) => Value::String(text),
        Plain::Exact(number) => Value::Number(number),
        Plain::Int(value) => match original {
            Some(Value::Number(number)) if number.as_i64() == Some(value) => Value::Number(number.clone()),
            _ => Value::from(value),
        },
        Plain::Float(value) => match original {
            Some(Value::Number(number)) if number.as_i64().is_none() && number.as_f64() == Some(value) => {
                Value::Number(number.clone())
            }
            _ => Value::from(value),
        },
        Plain::Number(value) => match original {
            Some(Value::Number(number)) if number.as_f64() == Some(value) => Value::Number(number.clone()),
            _ => number(value),
        },
        Plain::Empty => match original {
            Some(Value::Array(_)) => Value::Array(Vec::new()),
            _ => Value::Object(Map::new()),
        },
        Plain::List(list) => {
            let before = original.and_then(Value::as_array);
            let item = |(index, plain)| settle(plain, before.and_then(|list| list.get(index)));
            Value::Array(list.into_iter().enumerate().map(item).collect())
        }
        Plain::Map(entries) => Value::Object(map(entries, original.and_then(Value::as_object))),
    }
}

fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() <= EXACT {
        return Value::from(value as i64);
    }
    Value::from(value)
}

fn map(mut entries: Vec<(String, Plain)>, before: Option<&Map<String, Value>>) -> Map<String, Value> {
    let order: HashMap<&str, usize> = before
        .into_iter()
        .flat_map(Map::keys)
        .enumerate()
        .map(|(place, key)| (key.as_str(), place))
        .collect();
    let place = |key: &str| order.get(key).copied().unwrap_or(usize::MAX);
    entries.sort_by(|(a, _), (b, _)| place(a).cmp(&place(b)).then_with(|| a.cmp(b)));
    let settled = entries.into_iter().map(|(key, plain)| {
        let value = settle(plain, before.and_then(|before| before.get(&key)));
        (key, value)
    });
    settled.collect()
}

/// What is left to one value on its way out of a script.
#[derive(Debug)]
pub struct Budget {
    nodes: usize,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { nodes: MAX_NODES, bytes: MAX_BYTES }
    }
}

impl Budget {
    /// Takes one node at `depth` (the root is 0).
    pub fn node(&mut self, depth: usize) -> Result<(), ValueError> {
        if depth > MAX_DEPTH {
            return Err(ValueError::new(format!("is nested deeper than {MAX_DEPTH} levels")));
        }
        match self.nodes.checked_sub(1) {
            Some(left) => self.nodes = left,
            None => return Err(ValueError::new(format!("makes the value larger than {MAX_NODES} entries"))),
        }
        Ok(())
    }
    /// Takes bytes of text.
    pub fn text(&mut self, bytes: usize) -> Result<(), ValueError> {
        match self.bytes.checked_sub(bytes) {
            Some(left) => self.bytes = left,
            None => {
                return Err(ValueError::new(format!("makes the value larger than {} MiB", MAX_BYTES >> 20)));
            }
        }
        Ok(())
    }
}

/// A value that cannot leave its script, and where in it the trouble is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    what: String,
    /// Innermost step first.
    path: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

impl ValueError {
    /// An error at the root; `what` continues a sentence whose subject is the place.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), path: Vec::new() }
    }
    /// A value of a type that has no JSON.
    pub fn kind(kind: &str) -> Self {
        Self::new(format!("is a {kind}, which is no plain value"))
    }
    /// The same error, seen from the map that holds the value.
    pub fn in_key(mut self, key: &str) -> Self {
        self.path.push(Step::Key(key.to_owned()));
        self
    }
    /// The same error, seen from the list that holds the value; `position` as the script counts.
    pub fn in_list(mut self, position: usize) -> Self {
        self.path.push(Step::Index(position));
        self
    }
    /// The sentence, where the root is called `name`.
    pub fn at(&self, name: &str) -> String {
        format!("{name}{self}")
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        for step in self.path.iter().rev().take(SHOWN) {
            match step {
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        if self.path.len() > SHOWN {
            f.write_str("…")?;
        }
        write!(f, " {}", self.what)
    }
}

impl std::error::Error for ValueError {}

/// A float that JSON can hold.
pub fn finite(value: f64) -> Result<f64, ValueError> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(ValueError::new(if value.is_nan() { "is not a number (NaN)" } else { "is an infinite number" }))
}
