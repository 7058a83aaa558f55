//! What is sent to a VM's thread.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use crate::model::item::Items;
use crate::plugin::vm::chain::Chain;
use crate::plugin::vm::clock::Control;
use crate::plugin::vm::engine::FunctionId;
use crate::plugin::vm::lend::Emit;

pub(crate) enum Message {
    Request(Box<Request>),
    /// Something that a wait depends on has changed.
    Wake,
    /// The last handle is gone.
    Close,
}

pub(crate) struct Request {
    pub(crate) work: Work,
    pub(crate) control: Arc<Control>,
    pub(crate) chain: Chain,
    pub(crate) deadline: Option<Duration>,
}

pub(crate) enum Work {
    Load { entry: String },
    Exposed,
    Call(Call),
}

/// One call of a script function.
#[derive(Debug)]
pub struct Call {
    /// The function.
    pub function: FunctionId,
    /// What is called, for messages: `tool 'branch_name'`.
    pub name: String,
    /// What it is called with.
    pub arguments: Vec<Given>,
    /// Script time it may take, or one slice of it where it emits; none is no limit.
    pub deadline: Option<Duration>,
    /// What the result replaces: where they are equal, its tokens stay.
    pub original: Option<Value>,
}

/// An argument of a call.
#[derive(Debug)]
pub enum Given {
    /// A plain value.
    Value(Value),
    /// A map with a transcript under `items`.
    Record(Value, Items),
    /// A place for a protocol's answer.
    Emit(UnboundedSender<Emit>),
}
