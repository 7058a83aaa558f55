//! The shapes of a Chat Completions answer, borrowed from its text. Whatever may come in several types is kept raw and
//! read leniently, so that a strange value costs itself and not the chunk.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// One chunk, or a whole answer that was not streamed.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) x_groq: Option<Groq<'a>>,
    /// `error` in flat error bodies.
    #[serde(borrow, default)]
    pub(super) object: Option<&'a RawValue>,
}

/// Groq's own place for token counts.
#[derive(Debug, Deserialize)]
pub(super) struct Groq<'a> {
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow, default)]
    pub(super) index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) delta: Option<Message<'a>>,
    #[serde(borrow, default)]
    pub(super) message: Option<Message<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, default)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) function_call: Option<Function<'a>>,
    #[serde(borrow, default)]
    pub(super) extra_content: Option<&'a RawValue>,
}

impl Message<'_> {
    /// Whether it holds nothing that this protocol knows.
    pub(super) fn is_empty(&self) -> bool {
        let Self { content, refusal, reasoning_content, reasoning, reasoning_details, .. } = self;
        let texts = [content, refusal, reasoning_content, reasoning, reasoning_details];
        texts.into_iter().chain([&self.tool_calls, &self.extra_content]).all(Option::is_none)
            && self.function_call.is_none()
    }
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Call<'a> {
    #[serde(borrow, default)]
    pub(super) index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) function: Option<Function<'a>>,
    #[serde(borrow, default)]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// A piece of content: plain text, or one of the parts of an array.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Text(Cow<'a, str>),
    Reasoning(Cow<'a, str>),
    Refusal(Cow<'a, str>),
}

/// A JSON string; none for any other value.
pub(super) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    // Most values that are no strings are null; the parser's error for them is costly.
    raw.get().starts_with('"').then(|| serde_json::from_str::<Text<'_>>(raw.get()).ok())?.map(|text| text.0)
}

/// A JSON string that is not empty.
pub(super) fn some_text(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    raw.and_then(text).filter(|text| !text.is_empty())
}

/// An index: a whole number, perhaps written as a float or a string.
pub(super) fn index(raw: &RawValue) -> Option<i64> {
    let text = raw.get().trim_matches('"');
    text.parse().ok().or_else(|| {
        let float: f64 = text.parse().ok().filter(|float: &f64| float.abs() < 1e9)?;
        Some(float as i64)
    })
}

/// The pieces of `content`, in order.
pub(super) fn pieces(raw: &RawValue) -> Vec<Piece<'_>> {
    if let Some(text) = text(raw) {
        return vec![Piece::Text(text)];
    }
    let Ok(Value::Array(parts)) = serde_json::from_str(raw.get()) else { return Vec::new() };
    parts.iter().filter_map(part).collect()
}

fn part<'a>(part: &Value) -> Option<Piece<'a>> {
    if let Value::String(text) = part {
        return Some(Piece::Text(Cow::Owned(text.clone())));
    }
    let words = |key: &str| Some(Cow::Owned(joined(part.get(key)?)));
    match part.get("type").and_then(Value::as_str).unwrap_or("text") {
        "text" | "output_text" => words("text").map(Piece::Text),
        "thinking" => words("thinking").map(Piece::Reasoning),
        "reasoning" => words("reasoning").or_else(|| words("text")).map(Piece::Reasoning),
        "refusal" => words("refusal").map(Piece::Refusal),
        _ => None,
    }
}

/// A text, or the texts of a list of parts, one after another.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(joined).collect(),
        Value::Object(fields) => fields.get("text").map(joined).unwrap_or_default(),
        _ => String::new(),
    }
}
