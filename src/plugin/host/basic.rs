//! Host functions that every plugin has: log, settings, and values a language cannot write by itself.

use serde_json::{Number, Value};

use crate::plugin::host::{self, Answer, Function, Given, Parameter, Place, Scene, Shape, When};

pub(super) const LOG: Function = Function {
    place: Place::Crystal,
    name: "log",
    parameters: &[Parameter { name: "text", shape: Shape::Text, optional: false }],
    result: "",
    permission: None,
    when: When::Always,
    doc: "Writes a line to the log and the trace; `print` does the same. Lines are cut at 8 KiB.",
    run: &log,
};

pub(super) const SETTINGS: Function = Function {
    place: Place::Crystal,
    name: "settings",
    parameters: &[],
    result: "the plugin's resolved settings",
    permission: None,
    when: When::Always,
    doc: "The `[settings]` of plugin.toml with the operator's own values over them. A copy: changing it changes nothing.",
    run: &settings,
};

pub(super) const ARRAY: Function = Function {
    place: Place::Crystal,
    name: "array",
    parameters: &[Parameter { name: "list", shape: Shape::List, optional: true }],
    result: "the list",
    permission: None,
    when: When::Always,
    doc: "A copy of the list that stays a list when it is empty: Luau cannot tell an empty list from an empty table.",
    run: &array,
};

pub(super) const INT: Function = Function {
    place: Place::Crystal,
    name: "int",
    parameters: &[Parameter { name: "digits", shape: Shape::Text, optional: false }],
    result: "the integer",
    permission: None,
    when: When::Always,
    doc: "A whole number from -2^63 to 2^64-1 that keeps all its digits on the way to the host.",
    run: &int,
};

fn log(scene: &Scene<'_>, arguments: Vec<Given>) -> Result<Answer, String> {
    for text in arguments {
        scene.desk.log(host::line(&text.into_text()));
    }
    Ok(Answer::Nothing)
}

fn settings(scene: &Scene<'_>, _: Vec<Given>) -> Result<Answer, String> {
    Ok(Answer::Value(scene.desk.settings().clone()))
}

fn array(_: &Scene<'_>, arguments: Vec<Given>) -> Result<Answer, String> {
    match arguments.into_iter().next().map(Given::into_value) {
        Some(Value::Array(list)) => Ok(Answer::Value(Value::Array(list))),
        _ => Ok(Answer::Value(Value::Array(Vec::new()))),
    }
}

fn int(_: &Scene<'_>, arguments: Vec<Given>) -> Result<Answer, String> {
    let digits = arguments.into_iter().next().map(Given::into_text).unwrap_or_default();
    let signed = digits.parse::<i64>().map(Number::from);
    let number = signed.or_else(|_| digits.parse::<u64>().map(Number::from));
    number.map(Answer::Exact).map_err(|_| format!("'{digits}' is no whole number from -2^63 to 2^64-1"))
}
