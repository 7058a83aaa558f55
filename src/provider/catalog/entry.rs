//! From the checked fields of a provider to an [`Entry`].

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::home::secret::Secret;
use crate::model::request::Gear;
use crate::provider::catalog::Entry;
use crate::provider::endpoint::{ATTEMPTS, Model, Price, Timeouts, TokenLimit};

/// A required field that is missing: the keys that lead to where it belongs, and its own.
#[derive(Debug)]
pub(super) struct Missing {
    pub(super) inside: Vec<String>,
    pub(super) field: &'static str,
}

/// Builds an entry from fields whose types were checked.
pub(super) fn build(fields: &Map<String, Value>) -> Result<Entry, Missing> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(|text| text.trim().to_owned());
    let switch = |key: &str| fields.get(key).and_then(Value::as_bool);
    let protocol = text("protocol").ok_or(Missing { inside: Vec::new(), field: "protocol" })?;
    Ok(Entry {
        protocol: protocol.into(),
        base_uri: text("baseUri").unwrap_or_default().trim_end_matches('/').to_owned(),
        organization: text("organization"),
        project: text("project"),
        replay_reasoning: switch("replayReasoningContent").unwrap_or(false),
        token_limit: text("tokenLimit").map(|field| match field.as_str() {
            "max_completion_tokens" => TokenLimit::MaxCompletionTokens,
            _ => TokenLimit::MaxTokens,
        }),
        api_key: text("apiKey").map(Secret::new),
        api_key_variable: text("apiKeyEnvironment"),
        requires_key: switch("requiresApiKey").unwrap_or(true),
        headers: headers(fields),
        timeouts: timeouts(fields),
        attempts: fields
            .get("attempts")
            .and_then(Value::as_u64)
            .and_then(|count| u32::try_from(count).ok())
            .unwrap_or(ATTEMPTS),
        models: models(fields)?,
    })
}

fn headers(fields: &Map<String, Value>) -> Vec<(String, Secret)> {
    let headers = fields.get("headers").and_then(Value::as_object);
    headers
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), Secret::new(value.as_str()?))))
        .collect()
}

fn timeouts(fields: &Map<String, Value>) -> Timeouts {
    let seconds = |key: &str, default: Duration| {
        let written = fields.get("timeouts").and_then(|timeouts| timeouts.get(key)).and_then(Value::as_f64);
        written.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(default)
    };
    let default = Timeouts::default();
    Timeouts {
        connect: seconds("connect", default.connect),
        first_byte: seconds("firstByte", default.first_byte),
        idle: seconds("idle", default.idle),
        silence: seconds("silence", default.silence),
    }
}

fn models(fields: &Map<String, Value>) -> Result<Vec<Model>, Missing> {
    let models = fields.get("models").and_then(Value::as_object);
    models.into_iter().flatten().map(|(name, fields)| model(name, fields)).collect()
}

fn model(name: &str, fields: &Value) -> Result<Model, Missing> {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let shared = |key: &str| text(key).map(|text| Arc::from(text.trim()));
    let switch = |key: &str| fields.get(key).and_then(Value::as_bool).unwrap_or(false);
    let number = |key: &str| fields.get(key).and_then(Value::as_f64);
    let count = |key: &str| fields.get(key).and_then(Value::as_u64);
    let inside = || vec!["models".to_owned(), name.to_owned()];
    let gears = fields.get("thinkingEfforts").and_then(Value::as_array);
    Ok(Model {
        name: name.into(),
        context_window: count("contextWindow")
            .ok_or_else(|| Missing { inside: inside(), field: "contextWindow" })?,
        temperature: number("temperature"),
        top_p: number("topP"),
        max_tokens: count("maxTokens"),
        thinking: text("thinking").and_then(Gear::parse),
        thinking_efforts: gears
            .into_iter()
            .flatten()
            .filter_map(|gear| Gear::parse(gear.as_str()?))
            .collect(),
        thinking_can_disable: switch("thinkingCanDisable"),
        image_input: switch("imageInput"),
        audio_input: switch("audioInput"),
        video_input: switch("videoInput"),
        service_tier: shared("serviceTier"),
        speed: shared("speed"),
        price: fields.get("price").map(|price| self::price(price, inside)).transpose()?,
    })
}

fn price(price: &Value, inside: impl Fn() -> Vec<String>) -> Result<Price, Missing> {
    let amount = |key: &'static str| price.get(key).and_then(Value::as_f64);
    let required = |key: &'static str| {
        let mut inside = inside();
        inside.push("price".into());
        amount(key).ok_or(Missing { inside, field: key })
    };
    Ok(Price { input: required("input")?, output: required("output")?, cached_input: amount("cachedInput") })
}
