//! A call's name and arguments, checked before the tool sees them, with errors that a model can act on at once.
//!
//! Only what is certain is put right: a number or boolean that arrived as a string, an optional field that is null,
//! a trailing comma. Everything else is an error that names the field, what it must be and what is valid.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use jsonschema::paths::LocationSegment;
use serde_json::{Map, Number, Value};

use crate::model::request::ToolSpec;
use crate::text::{cut, near};

/// The validators of the tools met so far, each built when its tool is first called.
#[derive(Default)]
pub struct Schemas(Mutex<HashMap<usize, Compiled>>);

/// A validator. The schema is kept so that its address, by which it is found, stays its own.
#[derive(Clone)]
struct Compiled {
    _schema: Arc<Value>,
    validator: Result<Arc<Validator>, Arc<str>>,
}

/// The most problems that one message lists.
const MAX_PROBLEMS: usize = 5;

impl Schemas {
    /// Checks arguments against the tool's schema and returns them with the certain conversions made.
    pub fn check(
        &self,
        spec: &ToolSpec,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let name = &spec.name;
        let validator = self.validator(&spec.schema).map_err(|error| {
            format!("the schema of the tool {name} is broken, so it cannot be called: {error}")
        })?;
        let arguments = Value::Object(convert(&spec.schema, arguments));
        let problems: Vec<String> = validator
            .iter_errors(&arguments)
            .take(MAX_PROBLEMS)
            .flat_map(|error| {
                let path: Vec<_> = error.instance_path().segments().collect();
                problem(&spec.schema, &path, &arguments, error.kind(), &error)
            })
            .collect();
        match (problems.is_empty(), arguments) {
            (true, Value::Object(arguments)) => Ok(arguments),
            _ => Err(format!(
                "the arguments of {name} are not valid, and nothing was done: {}",
                problems.join("; ")
            )),
        }
    }

    fn validator(&self, schema: &Arc<Value>) -> Result<Arc<Validator>, Arc<str>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let compiled = known.entry(Arc::as_ptr(schema).addr()).or_insert_with(|| Compiled {
            _schema: schema.clone(),
            validator: jsonschema::validator_for(schema)
                .map(Arc::new)
                .map_err(|error| error.to_string().into()),
        });
        compiled.validator.clone()
    }
}

/// The tool that a name means: that name, or the only one that differs in case and separators alone.
pub fn resolve<'a>(name: &str, names: &[&'a str]) -> Result<&'a str, String> {
    if let Some(exact) = names.iter().find(|known| **known == name) {
        return Ok(exact);
    }
    let wanted = near::plain(name);
    let mut alike = names.iter().filter(|known| !wanted.is_empty() && near::plain(known) == wanted);
    if let (Some(only), None) = (alike.next(), alike.next()) {
        return Ok(only);
    }
    let hint = near::name(name, names.iter().copied()).map(|near| format!("; did you mean {near}?"));
    let name = cut::head(name, 100);
    Err(format!("there is no tool {name:?}{}; the tools are {}", hint.unwrap_or_default(), names.join(", ")))
}

/// Makes the conversions that leave no doubt, at the top level only.
fn convert(schema: &Value, mut arguments: Map<String, Value>) -> Map<String, Value> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return arguments };
    let required = |name: &str| {
        schema
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|list| list.iter().any(|item| item == name))
    };
    arguments.retain(|name, value| {
        let Some(types) = properties.get(name).and_then(types) else { return true };
        !(value.is_null() && !types.contains(&"null") && !required(name))
    });
    for (name, value) in &mut arguments {
        let Some(types) = properties.get(name).and_then(types) else { continue };
        if let Some(converted) = scalar(value, &types) {
            *value = converted;
        }
    }
    arguments
}

fn types(schema: &Value) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::String(one) => Some(vec![one]),
        Value::Array(several) => several.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

fn scalar(value: &Value, types: &[&str]) -> Option<Value> {
    let integer = types.contains(&"integer");
    match value {
        Value::String(text) if !types.contains(&"string") => {
            let text = text.trim();
            match text {
                "true" | "false" if types.contains(&"boolean") => Some(Value::Bool(text == "true")),
                _ if integer && text.parse::<i64>().is_ok() => text.parse::<i64>().ok().map(Value::from),
                _ if types.contains(&"number") => {
                    text.parse().ok().and_then(Number::from_f64).map(Value::Number)
                }
                _ => None,
            }
        }
        // JSON has one kind of number: 10.0 is the integer 10. Larger ones are no longer exact.
        Value::Number(number) if integer && !number.is_i64() && !number.is_u64() => {
            let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9e15)?;
            Some(Value::from(float as i64))
        }
        _ => None,
    }
}

