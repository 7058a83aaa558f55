//! A request's body as a list of shared pieces. What was encoded for the previous request is kept, and used again as far
//! as both have the same items (the same `Arc`s): a step encodes what is new.
//!
//! The messages are cut into blocks at places where no message is continued ([`messages::continues`]), so that the start of
//! a conversation is a few long pieces however many items it has.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

use crate::model::item::{Body, Item, Items};
use crate::model::request::{Gear, Request, ToolChoice, ToolSpec};
use crate::provider::endpoint::Endpoint;
use crate::provider::openai::messages::{self, Writer};
use crate::provider::openai::quirks::{Field, Quirks};

/// A block is closed when it has this many bytes.
const BLOCK: usize = 32 << 10;

/// What was encoded for the previous request of a conversation.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    items: Items,
    accepts_images: bool,
    /// The places of system items, which are gathered into one message at the start.
    systems: Vec<usize>,
    head: Option<Head>,
    blocks: Vec<Block>,
    tools: Option<(Arc<[ToolSpec]>, Bytes)>,
}

#[derive(Debug)]
struct Head {
    systems: Vec<Arc<Item>>,
    bytes: Bytes,
}

#[derive(Debug)]
struct Block {
    /// The item after the block's last.
    end: usize,
    bytes: Bytes,
}

impl Encoder {
    /// The body of a request.
    pub(super) fn encode(&mut self, request: &Request, endpoint: &Endpoint, quirks: &Quirks) -> Vec<Bytes> {
        let items = &request.items;
        let kept = self.keep(request);
        self.systems.truncate(self.systems.partition_point(|place| *place < kept));
        let new = items.iter().enumerate().skip(kept);
        self.systems.extend(new.filter(|(_, item)| is_system(item)).map(|(place, _)| place));
        let mut pieces = vec![self.head(items, endpoint)];
        self.write_blocks(request, endpoint);
        pieces.extend(self.blocks.iter().map(|block| block.bytes.clone()));
        pieces.push(tail(request, endpoint, quirks).into());
        if !request.tools.is_empty() {
            pieces.push(self.tools(&request.tools));
        }
        pieces.push(Bytes::from_static(b"}"));
        self.items = Arc::clone(items);
        self.accepts_images = request.accepts_images;
        pieces
    }

    /// Drops what the new request does not share, and returns how many items it does.
    fn keep(&mut self, request: &Request) -> usize {
        let (old, new) = (&self.items, &request.items);
        if request.accepts_images != self.accepts_images {
            self.blocks.clear();
        }
        let same = if Arc::ptr_eq(old, new) {
            new.len()
        } else {
            old.iter().zip(new.iter()).take_while(|(a, b)| Arc::ptr_eq(a, b)).count()
        };
        let fits = |block: &Block| {
            let after = new.get(block.end);
            let before = block.end.checked_sub(1).and_then(|last| new.get(last));
            block.end <= same
                && !before.zip(after).is_some_and(|(before, after)| messages::continues(before, after))
        };
        let keep = self.blocks.iter().take_while(|block| fits(block)).count();
        self.blocks.truncate(keep);
        same
    }

    /// Everything before the first message that is not the system's.
    fn head(&mut self, items: &Items, endpoint: &Endpoint) -> Bytes {
        let systems: Vec<&Arc<Item>> = self.systems.iter().filter_map(|place| items.get(*place)).collect();
        if let Some(head) = &self.head
            && head.systems.len() == systems.len()
            && head.systems.iter().zip(&systems).all(|(a, b)| Arc::ptr_eq(a, b))
        {
            return head.bytes.clone();
        }
        let mut out = Vec::new();
        out.extend_from_slice(b"{\"model\":");
        put(&mut out, &endpoint.model.name);
        out.extend_from_slice(b",\"messages\":[");
        let texts: Vec<&str> =
            systems.iter().filter_map(|item| Some(&**item.text()?)).filter(|text| !text.is_empty()).collect();
        if !texts.is_empty() {
            put(&mut out, &json!({"role": "system", "content": texts.join("\n\n")}));
        }
        let bytes = Bytes::from(out);
        // Whether the first block begins with a comma depends on this.
        self.blocks.clear();
        self.head = Some(Head { systems: systems.into_iter().cloned().collect(), bytes: bytes.clone() });
        bytes
    }

