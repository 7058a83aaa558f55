//! Items: what a conversation is made of, and what any protocol needs to send one again.
//!
//! An item never changes once it is stored; a changed copy is another `Arc`. Its serialised form is flat
//! (the `item` shape that plugins see, plus what the host needs) and keeps fields it does not know.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A shared list of shared items: a request's items, a transcript. Cloning costs one count.
pub type Items = Arc<Vec<Arc<Item>>>;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps an id.
            pub fn new(id: impl Into<Arc<str>>) -> Self {
                Self(id.into())
            }
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
    };
}

id! {
    /// An item's id, given by the host, unique in its session (`i1`, `i2`, …).
    ItemId
}
id! {
    /// A tool call's id, given by the host, unique in its session: nine letters and digits, the
    /// strictest form any provider asks for, so that it can be sent wherever the provider's own cannot.
    CallId
}
id! {
    /// A response's id, given by the host, unique in its session (`r1`, …).
    ResponseId
}

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Flat", into = "Flat")]
pub struct Item {
    /// The host's id.
    pub id: ItemId,
    /// What it says.
    pub body: Body,
    /// The response it came in and its place there; none for what the host or the operator wrote.
    pub origin: Option<Origin>,
    /// What the provider wants back unchanged with it (signatures, encrypted reasoning).
    pub state: Option<ProviderState>,
    /// Fields of a newer format, kept as they were.
    pub extra: Map<String, Value>,
}

/// What an item says, by kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The composed system text.
    System {
        /// The text.
        text: Arc<str>,
    },
    /// What the operator (or the host on their behalf) said.
    User {
        /// The text.
        text: Arc<str>,
        /// Attached images.
        images: Vec<Image>,
    },
    /// What the model said.
    Assistant {
        /// The text.
        text: Arc<str>,
    },
    /// Readable reasoning; the text may be empty when only provider state came.
    Reasoning {
        /// The text.
        text: Arc<str>,
    },
    /// A tool call of the model.
    ToolCall(ToolCall),
    /// The answer to one tool call.
    ToolResult(ToolResult),
}

/// The kinds of item, as plugins and session files name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Kind {
    System,
    User,
    Assistant,
    Reasoning,
    ToolCall,
    ToolResult,
}

impl Kind {
    /// The name in files and payloads.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Reasoning => "reasoning",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
        }
    }
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The host's id, which its result names.
    pub id: CallId,
    /// The tool's name as the model wrote it.
    pub name: Arc<str>,
    /// JSON text of an object, always valid: unparsable arguments are kept in `malformed` and `{}` stands here,
    /// because gateways refuse a history that holds broken JSON.
    pub arguments: Arc<str>,
    /// The model's own text where it was no JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<Arc<str>>,
    /// The provider's own id, kept only while it can be sent back: not empty, at most 64 characters, and
    /// not used by an earlier call of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<Arc<str>>,
}

impl ToolCall {
    /// The id to put on the wire: the provider's own where it has a usable one, else the host's.
    pub fn wire_id(&self) -> &str {
        self.provider_id.as_deref().unwrap_or(self.id.as_str())
    }
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The call it answers.
    pub call_id: CallId,
    /// The id that call went out with, where it differs from `call_id`.
    pub provider_id: Option<Arc<str>>,
    /// The tool's name.
    pub name: Arc<str>,
    /// What the model reads.
    pub text: Arc<str>,
    /// Images for a model that takes them.
    pub images: Vec<Image>,
    /// Whether the call failed, was refused or never ran.
    pub failed: bool,
}

impl ToolResult {
    /// The id to put on the wire, matching [`ToolCall::wire_id`].
    pub fn wire_id(&self) -> &str {
        self.provider_id.as_deref().unwrap_or(self.call_id.as_str())
    }
}

/// Where a model's item came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The response.
    pub response: ResponseId,
    /// Its place there, from 0.
    pub index: u32,
}

/// Opaque provider data, sent back only to the protocol and model that made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProviderState {
    /// Protocol token (`openai`, …).
    pub protocol: Arc<str>,
    /// Model name.
    pub model: Arc<str>,
    /// The data, in the protocol's own shape.
    pub data: Value,
}

/// A reference to image bytes that the session stores once, by content.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Image {
    /// SHA-256 of the bytes, lower-case hexadecimal.
    pub id: Arc<str>,
    /// What the bytes are (judged by content, never by file name).
    pub media_type: MediaType,
}

