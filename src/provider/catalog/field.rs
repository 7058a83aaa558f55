//! The fields of `providers.json`, in three tables: a provider's, a model's, and those of the objects in them. What is
//! checked and what the reference page says comes from here.

use reqwest::header::{HeaderName, HeaderValue};
use serde_json::Value;

use crate::home::json;
use crate::model::request::Gear;

/// A field.
#[derive(Debug)]
pub struct Field {
    /// Its key.
    pub key: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What it does, a full sentence.
    pub doc: &'static str,
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A text that is not blank.
    Text,
    /// An `http` or `https` address.
    Address,
    /// True or false.
    Switch,
    /// A whole number from 1.
    Count,
    /// A whole number from the first to the second, both included.
    Between(u64, u64),
    /// A number from 0.
    Amount,
    /// Seconds above 0.
    Seconds,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A thinking gear.
    Gear,
    /// Thinking gears.
    Gears,
    /// An object of headers, name and value.
    Headers,
    /// An object with exactly these fields.
    Object(&'static [Field]),
    /// An object of models by name.
    Models,
}

const fn field(key: &'static str, kind: Kind, doc: &'static str) -> Field {
    Field { key, kind, doc }
}

/// The most attempts that a provider entry may ask for.
const MOST_ATTEMPTS: u64 = 20;

/// Fields of a provider.
pub const PROVIDER: &[Field] = &[
    field("protocol", Kind::Text, "The wire protocol. Required for a provider that is not built in."),
    field(
        "baseUri",
        Kind::Address,
        "Where requests go, without the part that the protocol adds. Default: that of the built-in provider with the same protocol.",
    ),
    field("organization", Kind::Text, "Sent as the organization, where the protocol knows one."),
    field("project", Kind::Text, "Sent as the project, where the protocol knows one."),
    field(
        "replayReasoningContent",
        Kind::Switch,
        "Whether readable reasoning goes back to the model as `reasoning_content`. Default: false.",
    ),
    field(
        "tokenLimit",
        Kind::Choice(&["max_tokens", "max_completion_tokens"]),
        "The field that carries the output limit. Default: the protocol decides.",
    ),
    field("apiKey", Kind::Text, "The key: written out, `{env:NAME}` or `{file:path}`."),
    field("apiKeyEnvironment", Kind::Text, "A variable that is looked at before all others."),
    field("requiresApiKey", Kind::Switch, "Whether a call without a key is refused at once. Default: true."),
    field(
        "headers",
        Kind::Headers,
        "Headers that every request carries; values may be `{env:NAME}` or `{file:path}`, and one that is not there leaves its header out.",
    ),
    field("timeouts", Kind::Object(TIMEOUTS), "How long to wait, in seconds."),
    field(
        "attempts",
        Kind::Between(1, MOST_ATTEMPTS),
        "How often a request is tried in all, when a failure may pass: a busy or broken server, a broken connection, an answer that breaks off. Default: 5.",
    ),
    field("models", Kind::Models, "The models by name."),
];

/// Fields of a model.
pub const MODEL: &[Field] = &[
    field("contextWindow", Kind::Count, "Tokens that fit, answer included. Required."),
    field("temperature", Kind::Amount, "Sampling temperature. Default: the provider's."),
    field("topP", Kind::Amount, "Nucleus sampling. Default: the provider's."),
    field(
        "maxTokens",
        Kind::Count,
        "Most tokens of one answer, reasoning included. Default: the provider's.",
    ),
    field("thinking", Kind::Gear, "The gear when none is set."),
    field("thinkingEfforts", Kind::Gears, "The gears that the model knows. Default: none."),
    field("thinkingCanDisable", Kind::Switch, "Whether `off` is possible. Default: false."),
    field("imageInput", Kind::Switch, "Whether the model takes images. Default: false."),
    field("audioInput", Kind::Switch, "Whether the model takes audio; declared only. Default: false."),
    field("videoInput", Kind::Switch, "Whether the model takes video; declared only. Default: false."),
    field("serviceTier", Kind::Text, "Sent as the service tier, where the protocol knows one."),
    field("speed", Kind::Text, "Sent as the speed, where the protocol knows one."),
    field("price", Kind::Object(PRICE), "US dollars per million tokens. Without it, no cost is shown."),
];

/// Fields of a price.
pub const PRICE: &[Field] = &[
    field("input", Kind::Amount, "Tokens that are sent. Required."),
    field("output", Kind::Amount, "Tokens of the answer, reasoning included. Required."),
    field("cachedInput", Kind::Amount, "Sent tokens that the provider had cached. Default: as `input`."),
];

/// Fields of timeouts.
pub const TIMEOUTS: &[Field] = &[
    field("connect", Kind::Seconds, "For a connection. Default: 20."),
    field("firstByte", Kind::Seconds, "From the request's last byte to the answer's first. Default: 300."),
    field("idle", Kind::Seconds, "Between two bytes of an answer, pings included. Default: 120."),
    field("silence", Kind::Seconds, "Between two pieces of an answer that carry something. Default: 600."),
];

/// Whether a value is of a kind. The error says what was expected and what was found, but never a text, which may be
/// a key.
pub fn check(kind: Kind, value: &Value) -> Result<(), String> {
    let fits = match kind {
        Kind::Text => value.as_str().is_some_and(|text| !text.trim().is_empty()),
        Kind::Address => value.as_str().is_some_and(is_address),
        Kind::Switch => value.is_boolean(),
        Kind::Count => value.as_u64().is_some_and(|count| count > 0),
        Kind::Between(least, most) => value.as_u64().is_some_and(|count| (least..=most).contains(&count)),
        Kind::Amount => value.as_f64().is_some_and(|amount| amount >= 0.0 && amount.is_finite()),
        Kind::Seconds => value.as_f64().is_some_and(|time| time > 0.0 && time <= f64::from(u32::MAX)),
        Kind::Choice(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        Kind::Gear => value.as_str().is_some_and(|word| Gear::parse(word).is_some()),
        Kind::Gears => value.as_array().is_some_and(|gears| {
            gears.iter().all(|gear| gear.as_str().is_some_and(|g| Gear::parse(g).is_some()))
        }),
        Kind::Headers => value.as_object().is_some_and(|headers| {
            headers.iter().all(|(name, value)| {
                HeaderName::from_bytes(name.as_bytes()).is_ok()
                    && value.as_str().is_some_and(|value| HeaderValue::from_str(value).is_ok())
            })
        }),
        Kind::Object(_) | Kind::Models => value.is_object(),
    };
    if fits { Ok(()) } else { Err(format!("expected {}, found {}", expected(kind), found(value))) }
}

/// What values of a kind are, in words.
pub fn expected(kind: Kind) -> String {
    let gears = || Gear::ALL.iter().map(|gear| gear.as_str()).collect::<Vec<_>>().join(", ");
    match kind {
        Kind::Text => "a text that is not blank".into(),
        Kind::Address => "an address that starts with http:// or https://".into(),
        Kind::Switch => "true or false".into(),
        Kind::Count => "a whole number from 1".into(),
        Kind::Between(least, most) => format!("a whole number from {least} to {most}"),
        Kind::Amount => "a number from 0".into(),
        Kind::Seconds => "a number of seconds above 0".into(),
        Kind::Choice(words) => format!("one of {}", words.join(", ")),
        Kind::Gear => format!("one of {}", gears()),
        Kind::Gears => format!("an array of {}", gears()),
        Kind::Headers => "an object of HTTP header names and their values".into(),
        Kind::Object(fields) => {
            format!("an object with {}", fields.iter().map(|f| f.key).collect::<Vec<_>>().join(", "))
        }
        Kind::Models => "an object of models by name".into(),
    }
}

fn is_address(text: &str) -> bool {
    reqwest::Url::parse(text.trim())
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some())
}

fn found(value: &Value) -> String {
    match value {
        Value::Number(_) | Value::Bool(_) => format!("`{value}`"),
        other => json::kind(other).to_owned(),
    }
}
