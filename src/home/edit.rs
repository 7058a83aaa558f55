//! One change to the text of a JSON document, made on its concrete syntax, so that everything else stays as it was.

use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::errors::ParseError;
use serde_json::Value;

use crate::home::json::{OPTIONS, kind};

/// What is to change; the keys lead through nested objects and are never empty.
#[derive(Debug)]
pub(crate) enum Change<'a> {
    /// The field gets this value.
    Set { keys: &'a [&'a str], value: &'a Value },
    /// The field goes.
    Remove { keys: &'a [&'a str] },
    /// The field's array gets this value, unless it has it.
    Append { keys: &'a [&'a str], value: &'a Value },
}

/// Why a change cannot be made.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The text does not parse.
    Syntax(ParseError),
    /// Something that leads to the field is not an object, or the field is not an array.
    Shape(String),
}

/// The text with the change made. The text itself when there was nothing to change.
pub(crate) fn apply(text: &str, change: &Change<'_>) -> Result<String, Refusal> {
    // The root must outlive every node below it.
    let root = CstRootNode::parse(text, &OPTIONS).map_err(Refusal::Syntax)?;
    match change {
        Change::Set { keys, value } => {
            let Some((last, parents)) = keys.split_last() else { return Ok(text.to_owned()) };
            let object = open(&root, parents)?;
            match property(&object, last) {
                Some(found) if found.to_serde_value().as_ref() == Some(value) => {}
                Some(found) => found.set_value(input(value)),
                None => drop(object.append(last, input(value))),
            }
        }
        Change::Remove { keys } => {
            let Some((last, parents)) = keys.split_last() else { return Ok(text.to_owned()) };
            if let Some(found) = find(&root, parents).and_then(|object| property(&object, last)) {
                found.remove();
            }
        }
        Change::Append { keys, value } => {
            let Some((last, parents)) = keys.split_last() else { return Ok(text.to_owned()) };
            let object = open(&root, parents)?;
            let Some(found) = property(&object, last) else {
                object.append(last, CstInputValue::Array(vec![input(value)]));
                return Ok(root.to_string());
            };
            let array = found.array_value().ok_or_else(|| wrong(last, &found, "an array"))?;
            if !array.elements().iter().any(|element| element.to_serde_value().as_ref() == Some(value)) {
                array.ensure_multiline();
                array.append(input(value));
            }
        }
    }
    Ok(root.to_string())
}

/// The object that the keys lead to, made where it is missing.
fn open(root: &CstRootNode, keys: &[&str]) -> Result<CstObject, Refusal> {
    let mut object = root
        .object_value_or_create()
        .ok_or_else(|| Refusal::Shape("expected an object in braces at the top".into()))?;
    for key in keys {
        object = match property(&object, key) {
            Some(found) => found.object_value().ok_or_else(|| wrong(key, &found, "an object"))?,
            None => object
                .append(key, CstInputValue::Object(Vec::new()))
                .object_value()
                .ok_or_else(|| Refusal::Shape(format!("`{key}` could not be made")))?,
        };
    }
    Ok(object)
}

fn find(root: &CstRootNode, keys: &[&str]) -> Option<CstObject> {
    let mut object = root.object_value()?;
    for key in keys {
        object = property(&object, key)?.object_value()?;
    }
    Some(object)
}

/// Of equal keys the last one, which is the one that readers see.
fn property(object: &CstObject, key: &str) -> Option<CstObjectProp> {
    object.properties().into_iter().rfind(|property| property.decoded_name().as_deref() == Some(key))
}

fn wrong(key: &str, found: &CstObjectProp, expected: &str) -> Refusal {
    let is = found.value().as_ref().and_then(CstNode::to_serde_value).as_ref().map_or("nothing", kind);
    Refusal::Shape(format!("`{key}` must be {expected}, but it is {is}"))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}
