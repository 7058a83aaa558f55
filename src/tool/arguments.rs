//! A call's arguments as the model wrote them, read as JSON. Two slips that have one meaning only are put right:
//! a comma before a closing bracket, and a raw control character in a string.

use serde_json::{Map, Value};

use crate::text::cut;

/// Reads arguments. The error says where reading failed.
pub fn parse_arguments(raw: &str) -> Result<Map<String, Value>, String> {
    if raw.trim().is_empty() {
        return Ok(Map::new());
    }
    let value = serde_json::from_str(raw).or_else(|error| match mend(raw) {
        Some(mended) => serde_json::from_str(&mended).map_err(|_| error),
        None => Err(error),
    });
    match value {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(other) => Err(format!("the arguments must be a JSON object, but they are {}", kind(&other))),
        Err(error) => Err(format!("the arguments are not valid JSON: {error}{}", near(raw, &error))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The text just before the place of an error.
fn near(raw: &str, error: &serde_json::Error) -> String {
    let line = raw.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    // Columns count bytes.
    let mut at = error.column().min(line.len());
    while !line.is_char_boundary(at) {
        at -= 1;
    }
    let before = cut::tail(line.get(..at).unwrap_or_default(), 40);
    if before.is_empty() { String::new() } else { format!(", just after {before:?}") }
}

/// The text with raw control characters escaped and commas before `}` and `]` removed; none when there are none.
fn mend(raw: &str) -> Option<String> {
    let mut out = String::with_capacity(raw.len() + 16);
    let (mut in_string, mut escaped, mut changed) = (false, false, false);
    let mut rest = raw.chars();
    while let Some(char) = rest.next() {
        match char {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            char if in_string && char < ' ' => {
                out.push_str(&format!("\\u{:04x}", u32::from(char)));
                changed = true;
                continue;
            }
            ',' if !in_string && rest.as_str().trim_start().starts_with(['}', ']']) => {
                changed = true;
                continue;
            }
            _ => {}
        }
        out.push(char);
    }
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_with_one_meaning_are_read_as_meant() {
        for (raw, json) in [
            ("", "{}"),
            ("null", "{}"),
            (r#"{"path":"a.txt","content":"x",}"#, r#"{"path":"a.txt","content":"x"}"#),
            (r#"{"a":[1,2, ] , }"#, r#"{"a":[1,2]}"#),
            ("{\"a\":\"x\ny\tz\"}", r#"{"a":"x\ny\tz"}"#),
            (r#"{"a":",}","b":"\",]"}"#, r#"{"a":",}","b":"\",]"}"#),
        ] {
            let parsed = parse_arguments(raw).unwrap();
            assert_eq!(Value::Object(parsed), serde_json::from_str::<Value>(json).unwrap(), "{raw}");
        }
    }

    #[test]
    fn what_cannot_be_read_says_where() {
        for (raw, part) in [
            (r#"{"path":"a","content":"x"#, "column 24"),
            (r#"{"path" "a"}"#, "column 9"),
            (r#"{"päth" "ü"}"#, "just after"),
            ("[1]", "an array"),
            ("{} {}", "trailing characters"),
        ] {
            let error = parse_arguments(raw).unwrap_err();
            assert!(error.contains(part), "{raw}: {error}");
        }
    }
}
