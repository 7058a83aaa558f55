//! One request over HTTP: sent as shared pieces, its status looked at first, its answer read piece by piece under three
//! clocks (first byte, any byte, any byte that carries something).
//!
//! Nothing is repeated here; `provider/retry` does that. Redirects are not followed.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url};
use tokio::time::{Instant, sleep_until};

use crate::model::response::CallError;
use crate::provider::endpoint::{Endpoint, Timeouts};
use crate::provider::http::body::Pieces;
use crate::provider::http::failure::Called;
use crate::provider::http::route::Clients;

pub mod body;
pub mod failure;
pub mod route;
pub mod said;

/// The most that is read of an answer with an error status.
const MOST_ERROR_BYTES: usize = 256 << 10;
/// How long a connection whose answer is complete is read on, so that it can be used again.
const DRAIN: Duration = Duration::from_millis(500);

/// The shared HTTP clients. Cloning shares them and their open connections.
#[derive(Clone, Debug, Default)]
pub struct Http {
    clients: Clients,
}

/// An answer with a good status.
#[derive(Debug)]
pub struct Answer {
    endpoint: Arc<Endpoint>,
    uri: String,
    response: Response,
    last_byte: Instant,
    last_news: Instant,
}

impl Http {
    /// Posts JSON. `headers` are the protocol's own; those of the endpoint are added and win. An answer with another
    /// status than 2xx is an error.
    pub async fn post(
        &self,
        endpoint: &Arc<Endpoint>,
        uri: &str,
        headers: HeaderMap,
        pieces: Vec<Bytes>,
    ) -> Result<Answer, CallError> {
        let called = Called { endpoint, uri };
        let url = Url::parse(uri).map_err(|error| called.unusable(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(called.unusable("the address is neither http nor https"));
        }
        let headers = all_headers(&called, headers)?;
        let waits = endpoint.timeouts;
        let client = self.clients.get(&url, waits.connect).map_err(|why| called.unusable(&why))?;
        let length = body::length(&pieces);
        let (body, taken) = Pieces::new(pieces);
        let request = client
            .post(url)
            .headers(headers)
            .header(reqwest::header::CONTENT_LENGTH, length)
            .body(reqwest::Body::wrap(body));
        let mut sending = std::pin::pin!(request.send());
        let mut clock = Instant::now();
        let response = loop {
            tokio::select! {
                sent = &mut sending => break sent.map_err(|error| called.unreachable(&error))?,
                () = until(clock.checked_add(waits.first_byte)) => match taken.last() {
                    // Connecting has a clock of its own.
                    None => clock = Instant::now(),
                    Some(last) if last <= clock => return Err(called.timeout(waits.first_byte, "no answer")),
                    Some(last) => clock = last,
                }
            }
        };
        let now = Instant::now();
        let (endpoint, uri) = (Arc::clone(endpoint), uri.to_owned());
        let answer = Answer { endpoint, uri, response, last_byte: now, last_news: now };
        if answer.response.status().is_success() { Ok(answer) } else { Err(answer.into_error().await) }
    }
}

impl Answer {
    /// The status.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The content type without its parameters; empty when there is none.
    pub fn content_type(&self) -> &str {
        let value = self.response.headers().get(reqwest::header::CONTENT_TYPE);
        let value = value.and_then(|value| value.to_str().ok()).unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim()
    }

    /// What an error message names.
    pub fn called(&self) -> Called<'_> {
        Called { endpoint: &self.endpoint, uri: &self.uri }
    }

    /// The next bytes; none at the end. `most_idle` shortens the wait for any byte.
    pub async fn piece(&mut self, most_idle: Option<Duration>) -> Result<Option<Bytes>, CallError> {
        let Timeouts { idle, silence, .. } = self.endpoint.timeouts;
        let idle = most_idle.map_or(idle, |most| idle.min(most));
        let idle_end = self.last_byte.checked_add(idle);
        let silence_end = self.last_news.checked_add(silence);
        tokio::select! {
            biased;
            piece = self.response.chunk() => match piece {
                Ok(piece) => {
                    self.last_byte = Instant::now();
                    Ok(piece)
                }
                Err(error) => Err(self.called().cut(&failure::innermost(&error), None)),
            },
            () = until(idle_end) => Err(self.called().timeout(idle, "nothing")),
            () = until(silence_end) => Err(self.called().timeout(silence, "only signs of life")),
        }
    }

    /// The last bytes carried something: the long clock starts anew.
    pub fn news(&mut self) {
        self.last_news = self.last_byte;
    }

    /// The answer is complete for its protocol. What is left of the body is read in the background, for a short time, since
    /// only a connection that was read to its end is used again.
    pub fn finish(self) {
        let mut response = self.response;
        tokio::spawn(tokio::time::timeout(DRAIN, async move {
            while let Ok(Some(_)) = response.chunk().await {}
        }));
    }

    /// Reads the body of an answer with an error status.
    async fn into_error(mut self) -> CallError {
        let mut body = Vec::new();
        while let Ok(Some(piece)) = self.piece(Some(Duration::from_secs(10))).await {
            let room = MOST_ERROR_BYTES.saturating_sub(body.len());
            body.extend_from_slice(piece.get(..room).unwrap_or(&piece));
            if room <= piece.len() {
                break;
            }
        }
        let error = self.called().refused(self.status(), self.response.headers(), &body);
        self.finish();
        error
    }
}

/// The headers of every request, the protocol's, then the configured ones, which win.
fn all_headers(called: &Called<'_>, protocol: HeaderMap) -> Result<HeaderMap, CallError> {
    let mut all = HeaderMap::new();
    all.insert(reqwest::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // Compressed streams arrive in lumps.
    all.insert(reqwest::header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    all.extend(protocol);
    for (name, value) in &called.endpoint.headers {
        let parsed = HeaderName::try_from(name.as_str());
        let parsed = parsed.map_err(|_| called.unusable(&format!("{name:?} is no header name")))?;
        all.insert(parsed, secret_header(called, name, value.reveal())?);
    }
    Ok(all)
}

/// A header value that stays out of debug output; the error names the header, never the value.
pub fn secret_header(called: &Called<'_>, name: &str, value: &str) -> Result<HeaderValue, CallError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        called.unusable(&format!("the value of {name} holds characters that no header may hold"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// A moment beyond what the clock can count never comes.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}
