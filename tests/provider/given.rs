//! What the tests of this theme start from: endpoints, requests, and bytes decoded in every way they can be cut.

use std::sync::Arc;

use bytes::Bytes;
use crystal::home::secret::Secret;
use crystal::model::item::{Body, Item, ItemId};
use crystal::model::port::ImageSource;
use crystal::model::request::{Purpose, Request, Sampling, ToolChoice, ToolSpec};
use crystal::model::response::{CallError, Content, Delta, Response};
use crystal::provider::endpoint::{Endpoint, Model, Timeouts};
use crystal::provider::http::Http;
use crystal::provider::openai::OpenAi;
use crystal::provider::openai::decode::Decoder;
use crystal::provider::stream::{Decode, Fault, Framing, Reader, Step};
use crystal::provider::{Client, Protocol};
use serde_json::json;

/// A key that must never be seen.
pub const KEY: &str = "sk-test-0123456789";

/// An endpoint of provider `acme` with model `scripted`.
pub fn endpoint(base_uri: &str) -> Endpoint {
    Endpoint {
        provider: "acme".into(),
        protocol: "openai".into(),
        base_uri: base_uri.to_owned(),
        key: Some(Secret::new(KEY)),
        organization: None,
        project: None,
        headers: Vec::new(),
        replay_reasoning: false,
        token_limit: None,
        model: Model { name: "scripted".into(), context_window: 100_000, ..Model::default() },
        timeouts: Timeouts::default(),
        attempts: 1,
    }
}

/// A client for an endpoint.
pub fn client(endpoint: Endpoint) -> Box<dyn Client> {
    OpenAi::new(Http::default()).client(Arc::new(endpoint)).expect("a client")
}

/// A streaming request with these items and nothing else.
pub fn request(bodies: Vec<Body>) -> Request {
    let items = bodies.into_iter().enumerate().map(|(n, body)| item(n, body)).collect();
    request_of(items)
}

/// A streaming request with these items.
pub fn request_of(items: Vec<Arc<Item>>) -> Request {
    Request {
        purpose: Purpose::Work,
        runtime: "crystal/main".into(),
        items: Arc::new(items),
        tools: Arc::new([]),
        tool_choice: ToolChoice::Auto,
        sampling: Sampling::default(),
        output_schema: None,
        stream: true,
        accepts_images: false,
        images: Arc::new(NoImages),
    }
}

/// A user's words.
pub fn user(text: &str) -> Body {
    Body::User { text: text.into(), images: Vec::new() }
}

/// An item of that number.
pub fn item(number: usize, body: Body) -> Arc<Item> {
    Arc::new(Item::new(ItemId::new(format!("i{number}")), body))
}

/// A tool named like this, without arguments.
pub fn tool(name: &str) -> ToolSpec {
    let schema = Arc::new(json!({"type": "object", "properties": {}}));
    ToolSpec { name: name.into(), description: "does it".into(), schema }
}

/// Makes one call and gathers its deltas.
pub async fn call(client: &mut dyn Client, request: &Request) -> (Result<Response, CallError>, Vec<Delta>) {
    let mut deltas = Vec::new();
    let result = client.call(request, &mut |delta| deltas.push(delta)).await;
    (result, deltas)
}

struct NoImages;

impl ImageSource for NoImages {
    fn load(&self, _: &str) -> Option<Bytes> {
        None
    }
}

/// What came out of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub result: Result<Response, Fault>,
    /// What there was when it failed.
    pub partial: Option<Box<Response>>,
    /// The texts of all deltas, joined by kind, and the calls announced.
    pub shown: Shown,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<String>,
}

/// Decodes a body that arrives in these pieces.
pub fn decode_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let (mut reader, mut decoder) = (Reader::new(Framing::Events), Decoder::default());
    let mut shown = Shown::default();
    let mut sink = |delta| match delta {
        Delta::Text(text) => shown.text.push_str(&text),
        Delta::Reasoning(text) => shown.reasoning.push_str(&text),
        Delta::Call { name } => shown.calls.push(name),
        Delta::Void => panic!("a decoder voids nothing"),
    };
    let mut result = None;
    for piece in pieces {
        match reader.feed(piece, &mut decoder, &mut sink) {
            Ok(Step::Done) => result = Some(decoder.end()),
            Ok(_) => continue,
            Err(fault) => result = Some(Err(fault)),
        }
        break;
    }
    let result = result.unwrap_or_else(|| reader.end(&mut decoder, &mut sink));
    let partial = if result.is_err() { decoder.partial() } else { None };
    Outcome { result, partial, shown }
}

/// Decodes a body whole, byte by byte, in pieces of many sizes, and with CRLF line ends; all must agree.
pub fn decode(body: &[u8]) -> Outcome {
    let whole = decode_pieces([body]);
    let same = |other: &Outcome, how: &str| {
        assert_eq!(other, &whole, "{how}\n{}", String::from_utf8_lossy(body));
    };
    same(&decode_pieces(body.chunks(1)), "byte by byte");
    for seed in 1..8 {
        same(&decode_pieces(random_pieces(body, seed)), "in random pieces");
    }
    if body.starts_with(b"{") {
        return whole;
    }
    let crlf = with_crlf(body);
    same(&decode_pieces([&crlf[..]]), "with CRLF");
    same(&decode_pieces(crlf.chunks(1)), "with CRLF, byte by byte");
    same(&decode_pieces(random_pieces(&crlf, 9)), "with CRLF, in random pieces");
    whole
}

/// Decodes a body of server-sent events with this data each.
pub fn decode_events(events: &[serde_json::Value]) -> Outcome {
    let mut body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    body.push_str("data: [DONE]\n\n");
    decode(body.as_bytes())
}

/// Cuts bytes into pieces of 1 to 60 bytes, the same for the same seed.
pub fn random_pieces(body: &[u8], seed: u64) -> Vec<&[u8]> {
    let mut state = seed;
    let mut rest = body;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (piece, after) = rest.split_at((1 + (state >> 33) as usize % 60).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// The same lines with CRLF ends.
pub fn with_crlf(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(body).replace("\r\n", "\n").replace('\n', "\r\n");
    text.into_bytes()
}

/// Text parts, joined.
pub fn text_of(response: &Response) -> String {
    let texts = response.parts.iter().filter_map(|part| match &part.content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Reasoning parts, joined.
pub fn reasoning_of(response: &Response) -> String {
    let texts = response.parts.iter().filter_map(|part| match &part.content {
        Content::Reasoning(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Calls as (id, name, arguments, complete).
pub fn calls_of(response: &Response) -> Vec<(&str, &str, &str, bool)> {
    let calls = response.parts.iter().filter_map(|part| match &part.content {
        Content::Call { id, name, arguments, complete } => {
            Some((id.as_str(), name.as_str(), arguments.as_str(), *complete))
        }
        _ => None,
    });
    calls.collect()
}
