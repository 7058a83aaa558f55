//! One outbound model call.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::item::Items;
use crate::model::judgement::names;
use crate::model::port::ImageSource;

/// Why the model is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Purpose {
    Work,
    Plan,
    Side,
    Compaction,
    Review,
}

/// The mode of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Mode {
    Plan,
    #[default]
    Work,
}

impl Mode {
    /// The purpose of a turn's own calls.
    pub fn purpose(self) -> Purpose {
        match self {
            Self::Plan => Purpose::Plan,
            Self::Work => Purpose::Work,
        }
    }
}

/// How hard the model should think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Gear {
    Off,
    #[default]
    Default,
    Minimal,
    Low,
    Medium,
    High,
    Maximum,
}

names!(Purpose { Work = "work", Plan = "plan", Side = "side", Compaction = "compaction", Review = "review" });
names!(Mode { Plan = "plan", Work = "work" });
names!(Gear {
    Off = "off",
    Default = "default",
    Minimal = "minimal",
    Low = "low",
    Medium = "medium",
    High = "high",
    Maximum = "maximum",
});

/// One model call, complete. Cloning shares everything that is large.
#[derive(Clone)]
pub struct Request {
    /// Why.
    pub purpose: Purpose,
    /// The runtime that asks (`crystal/main`).
    pub runtime: Arc<str>,
    /// The conversation, system item first.
    pub items: Items,
    /// What the model may call; empty for none.
    pub tools: Arc<[ToolSpec]>,
    /// Whether it must.
    pub tool_choice: ToolChoice,
    /// Sampling and limits.
    pub sampling: Sampling,
    /// JSON Schema that the final answer must satisfy, for protocols that can be told.
    pub output_schema: Option<Arc<Value>>,
    /// False asks for one whole answer instead of a stream.
    pub stream: bool,
    /// Whether images may be sent with this call.
    pub accepts_images: bool,
    /// Where image bytes come from.
    pub images: Arc<dyn ImageSource>,
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: Arc<str>,
    /// What it does, in the words the model reads.
    pub description: Arc<str>,
    /// JSON Schema of its arguments; the root is an object.
    pub schema: Arc<Value>,
}

/// What the model must do about tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// Its own decision.
    #[default]
    Auto,
    /// Some tool.
    Required,
    /// No tool, though tools are listed.
    None,
    /// That tool.
    Named(Arc<str>),
}

/// Sampling and limits; none means the provider's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct Sampling {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Most output tokens, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    pub thinking: Gear,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<Arc<str>>,
}
