//! Where a model is and how it wants to be spoken to: what the catalog resolves and a protocol is given.

use std::sync::Arc;
use std::time::Duration;

use crate::home::secret::Secret;
use crate::model::request::Gear;

/// One model at one provider, resolved: key found, defaults filled in.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Provider name in the catalog (`openai`, `my-gateway`).
    pub provider: Arc<str>,
    /// Protocol token.
    pub protocol: Arc<str>,
    /// Base address, without a trailing slash.
    pub base_uri: String,
    /// The key; none where none is needed.
    pub key: Option<Secret>,
    /// `organization` of the provider entry.
    pub organization: Option<String>,
    /// `project` of the provider entry.
    pub project: Option<String>,
    /// Extra headers, as configured.
    pub headers: Vec<(String, Secret)>,
    /// Whether readable reasoning goes back in `reasoning_content`.
    pub replay_reasoning: bool,
    /// Which field carries the output limit; none lets the protocol decide.
    pub token_limit: Option<TokenLimit>,
    /// The model.
    pub model: Model,
    /// Waits.
    pub timeouts: Timeouts,
    /// How often a call is tried in all, from 1.
    pub attempts: u32,
}

/// How often a call is tried in all, where the provider entry does not say.
pub const ATTEMPTS: u32 = 5;

/// The field that carries the output limit in Chat Completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TokenLimit {
    MaxTokens,
    MaxCompletionTokens,
}

/// A model entry of the catalog.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Model {
    /// Its name on the wire.
    pub name: Arc<str>,
    /// Tokens that fit; the configured maximum.
    pub context_window: u64,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub max_tokens: Option<u64>,
    /// The default gear, where the entry names one.
    pub thinking: Option<Gear>,
    pub thinking_efforts: Vec<Gear>,
    pub thinking_can_disable: bool,
    pub image_input: bool,
    pub audio_input: bool,
    pub video_input: bool,
    pub service_tier: Option<Arc<str>>,
    pub speed: Option<Arc<str>>,
    pub price: Option<Price>,
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    pub cached_input: Option<f64>,
}

/// How long to wait for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// From the request's last byte to the answer's first.
    pub first_byte: Duration,
    /// Between two bytes of an answer, comments and pings included.
    pub idle: Duration,
    /// Between two pieces of an answer that carry something.
    pub silence: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(120),
            silence: Duration::from_secs(600),
        }
    }
}
