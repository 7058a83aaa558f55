//! What comes back from a model call: deltas while it streams, then one response or one failure.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::judgement::names;

/// A piece of a streaming answer, for display only; the response is the truth.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// More answer text.
    Text(String),
    /// More readable reasoning.
    Reasoning(String),
    /// A tool call has begun.
    Call {
        /// The tool's name.
        name: String,
    },
    /// The attempt broke and everything it had streamed is void; another attempt follows.
    Void,
}

/// A finished answer, before the host gives its parts ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// What the model said, in order.
    pub parts: Vec<Part>,
    /// Why it stopped.
    pub finish: Finish,
    /// What it cost.
    pub usage: Usage,
}

/// One part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What it says.
    pub content: Content,
    /// What the provider wants back unchanged with it.
    pub state: Option<Value>,
}

/// What a part says.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Answer text.
    Text(String),
    /// Readable reasoning; may be empty where only state came.
    Reasoning(String),
    /// A tool call.
    Call {
        /// The provider's own id, empty when it sent none.
        id: String,
        /// The tool's name as written.
        name: String,
        /// The arguments as written. Every empty form (absent, null, `""`, `"null"`) is `{}` already.
        arguments: String,
        /// False when the answer ended before the call did: such a call must not run.
        complete: bool,
    },
}

/// Why the model stopped, normalised, with the provider's own word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finish {
    /// The reason.
    pub reason: FinishReason,
    /// The word on the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Arc<str>>,
}

/// Normalised finish reasons. Tool calls in the answer decide over this word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done.
    #[default]
    Stop,
    /// It wants tools.
    ToolCalls,
    /// The output limit cut it off.
    Length,
    /// A content filter stopped it, or it refused through the provider's own field.
    Filtered,
    /// Something else: see the raw word.
    Other,
}
names!(FinishReason {
    Stop = "stop",
    ToolCalls = "tool_calls",
    Length = "length",
    Filtered = "filtered",
    Other = "other",
});

/// Tokens, normalised at the edge; none where the provider did not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Everything that was read, cached tokens included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Everything that was written, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// The part of `input` that came from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// The part of `input` that was written to a cache, where the provider bills that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// The part of `output` that was reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Adds another call's numbers; a number that neither has stays unknown.
    pub fn add(&mut self, other: &Self) {
        let sum = |a: &mut Option<u64>, b: Option<u64>| {
            if let Some(b) = b {
                *a = Some(a.unwrap_or(0).saturating_add(b));
            }
        };
        sum(&mut self.input, other.input);
        sum(&mut self.output, other.output);
        sum(&mut self.cached, other.cached);
        sum(&mut self.cache_write, other.cache_write);
        sum(&mut self.reasoning, other.reasoning);
    }
}

/// A model call that failed. Its text is one sentence: status, the provider's own words, what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// What kind of failure.
    pub kind: CallErrorKind,
    /// The HTTP status; none where the failure came inside a 200 stream or before any answer.
    pub status: Option<u16>,
    /// The provider's own code or type.
    pub code: Option<String>,
    /// The sentence.
    pub message: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// Whether another attempt may help.
    pub retryable: bool,
    /// What had been decoded when it failed; calls in it never run.
    pub partial: Option<Box<Response>>,
}

/// Kinds of failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallErrorKind {
    /// No connection, or it broke before an answer.
    Connect,
    /// Nothing came for too long.
    Timeout,
    /// The stream ended before its end mark.
    Cut,
    /// The answer is not what the protocol says.
    Garbage,
    /// 401, 403: the key.
    Auth,
    /// A limit that waiting cures.
    RateLimit,
    /// A limit that waiting does not cure.
    Quota,
    /// The provider is overloaded or broken.
    Server,
    /// The request does not fit the context window.
    Context,
    /// A content policy refused the request.
    Filtered,
    /// Any other refusal of the request.
    Client,
}
