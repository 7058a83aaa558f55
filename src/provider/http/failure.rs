//! Failures of a call as one sentence each: what failed, the provider's own words, the way out. Keys never appear in one.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;

use crate::model::response::CallErrorKind as Kind;
use crate::model::response::{CallError, Response};
use crate::provider::endpoint::Endpoint;
use crate::provider::http::said::Said;
use crate::provider::wait;

/// What a message names: who was called and where.
#[derive(Clone, Copy, Debug)]
pub struct Called<'a> {
    /// The endpoint.
    pub endpoint: &'a Endpoint,
    /// The address, without a query.
    pub uri: &'a str,
}

impl Called<'_> {
    /// An answer with an error status.
    pub fn refused(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> CallError {
        let said = Said::read(&String::from_utf8_lossy(body));
        let header = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
        let (kind, retryable) = judge(Some(status), &said);
        let retryable = match header("x-should-retry").as_deref() {
            Some("true") => kind != Kind::Context,
            Some("false") => false,
            _ => retryable,
        };
        let hint = match header("location").filter(|_| (300..400).contains(&status)) {
            Some(to) => {
                format!("it redirects to {to}, which is not followed: put the right address in baseUri")
            }
            None => self.hint(kind, Some(status)),
        };
        let mut error =
            self.error(kind, retryable, self.sentence(Some(status), &said, &headers_type(headers), &hint));
        error.status = Some(status);
        error.retry_after = wait::asked(&header, said.body.as_ref(), &said.message, SystemTime::now());
        if let Some(asked) =
            error.retry_after.filter(|asked| kind == Kind::RateLimit && *asked >= Duration::from_secs(1))
        {
            error.message.push_str(&format!("; it asks to wait {} s", asked.as_secs_f64().ceil()));
        }
        error.code = said.code.or(said.kind).map(|code| self.redact(code));
        error
    }

    /// An error inside an answer that had begun well.
    pub fn said(&self, said: &Said, partial: Option<Box<Response>>) -> CallError {
        let (kind, retryable) = judge(None, said);
        let sentence = self.sentence(None, said, "", &self.hint(kind, None));
        let mut error = self.error(kind, retryable, sentence);
        error.retry_after = wait::asked(&|_| None, said.body.as_ref(), &said.message, SystemTime::now());
        error.code = said.code.clone().or_else(|| said.kind.clone()).map(|code| self.redact(code));
        error.partial = partial;
        error
    }

    /// An error in place of a whole answer, though the status was good. What does not say that it will pass is not
    /// tried again: it is a gateway's way to refuse.
    pub fn said_whole(&self, said: &Said, partial: Option<Box<Response>>) -> CallError {
        let mut error = self.said(said, partial);
        if error.kind == Kind::Server && said.code.as_deref().is_none_or(|code| !code.starts_with('5')) {
            (error.kind, error.retryable) = (Kind::Client, false);
        }
        error
    }

    /// An answer with a good status that is no answer of the protocol.
    pub fn foreign(&self, status: u16, content_type: &str, excerpt: &str) -> CallError {
        let excerpt = if excerpt.is_empty() { "(empty)" } else { excerpt };
        let kind = if content_type.is_empty() { "no content type" } else { content_type };
        let message = format!(
            "unexpected answer from {}: status {status}, {kind}, no completion: {excerpt}; check baseUri and protocol of \
             provider {}",
            self.uri, self.endpoint.provider
        );
        let mut error = self.error(Kind::Garbage, false, message);
        error.status = Some(status);
        error
    }

    /// An answer that broke the protocol after it had begun well.
    pub fn garbage(&self, what: &str, partial: Option<Box<Response>>) -> CallError {
        let message = format!("{} sent an answer that cannot be read: {what}", self.endpoint.provider);
        CallError { partial, ..self.error(Kind::Garbage, true, message) }
    }

    /// An answer that ended before its end mark.
    pub fn cut(&self, why: &str, partial: Option<Box<Response>>) -> CallError {
        let message = format!("the answer of {} broke off before its end: {why}", self.endpoint.provider);
        CallError { partial, ..self.error(Kind::Cut, true, message) }
    }

    /// Nothing came for too long.
    pub fn timeout(&self, waited: Duration, what: &str) -> CallError {
        let message = format!("{} sent {what} for {} s", self.endpoint.provider, waited.as_secs_f64());
        self.error(Kind::Timeout, true, message)
    }

    /// The request could not be sent, or no answer came.
    pub fn unreachable(&self, error: &reqwest::Error) -> CallError {
        let why = match error.is_timeout() {
            true => format!("no connection within {} s", self.endpoint.timeouts.connect.as_secs_f64()),
            false => innermost(error),
        };
        if error.is_builder() {
            return self.unusable(&why);
        }
        // A certificate is not mended by another attempt.
        let retryable = !why.contains("certificate");
        let message = format!(
            "cannot reach {} at {}: {why}; check baseUri, the network and the proxy settings",
            self.endpoint.provider, self.uri
        );
        self.error(Kind::Connect, retryable, message)
    }

    /// The configuration cannot be used for a request.
    pub fn unusable(&self, why: &str) -> CallError {
        let message =
            format!("cannot call {} at {}: {why}; check providers.json", self.endpoint.provider, self.uri);
        self.error(Kind::Client, false, message)
    }

    fn error(&self, kind: Kind, retryable: bool, message: String) -> CallError {
        let message = self.redact(message);
        CallError { kind, status: None, code: None, message, retry_after: None, retryable, partial: None }
    }

    fn sentence(&self, status: Option<u16>, said: &Said, content_type: &str, hint: &str) -> String {
        let mut text = self.endpoint.provider.to_string();
        match status {
            Some(status) => text.push_str(&format!(" answered {status}")),
            None => text.push_str(" reported an error in its answer"),
        }
        if content_type.contains("html") {
            text.push_str(&format!(" with {content_type}"));
        }
        if let Some(code) = said.code.as_ref().or(said.kind.as_ref()).filter(|code| !same(code, status)) {
            text.push_str(&format!(" ({code})"));
        }
        if !said.message.is_empty() {
            text.push_str(": ");
            text.push_str(&said.message);
        }
        if !hint.is_empty() {
            text.push_str("; ");
            text.push_str(hint);
        }
        text
    }

    fn hint(&self, kind: Kind, status: Option<u16>) -> String {
        let (provider, model) = (&self.endpoint.provider, &self.endpoint.model.name);
        match (kind, status) {
            (Kind::Auth, Some(403)) => format!(
                "the key may not be allowed to use {model}: set another with `crystal keys set {provider}`"
            ),
            (Kind::Auth, _) => format!("set a valid key with `crystal keys set {provider}`"),
            (Kind::Quota, _) => format!("waiting does not help: check plan and billing at {provider}"),
            (Kind::Context, _) => format!("the conversation is too long for {model}: it must be compacted"),
            (Kind::Client, Some(404)) => format!("check the model name {model} and the address {}", self.uri),
            _ => String::new(),
        }
    }

    fn redact(&self, mut text: String) -> String {
        let secrets = self.endpoint.headers.iter().map(|(_, value)| value).chain(&self.endpoint.key);
        for secret in secrets.map(|secret| secret.reveal()) {
            // Shorter values are no secrets, and would cut words apart.
            if secret.len() >= 6 && text.contains(secret) {
                text = text.replace(secret, "…");
            }
        }
        text
    }
}

