//! What a script is lent for one call: a transcript to read, an answer to fill. A handle that is kept says so afterwards.

use std::cell::{Cell, RefCell};

use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use crate::model::item::Items;
use crate::plugin::item;

/// Most bytes a protocol may emit in one answer.
pub(crate) const MAX_EMITTED: usize = 16 * 1024 * 1024;
/// Most pieces it may emit them in.
pub(crate) const MAX_PIECES: usize = 200_000;

/// A transcript lent for one call. An item becomes a script's value when it is asked for, so that a script pays for
/// what it reads.
#[derive(Debug)]
pub struct Transcript(RefCell<Option<Items>>);

impl Transcript {
    pub(crate) fn new(items: Items) -> Self {
        Self(RefCell::new(Some(items)))
    }
    /// How many items there are.
    pub(crate) fn len(&self) -> Result<usize, String> {
        Ok(self.items()?.len())
    }
    /// The item at `index` (from 0), as plugins see it.
    pub(crate) fn get(&self, index: usize) -> Result<Option<Value>, String> {
        Ok(self.items()?.get(index).map(|item| item::payload(item)))
    }
    pub(crate) fn end(&self) {
        self.0.borrow_mut().take();
    }
    fn items(&self) -> Result<Items, String> {
        self.0
            .borrow()
            .clone()
            .ok_or_else(|| "these items are stale: the call they belonged to is over".to_owned())
    }
}

/// A piece of a protocol's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Emit {
    /// More answer text.
    Text(String),
    /// More readable reasoning.
    Reasoning(String),
    /// A whole tool call; `arguments` is JSON text.
    Call {
        /// The provider's own id; may be empty.
        id: String,
        /// The tool.
        name: String,
        /// JSON text.
        arguments: String,
    },
    /// Tokens, where the provider says.
    Usage(crate::model::response::Usage),
    /// Why it stopped.
    Finish(crate::model::response::Finish),
}

/// Where the answer of one call goes.
#[derive(Debug)]
pub struct Emitter {
    sink: RefCell<Option<UnboundedSender<Emit>>>,
    bytes: Cell<usize>,
    pieces: Cell<usize>,
}

impl Emitter {
    pub(crate) fn new(sink: UnboundedSender<Emit>) -> Self {
        Self { sink: RefCell::new(Some(sink)), bytes: Cell::new(0), pieces: Cell::new(0) }
    }
    /// Hands one piece to the host.
    pub(crate) fn send(&self, piece: Emit) -> Result<(), String> {
        let sink = self.sink.borrow();
        let Some(sink) = &*sink else { return Err("this answer is over".to_owned()) };
        self.pieces.set(self.pieces.get() + 1);
        self.bytes.set(self.bytes.get().saturating_add(size(&piece)));
        if self.bytes.get() > MAX_EMITTED || self.pieces.get() > MAX_PIECES {
            return Err(format!(
                "an answer may hold {} MiB in {MAX_PIECES} pieces at most",
                MAX_EMITTED >> 20
            ));
        }
        sink.send(piece).map_err(|_| "nobody waits for this answer any more".to_owned())
    }
    pub(crate) fn end(&self) {
        self.sink.borrow_mut().take();
    }
}

fn size(piece: &Emit) -> usize {
    match piece {
        Emit::Text(text) | Emit::Reasoning(text) => text.len(),
        Emit::Call { id, name, arguments } => id.len() + name.len() + arguments.len(),
        Emit::Usage(_) | Emit::Finish(_) => 0,
    }
}
