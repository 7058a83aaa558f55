//! Values of settings: from a word on the command line or in the environment, and from a field of `config.json`.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value as Json};

use crate::home::json;
use crate::home::settings::table::{Kind, Setting, Stored};

/// The longest time that can be set, about 136 years: short enough that adding it to a clock never overflows.
const LONGEST: f64 = u32::MAX as f64;

/// A value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text or a chosen word.
    Text(String),
    /// A switch.
    Switch(bool),
    /// A number; none is unlimited.
    Count(Option<u64>),
    /// A time; none is unlimited.
    Time(Option<Duration>),
    /// A path, as written.
    Path(PathBuf),
    /// An object.
    Object(Map<String, Json>),
}

impl Value {
    /// The value as JSON, as `config.json` would hold it.
    pub fn json(&self) -> Json {
        match self {
            Self::Text(text) => Json::from(text.as_str()),
            Self::Switch(on) => Json::from(*on),
            Self::Count(Some(count)) => Json::from(*count),
            Self::Time(Some(time)) if time.subsec_nanos() == 0 => Json::from(time.as_secs()),
            Self::Time(Some(time)) => Json::from(time.as_secs_f64()),
            Self::Count(None) | Self::Time(None) => Json::from("unlimited"),
            Self::Path(path) => Json::from(path.to_string_lossy().into_owned()),
            Self::Object(fields) => Json::Object(fields.clone()),
        }
    }
}

/// Reads a word. The error says what was expected and what was found.
pub fn parse(kind: Kind, word: &str) -> Result<Value, String> {
    let word = word.trim();
    let wrong = || format!("expected {}, found `{word}`", expected(kind));
    match kind {
        Kind::Text if !word.is_empty() => Ok(Value::Text(word.to_owned())),
        Kind::Path if !word.is_empty() => Ok(Value::Path(PathBuf::from(word))),
        Kind::Choice(words) if words.contains(&word) => Ok(Value::Text(word.to_owned())),
        Kind::Switch => word.parse().map(Value::Switch).map_err(|_| wrong()),
        Kind::Count if word == "unlimited" => Ok(Value::Count(None)),
        Kind::Seconds if word == "unlimited" => Ok(Value::Time(None)),
        Kind::Count => word.parse().ok().and_then(count).ok_or_else(wrong),
        Kind::Seconds => word.parse().ok().and_then(seconds).ok_or_else(wrong),
        Kind::Text | Kind::Path | Kind::Choice(_) | Kind::Object => Err(wrong()),
    }
}

/// Reads a field of `config.json`. The error says what was expected and what was found.
pub fn read(setting: &Setting, field: &Json) -> Result<Value, String> {
    if let Stored::Boolean { on, off } = setting.stored {
        return match field {
            Json::Bool(is) => Ok(Value::Text(if *is { on } else { off }.to_owned())),
            other => Err(format!("expected true or false, found {}", shown(other))),
        };
    }
    let wrong = || format!("expected {}, found {}", expected(setting.kind), shown(field));
    match (setting.kind, field) {
        (Kind::Switch, Json::Bool(on)) => Ok(Value::Switch(*on)),
        (Kind::Count, Json::Number(number)) => number.as_u64().and_then(count).ok_or_else(wrong),
        (Kind::Seconds, Json::Number(number)) => number.as_f64().and_then(seconds).ok_or_else(wrong),
        (Kind::Count | Kind::Seconds, Json::String(word)) if word != "unlimited" => Err(wrong()),
        (Kind::Switch, _) => Err(wrong()),
        (Kind::Object, Json::Object(fields)) if fields.values().all(holds_objects) => {
            Ok(Value::Object(fields.clone()))
        }
        (kind, Json::String(word)) => parse(kind, word).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

/// What values of a kind are, in words.
pub fn expected(kind: Kind) -> String {
    match kind {
        Kind::Text => "a text that is not blank".into(),
        Kind::Path => "a path".into(),
        Kind::Choice(words) => format!("one of {}", words.join(", ")),
        Kind::Switch => "true or false".into(),
        Kind::Count => "a whole number from 1, or `unlimited`".into(),
        Kind::Seconds => "a number of seconds above 0, or `unlimited`".into(),
        Kind::Object => "an object of objects of objects".into(),
    }
}

fn holds_objects(field: &Json) -> bool {
    field.as_object().is_some_and(|fields| fields.values().all(Json::is_object))
}

fn count(number: u64) -> Option<Value> {
    (number > 0).then_some(Value::Count(Some(number)))
}

fn seconds(number: f64) -> Option<Value> {
    // NaN fails both comparisons.
    let time =
        (number > 0.0 && number <= LONGEST).then(|| Duration::try_from_secs_f64(number).ok()).flatten()?;
    (!time.is_zero()).then_some(Value::Time(Some(time)))
}

fn shown(value: &Json) -> String {
    match value {
        Json::String(_) | Json::Number(_) | Json::Bool(_) => format!("`{value}`"),
        other => json::kind(other).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuses(kind: Kind, words: &[&str]) {
        for word in words {
            let error = parse(kind, word).expect_err(word);
            assert!(error.contains(word) && error.contains("expected"), "{error}");
        }
    }

    #[test]
    fn budgets_take_positive_numbers_or_unlimited() {
        assert_eq!(parse(Kind::Count, "7"), Ok(Value::Count(Some(7))));
        assert_eq!(parse(Kind::Count, "unlimited"), Ok(Value::Count(None)));
        assert_eq!(parse(Kind::Seconds, "1.5"), Ok(Value::Time(Some(Duration::from_millis(1500)))));
        assert_eq!(parse(Kind::Seconds, "unlimited"), Ok(Value::Time(None)));
    }

    #[test]
    fn numbers_that_mean_nothing_are_refused() {
        refuses(Kind::Count, &["0", "-1", "1.5", "18446744073709551616", "NaN", "", "many"]);
        refuses(Kind::Seconds, &["0", "-1", "NaN", "inf", "1e300", "1e-30", "4294967296", "", "soon"]);
    }
}