fn headers_type(headers: &HeaderMap) -> String {
    let value = headers.get(reqwest::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_owned()
}

fn same(code: &str, status: Option<u16>) -> bool {
    status.is_some_and(|status| code == status.to_string())
}

/// The cause at the bottom of an error, which says what really happened.
pub fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string().trim_end_matches('.').to_owned()
}

/// The kind of a failure and whether another attempt may help. Inside a stream a numeric code stands for the status.
fn judge(status: Option<u16>, said: &Said) -> (Kind, bool) {
    let text = said.message.to_ascii_lowercase();
    if overflows(said, &text) {
        return (Kind::Context, false);
    }
    if said.is(&["insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "quota_exceeded"])
        || text.contains("exceeded your current quota")
    {
        return (Kind::Quota, false);
    }
    if said.is(&["content_policy_violation", "content_filter", "content_filtered"]) {
        return (Kind::Filtered, false);
    }
    let code = || said.code.as_ref()?.parse::<u16>().ok().filter(|code| (400..600).contains(code));
    match status.or_else(code) {
        Some(status) => by_status(status),
        None => by_word(said, &text),
    }
}

fn by_status(status: u16) -> (Kind, bool) {
    match status {
        401 | 403 => (Kind::Auth, false),
        402 => (Kind::Quota, false),
        408 | 409 => (Kind::Server, true),
        413 => (Kind::Context, false),
        429 => (Kind::RateLimit, true),
        500 | 502 | 503 | 504 | 520..=529 => (Kind::Server, true),
        501 | 505..=599 => (Kind::Server, false),
        _ => (Kind::Client, false),
    }
}

fn by_word(said: &Said, text: &str) -> (Kind, bool) {
    if said.is(&["tool_use_failed"]) {
        // The model wrote a broken call; another sample may do better.
        return (Kind::Garbage, true);
    }
    if said.is(&["authentication_error", "permission_error", "invalid_api_key"]) || text.contains("api key") {
        return (Kind::Auth, false);
    }
    if said.is(&["rate_limit_exceeded", "rate_limit_error", "rate_limit"]) || text.contains("rate limit") {
        return (Kind::RateLimit, true);
    }
    if said.is(&["invalid_request_error", "not_found_error", "invalid_prompt", "model_not_found"]) {
        return (Kind::Client, false);
    }
    (Kind::Server, true)
}

fn overflows(said: &Said, text: &str) -> bool {
    const CODES: &[&str] = &[
        "context_length_exceeded",
        "exceed_context_size_error",
        "model_context_window_exceeded",
        "request_too_large",
    ];
    const WORDS: &[&str] = &[
        "maximum context length",
        "context length exceeded",
        "exceeds the available context size",
        "exceeds the context window",
        "exceed context limit",
        "prompt is too long",
        "prompt too long",
        "input token count",
        "request too large",
        "reduce the length of the messages",
        "too many input tokens",
    ];
    said.is(CODES) || WORDS.iter().any(|words| text.contains(words))
}
