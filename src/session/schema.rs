//! The final answer held to a JSON Schema (`--output-schema`).

use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

/// Corrections that a turn may ask for.
pub const CORRECTIONS: u32 = 2;

/// Most problems named to the model at once.
const MAX_PROBLEMS: usize = 5;

/// A schema for the final answer.
#[derive(Clone)]
pub struct OutputSchema {
    /// The schema.
    pub schema: Arc<Value>,
    validator: Arc<Validator>,
}

impl OutputSchema {
    /// Compiles a schema.
    pub fn new(schema: Value) -> Result<Self, String> {
        let validator = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
        Ok(Self { schema: Arc::new(schema), validator: Arc::new(validator) })
    }
    /// The answer as JSON text that satisfies the schema, or what is wrong with it.
    pub fn check(&self, answer: &str) -> Result<String, String> {
        let text = unfenced(answer);
        let value: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        let problems: Vec<String> = self
            .validator
            .iter_errors(&value)
            .take(MAX_PROBLEMS)
            .map(|error| match error.instance_path().as_str() {
                "" => error.to_string(),
                place => format!("at {place}: {error}"),
            })
            .collect();
        if problems.is_empty() { Ok(text.to_owned()) } else { Err(problems.join("; ")) }
    }
}

impl std::fmt::Debug for OutputSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.schema.fmt(f)
    }
}

/// The text without a code fence around all of it, which models add against instructions.
fn unfenced(answer: &str) -> &str {
    let text = answer.trim();
    let Some(inner) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else { return text };
    match inner.split_once('\n') {
        Some((language, body)) if language.trim().chars().all(char::is_alphanumeric) => body.trim(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> OutputSchema {
        OutputSchema::new(
            json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } }),
        )
        .unwrap()
    }

    #[test]
    fn an_answer_that_fits_comes_back_as_it_was_written() {
        assert_eq!(schema().check(" {\"n\": 1}\n").unwrap(), "{\"n\": 1}");
        assert_eq!(schema().check("```json\n{\"n\": 1}\n```").unwrap(), "{\"n\": 1}");
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        assert!(schema().check("Here you go").unwrap_err().contains("not JSON"));
        assert!(schema().check("{\"n\": \"x\"}").unwrap_err().contains("/n"));
        assert!(schema().check("{}").unwrap_err().contains('n'));
    }

    #[test]
    fn a_broken_schema_is_refused() {
        assert!(OutputSchema::new(json!({ "type": "nonsense" })).is_err());
    }
}