    fn write_blocks(&mut self, request: &Request, endpoint: &Endpoint) {
        let items = &request.items;
        let begun = self.head.as_ref().is_some_and(|head| !head.bytes.ends_with(b"["))
            || self.blocks.iter().any(|block| !block.bytes.is_empty());
        let mut writer = Writer::new(request, endpoint, begun);
        let mut start = self.blocks.last().map_or(0, |block| block.end);
        while let Some(rest) = items.get(start..).filter(|rest| !rest.is_empty()) {
            let length = rest.windows(2).position(|pair| match pair {
                [before, after] => !messages::continues(before, after),
                _ => true,
            });
            let length = length.map_or(rest.len(), |last| last + 1);
            writer.message(rest.get(..length).unwrap_or_default());
            start += length;
            if writer.len() >= BLOCK || start == items.len() {
                self.blocks.push(Block { end: start, bytes: writer.take() });
            }
        }
    }

    fn tools(&mut self, tools: &Arc<[ToolSpec]>) -> Bytes {
        if let Some((have, bytes)) = &self.tools
            && (Arc::ptr_eq(have, tools) || have == tools)
        {
            return bytes.clone();
        }
        let list: Vec<Value> = tools.iter().map(tool).collect();
        let mut out = b",\"tools\":".to_vec();
        put(&mut out, &list);
        let bytes = Bytes::from(out);
        self.tools = Some((Arc::clone(tools), bytes.clone()));
        bytes
    }
}

fn is_system(item: &Item) -> bool {
    matches!(item.body, Body::System { .. })
}

fn tool(tool: &ToolSpec) -> Value {
    let function = json!({"name": tool.name, "description": tool.description, "parameters": tool.schema});
    json!({"type": "function", "function": function})
}

/// What follows the messages, without the tools: it changes from call to call.
#[derive(Serialize)]
struct Tail<'a> {
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

fn tail(request: &Request, endpoint: &Endpoint, quirks: &Quirks) -> Vec<u8> {
    let sampling = &request.sampling;
    let sent = |field: Field| field == Field::Sent;
    let limit = |name: &str| sampling.max_tokens.filter(|_| quirks.limit_name() == name);
    let counts = request.stream && sent(quirks.stream_options);
    let effort = effort(endpoint, sampling.thinking).filter(|_| sent(quirks.reasoning_effort));
    let tail = Tail {
        stream: request.stream,
        stream_options: counts.then(|| json!({"include_usage": true})),
        max_tokens: limit("max_tokens"),
        max_completion_tokens: limit("max_completion_tokens"),
        temperature: sampling.temperature.filter(|_| sent(quirks.temperature)),
        top_p: sampling.top_p.filter(|_| sent(quirks.top_p)),
        reasoning_effort: effort,
        service_tier: sampling.service_tier.as_deref(),
        response_format: request.output_schema.as_ref().map(
            |schema| json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}),
        ),
        tool_choice: tool_choice(request),
    };
    let mut out = b"]".to_vec();
    put(&mut out, &tail);
    // The object goes on: its brace becomes a comma, and the tools or the end follow.
    if let Some(brace) = out.get_mut(1) {
        *brace = b',';
    }
    out.pop();
    out
}

fn tool_choice(request: &Request) -> Option<Value> {
    if request.tools.is_empty() {
        return None;
    }
    match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::Required => Some("required".into()),
        ToolChoice::None => Some("none".into()),
        ToolChoice::Named(name) => Some(json!({"type": "function", "function": {"name": name}})),
    }
}

/// The effort for a gear: the nearest that the model lists and that is not above it, else its lowest. A model that lists
/// none is sent none.
fn effort(endpoint: &Endpoint, gear: Gear) -> Option<&'static str> {
    let model = &endpoint.model;
    if gear == Gear::Default || model.thinking_efforts.is_empty() {
        return None;
    }
    if gear == Gear::Off && model.thinking_can_disable {
        return Some("none");
    }
    let rank = |gear: &Gear| Gear::ALL.iter().position(|have| have == gear);
    let efforts = || model.thinking_efforts.iter().copied();
    let below = efforts().filter(|have| rank(have) <= rank(&gear)).max_by_key(rank);
    match below.or_else(|| efforts().min_by_key(rank))? {
        Gear::Off => Some("none"),
        Gear::Default => None,
        Gear::Minimal => Some("minimal"),
        Gear::Low => Some("low"),
        Gear::Medium => Some("medium"),
        Gear::High => Some("high"),
        Gear::Maximum => Some("xhigh"),
    }
}