/// Image types that travel to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum MediaType {
    #[serde(rename = "image/png")]
    Png,
    #[serde(rename = "image/jpeg")]
    Jpeg,
    #[serde(rename = "image/gif")]
    Gif,
    #[serde(rename = "image/webp")]
    Webp,
}

impl MediaType {
    /// The MIME type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
    /// The type that the first bytes say.
    pub fn sniff(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            _ => None,
        }
    }
}

impl Item {
    /// An item the host or the operator wrote: no origin, no state.
    pub fn new(id: ItemId, body: Body) -> Self {
        Self { id, body, origin: None, state: None, extra: Map::new() }
    }
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self.body {
            Body::System { .. } => Kind::System,
            Body::User { .. } => Kind::User,
            Body::Assistant { .. } => Kind::Assistant,
            Body::Reasoning { .. } => Kind::Reasoning,
            Body::ToolCall(_) => Kind::ToolCall,
            Body::ToolResult(_) => Kind::ToolResult,
        }
    }
    /// Its text; a tool call has none.
    pub fn text(&self) -> Option<&Arc<str>> {
        match &self.body {
            Body::System { text }
            | Body::User { text, .. }
            | Body::Assistant { text }
            | Body::Reasoning { text } => Some(text),
            Body::ToolResult(result) => Some(&result.text),
            Body::ToolCall(_) => None,
        }
    }
    /// Its images; only user items and tool results have any.
    pub fn images(&self) -> &[Image] {
        match &self.body {
            Body::User { images, .. } => images,
            Body::ToolResult(result) => &result.images,
            _ => &[],
        }
    }
    /// The provider state, if this protocol and model made it.
    pub fn state_for(&self, protocol: &str, model: &str) -> Option<&Value> {
        let state = self.state.as_ref()?;
        (&*state.protocol == protocol && &*state.model == model).then_some(&state.data)
    }
}

/// The serialised form.
#[derive(Serialize, Deserialize)]
struct Flat {
    id: ItemId,
    kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    images: Vec<Image>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_call: Option<ToolCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call_id: Option<CallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider_id: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<ProviderState>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl From<Item> for Flat {
    fn from(item: Item) -> Self {
        let kind = item.kind();
        let mut flat = Self {
            id: item.id,
            kind,
            text: None,
            images: Vec::new(),
            tool_call: None,
            call_id: None,
            provider_id: None,
            name: None,
            failed: false,
            origin: item.origin,
            state: item.state,
            extra: item.extra,
        };
        match item.body {
            Body::System { text } | Body::Assistant { text } | Body::Reasoning { text } => {
                flat.text = Some(text)
            }
            Body::User { text, images } => {
                flat.text = Some(text);
                flat.images = images;
            }
            Body::ToolCall(call) => flat.tool_call = Some(call),
            Body::ToolResult(result) => {
                flat.text = Some(result.text);
                flat.images = result.images;
                flat.call_id = Some(result.call_id);
                flat.provider_id = result.provider_id;
                flat.name = Some(result.name);
                flat.failed = result.failed;
            }
        }
        flat
    }
}

impl TryFrom<Flat> for Item {
    type Error = String;

    fn try_from(flat: Flat) -> Result<Self, String> {
        let missing = |field: &str| format!("item {} of kind {} has no {field}", flat.id, flat.kind.as_str());
        let text = || flat.text.clone().ok_or_else(|| missing("text"));
        let body = match flat.kind {
            Kind::System => Body::System { text: text()? },
            Kind::User => Body::User { text: text()?, images: flat.images },
            Kind::Assistant => Body::Assistant { text: text()? },
            Kind::Reasoning => Body::Reasoning { text: text()? },
            Kind::ToolCall => Body::ToolCall(flat.tool_call.ok_or_else(|| missing("tool_call"))?),
            Kind::ToolResult => Body::ToolResult(ToolResult {
                text: text()?,
                call_id: flat.call_id.clone().ok_or_else(|| missing("call_id"))?,
                name: flat.name.clone().ok_or_else(|| missing("name"))?,
                provider_id: flat.provider_id,
                images: flat.images,
                failed: flat.failed,
            }),
        };
        Ok(Self { id: flat.id, body, origin: flat.origin, state: flat.state, extra: flat.extra })
    }
}
