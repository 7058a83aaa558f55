//! The clients of a session: its own, and one for the model that a handler of PreLLMCall named last.

use std::sync::Arc;

use crate::model::response::CallError;
use crate::provider::endpoint::Endpoint;
use crate::provider::{Client, Protocol};

/// Clients of one provider.
pub struct Clients {
    protocol: Arc<dyn Protocol>,
    endpoint: Arc<Endpoint>,
    own: Box<dyn Client>,
    other: Option<(Arc<str>, Box<dyn Client>)>,
}

impl Clients {
    /// Connects to the endpoint's model.
    pub fn new(protocol: Arc<dyn Protocol>, endpoint: Arc<Endpoint>) -> Result<Self, CallError> {
        let own = protocol.client(Arc::clone(&endpoint))?;
        Ok(Self { protocol, endpoint, own, other: None })
    }
    /// The client for a model of the provider; none for the session's own.
    pub(super) fn pick(&mut self, model: Option<&Arc<str>>) -> Result<&mut dyn Client, CallError> {
        let Some(model) = model else { return Ok(self.own.as_mut()) };
        let client = match self.other.take() {
            Some((known, client)) if known == *model => client,
            _ => {
                let mut endpoint = (*self.endpoint).clone();
                endpoint.model.name = Arc::clone(model);
                self.protocol.client(Arc::new(endpoint))?
            }
        };
        Ok(self.other.insert((Arc::clone(model), client)).1.as_mut())
    }
}
