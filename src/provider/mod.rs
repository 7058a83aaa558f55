//! Providers: one trait for every wire protocol, native or plugin, and the table of the native ones.
//!
//! A protocol turns a [`Request`] into bytes and the answer's bytes into deltas and one [`Response`]. It knows nothing
//! of retries (one place, `provider/retry`), sessions or hooks.

use std::sync::Arc;

use crate::model::port::BoxFuture;
use crate::model::request::Request;
use crate::model::response::{CallError, Delta, Response};
use crate::provider::endpoint::Endpoint;
use crate::provider::http::Http;

pub mod catalog;
pub mod endpoint;
pub mod http;
pub mod lines;
pub mod openai;
pub mod retry;
pub mod sse;
pub mod stream;
pub mod wait;

/// A native protocol.
pub struct Row {
    /// Its token in `providers.json`.
    pub token: &'static str,
    /// The base address of a provider that names none; none where every provider must.
    pub base_uri: Option<&'static str>,
    /// What it is, in one line.
    pub doc: &'static str,
    /// Makes it, over shared HTTP clients.
    pub new: fn(Http) -> Box<dyn Protocol>,
}

/// Every native protocol.
pub const PROTOCOLS: &[Row] = &[Row {
    token: openai::TOKEN,
    base_uri: Some(openai::BASE_URI),
    doc: "Chat Completions, as OpenAI and most gateways and local servers speak it",
    new: |http| Box::new(openai::OpenAi::new(http)),
}];

/// A wire protocol.
pub trait Protocol: Send + Sync {
    /// Its token in `providers.json` (`openai`, …).
    fn token(&self) -> &str;
    /// A client for one endpoint. It keeps what it encoded, so one client serves one conversation.
    fn client(&self, endpoint: Arc<Endpoint>) -> Result<Box<dyn Client>, CallError>;
}

/// One conversation's connection to one model. Dropping the future of a call cancels it.
pub trait Client: Send {
    /// Makes one attempt. `sink` gets deltas for display; the returned response is the truth.
    fn call<'a>(
        &'a mut self,
        request: &'a Request,
        sink: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Response, CallError>>;
}
