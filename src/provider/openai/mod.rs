//! The `openai` protocol: Chat Completions, as OpenAI and a great many others speak it.

use std::sync::Arc;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use crate::model::port::BoxFuture;
use crate::model::request::Request;
use crate::model::response::{CallError, Delta, Response};
use crate::provider::endpoint::Endpoint;
use crate::provider::http::failure::Called;
use crate::provider::http::{Http, secret_header};
use crate::provider::openai::decode::Decoder;
use crate::provider::openai::encode::Encoder;
use crate::provider::openai::quirks::Quirks;
use crate::provider::stream::{self, Framing};
use crate::provider::{Client, Protocol};

mod calls;
mod chunk;
pub mod decode;
mod details;
mod encode;
mod finish;
mod messages;
mod quirks;
mod think;
mod usage;

/// The protocol's token.
pub const TOKEN: &str = "openai";
/// Where OpenAI itself is.
pub const BASE_URI: &str = "https://api.openai.com/v1";

/// How many fields a server may refuse, one after another, before its refusal is passed on.
const MOST_LESSONS: usize = 5;

/// The protocol.
#[derive(Debug)]
pub struct OpenAi {
    http: Http,
}

impl OpenAi {
    /// The protocol over these HTTP clients.
    pub fn new(http: Http) -> Self {
        Self { http }
    }
}

impl Protocol for OpenAi {
    fn token(&self) -> &str {
        TOKEN
    }

    fn client(&self, endpoint: Arc<Endpoint>) -> Result<Box<dyn Client>, CallError> {
        let base = if endpoint.base_uri.is_empty() { BASE_URI } else { &endpoint.base_uri };
        let uri = format!("{}/chat/completions", base.trim_end_matches('/'));
        let headers = headers(&Called { endpoint: &endpoint, uri: &uri })?;
        let quirks = Quirks::of(&endpoint, &uri);
        Ok(Box::new(Conversation {
            http: self.http.clone(),
            endpoint,
            uri,
            headers,
            quirks,
            encoder: Encoder::default(),
        }))
    }
}

struct Conversation {
    http: Http,
    endpoint: Arc<Endpoint>,
    uri: String,
    headers: HeaderMap,
    quirks: Quirks,
    encoder: Encoder,
}

impl Client for Conversation {
    fn call<'a>(
        &'a mut self,
        request: &'a Request,
        sink: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Response, CallError>> {
        Box::pin(async move {
            let mut lessons = 0;
            let answer = loop {
                let body = self.encoder.encode(request, &self.endpoint, &self.quirks);
                let posted = self.http.post(&self.endpoint, &self.uri, self.headers.clone(), body).await;
                match posted {
                    Ok(answer) => break answer,
                    Err(error) if lessons < MOST_LESSONS && self.quirks.learn(&error) => lessons += 1,
                    Err(error) => return Err(error),
                }
            };
            stream::read(answer, Framing::Events, &mut Decoder::default(), sink).await
        })
    }
}

fn headers(called: &Called<'_>) -> Result<HeaderMap, CallError> {
    let endpoint = called.endpoint;
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    if let Some(key) = &endpoint.key {
        let value = format!("Bearer {}", key.reveal().trim());
        headers.insert(AUTHORIZATION, secret_header(called, "the key", &value)?);
    }
    let named = [("openai-organization", &endpoint.organization), ("openai-project", &endpoint.project)];
    for (name, value) in named {
        if let Some(value) = value {
            headers.insert(HeaderName::from_static(name), secret_header(called, name, value)?);
        }
    }
    Ok(headers)
}