/// One problem in words.
fn problem(
    root: &Value,
    path: &[LocationSegment<'_>],
    arguments: &Value,
    kind: &ValidationErrorKind,
    error: &jsonschema::ValidationError<'_>,
) -> Vec<String> {
    let schema = schema_at(root, path);
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    match kind {
        ValidationErrorKind::Required { property } => {
            let property = property.as_str().unwrap_or_default();
            let what = properties.and_then(|all| all.get(property)).map(describe).unwrap_or_default();
            vec![format!("{} is missing{what}", field(path, Some(property)))]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let valid: Vec<&str> =
                properties.into_iter().flat_map(|all| all.keys()).map(String::as_str).collect();
            unexpected.iter().map(|name| unknown(path, name, &valid)).collect()
        }
        _ => {
            let what = schema.map(describe).unwrap_or_default();
            if path.is_empty() || what.is_empty() {
                return vec![format!("{}: {}", field(path, None), cut::head(&error.to_string(), 300))];
            }
            let found = value_at(arguments, path).map(|value| value.to_string()).unwrap_or_default();
            vec![format!("{} is not valid{what}; it was {}", field(path, None), shorten(&found))]
        }
    }
}

fn unknown(path: &[LocationSegment<'_>], name: &str, valid: &[&str]) -> String {
    let near = near::name(name, valid.iter().copied()).map(|near| format!(", perhaps {near} was meant"));
    let name = cut::head(name, 100);
    format!(
        "{} is not known{}; valid are {}",
        field(path, Some(name)),
        near.unwrap_or_default(),
        valid.join(", ")
    )
}

fn shorten(text: &str) -> String {
    match cut::split(text, 60) {
        (_, "") => text.to_owned(),
        (head, _) => format!("{head}…"),
    }
}

/// A field as it is written: `todos[0].status`.
fn field(path: &[LocationSegment<'_>], last: Option<&str>) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            LocationSegment::Property(name) if text.is_empty() => text.push_str(name),
            LocationSegment::Property(name) => text.extend([".", name]),
            LocationSegment::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    if let Some(last) = last {
        text.extend([if text.is_empty() { "" } else { "." }, last]);
    }
    if text.is_empty() { "the object".into() } else { format!("`{text}`") }
}

fn schema_at<'a>(root: &'a Value, path: &[LocationSegment<'_>]) -> Option<&'a Value> {
    path.iter().try_fold(root, |schema, segment| match segment {
        LocationSegment::Property(name) => schema.get("properties")?.get(name.as_ref()),
        LocationSegment::Index(_) => schema.get("items"),
    })
}

fn value_at<'a>(root: &'a Value, path: &[LocationSegment<'_>]) -> Option<&'a Value> {
    path.iter().try_fold(root, |value, segment| match segment {
        LocationSegment::Property(name) => value.get(name.as_ref()),
        LocationSegment::Index(index) => value.get(index),
    })
}

/// What a value of a schema must be: `; it must be an integer from 1 to 10`. Empty where the schema says nothing simple.
fn describe(schema: &Value) -> String {
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        let options: Vec<_> = options.iter().map(Value::to_string).collect();
        return format!("; it must be one of {}", options.join(", "));
    }
    let Some(types) = types(schema) else { return String::new() };
    let types: Vec<_> = types.into_iter().map(with_article).collect();
    let mut text = format!("; it must be {}", types.join(" or "));
    for (key, words) in [
        ("minimum", "of at least"),
        ("maximum", "of at most"),
        ("minLength", "with a length of at least"),
        ("maxLength", "with a length of at most"),
        ("minItems", "with at least so many entries:"),
        ("maxItems", "with at most so many entries:"),
        ("pattern", "that matches"),
    ] {
        if let Some(limit) = schema.get(key) {
            let and = if text.contains(" of ") || text.contains(" with ") { " and" } else { "" };
            text.push_str(&format!("{and} {words} {limit}"));
        }
    }
    text
}

fn with_article(kind: &str) -> &str {
    match kind {
        "integer" => "an integer",
        "number" => "a number",
        "string" => "a string",
        "boolean" => "true or false",
        "array" => "an array",
        "object" => "an object",
        other => other,
    }
}