/// Appends a value as JSON. Writing text, numbers and JSON values into memory cannot fail.
pub(super) fn put(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    let written = serde_json::to_writer(out, value);
    debug_assert!(written.is_ok());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::item::ItemId;
    use crate::model::port::ImageSource;
    use crate::model::request::{Purpose, Sampling};
    use crate::provider::endpoint::{Model, Timeouts};

    struct NoImages;
    impl ImageSource for NoImages {
        fn load(&self, _: &str) -> Option<Bytes> {
            None
        }
    }

    fn endpoint() -> Endpoint {
        Endpoint {
            provider: "acme".into(),
            protocol: "openai".into(),
            base_uri: "http://there".into(),
            key: None,
            organization: None,
            project: None,
            headers: Vec::new(),
            replay_reasoning: false,
            token_limit: None,
            model: Model { name: "scripted".into(), ..Model::default() },
            timeouts: Timeouts::default(),
            attempts: 1,
        }
    }

    fn request(items: &[Arc<Item>], tools: &Arc<[ToolSpec]>) -> Request {
        Request {
            purpose: Purpose::Work,
            runtime: "crystal/main".into(),
            items: Arc::new(items.to_vec()),
            tools: Arc::clone(tools),
            tool_choice: ToolChoice::Auto,
            sampling: Sampling::default(),
            output_schema: None,
            stream: true,
            accepts_images: false,
            images: Arc::new(NoImages),
        }
    }

    /// Appends a round of two items with 10 KB.
    fn grow(items: &mut Vec<Arc<Item>>) {
        let text: Arc<str> = "lorem ipsum ".repeat(900).into();
        let user = Body::User { text, images: Vec::new() };
        for body in [user, Body::Assistant { text: "ok".into() }] {
            items.push(Arc::new(Item::new(ItemId::new(format!("i{}", items.len())), body)));
        }
    }

    #[test]
    fn a_step_encodes_what_is_new_and_shares_the_rest() {
        let (endpoint, mut encoder, mut items) = (endpoint(), Encoder::default(), Vec::new());
        let quirks = Quirks::of(&endpoint, "http://there");
        let tools: Arc<[ToolSpec]> =
            Arc::new([ToolSpec { name: "t".into(), description: "".into(), schema: Arc::new(json!({})) }]);
        for _ in 0..50 {
            grow(&mut items);
        }
        let first = encoder.encode(&request(&items, &tools), &endpoint, &quirks);
        grow(&mut items);
        let second = encoder.encode(&request(&items, &tools), &endpoint, &quirks);
        let shared = |piece: &&Bytes| first.iter().any(|old| old.as_ptr() == piece.as_ptr());
        let new: usize = second.iter().filter(|piece| !shared(piece)).map(Bytes::len).sum();
        let total: usize = second.iter().map(Bytes::len).sum();
        assert!(total > 500_000 && new < 12_000, "{new} of {total} bytes are new");
        assert!(second.len() < 40, "{} pieces", second.len());
    }

    #[test]
    fn an_item_that_changed_is_encoded_again_with_what_follows() {
        let (endpoint, mut encoder, mut items) = (endpoint(), Encoder::default(), Vec::new());
        let quirks = Quirks::of(&endpoint, "http://there");
        let tools: Arc<[ToolSpec]> = Arc::new([]);
        for _ in 0..20 {
            grow(&mut items);
        }
        encoder.encode(&request(&items, &tools), &endpoint, &quirks);
        if let Some(item) = items.get_mut(20) {
            *item =
                Arc::new(Item::new(ItemId::new("x"), Body::User { text: "changed".into(), images: vec![] }));
        }
        let again = encoder.encode(&request(&items, &tools), &endpoint, &quirks).concat();
        let fresh = Encoder::default().encode(&request(&items, &tools), &endpoint, &quirks).concat();
        assert_eq!(again, fresh);
    }
}
