//! Providers: one trait for every wire protocol, native or plugin, and the table of the native ones.
//!
//! A protocol turns a [`Request`] into bytes and the answer's bytes into deltas and one [`Response`]. It knows nothing
//! of retries (one place, `provider/retry`), sessions or hooks.

use std::sync::Arc;

use crate::model::port::BoxFuture;
use crate::model::request::Request;
use crate::model::response::{CallError, Delta, Response};
use crate::provider::endpoint::Endpoint;

pub mod catalog;
pub mod endpoint;
pub mod retry;

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
