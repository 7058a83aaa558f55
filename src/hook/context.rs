//! What a handler may know of the moment it runs in, beside the payload, and where its notes and records go.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::hook::clock::Clock;
use crate::hook::handler::Plugin;
use crate::hook::table::{List, Row, Scope};
use crate::model::judgement::{Approval, names};
use crate::model::request::{Mode, Purpose};

/// The circumstances of a moment. Cloning shares everything that is large.
#[derive(Clone)]
pub struct Context {
    /// The session's id.
    pub session: Arc<str>,
    /// The turn's id; empty outside a turn.
    pub turn: Arc<str>,
    /// The number of the operator input that the turn belongs to.
    pub logical_turn: Option<u64>,
    /// The session's language (`en`).
    pub locale: Arc<str>,
    /// The runtime that is running, or that a proposal comes from; none outside one.
    pub runtime: Option<RuntimeRef>,
    /// Directories of the plugins that take part, in load order.
    pub active_plugins: Arc<[Arc<str>]>,
    /// The turn's mode.
    pub mode: Mode,
    /// The workspace root.
    pub workspace: Arc<str>,
    /// The approval mode.
    pub approval: Approval,
    /// What the model is being called for; none outside a call.
    pub purpose: Option<Purpose>,
    /// The turn's cancel. A handler sees a token of its own, which its deadline cancels too.
    pub cancel: CancellationToken,
    /// Where notes and records go.
    pub report: Arc<dyn HookReport>,
    /// The handlers whose calls led here.
    pub chain: Chain,
    /// The clock of the call, which the dispatcher starts; any clock outside one.
    pub clock: Clock,
}

/// A runtime as handlers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeRef {
    /// The plugin directory that contributes it; `crystal` for the host.
    pub plugin: Arc<str>,
    /// Its id (`crystal/main`).
    pub runtime: Arc<str>,
    /// Whether its prompt and answers stay out of traces.
    pub concealed: bool,
}

impl Context {
    /// The first argument of an event handler, without its functions.
    pub fn offer(&self, row: &Row) -> Map<String, Value> {
        let mut ctx = Map::new();
        let in_turn = row.scope != Scope::Session;
        ctx.insert("event".into(), row.name.into());
        ctx.insert("session".into(), (*self.session).into());
        ctx.insert("turn".into(), if in_turn { (*self.turn).into() } else { "".into() });
        if let Some(number) = self.logical_turn.filter(|_| in_turn) {
            ctx.insert("logical_turn".into(), number.into());
        }
        ctx.insert("locale".into(), (*self.locale).into());
        if let Some(at) = self.runtime.as_ref().filter(|_| row.scope == Scope::Runtime) {
            ctx.insert("plugin".into(), (*at.plugin).into());
            ctx.insert("runtime".into(), (*at.runtime).into());
        }
        ctx.insert("active_plugins".into(), json!(self.active_plugins));
        ctx
    }
}

/// The handlers whose calls led to a moment, innermost first. Empty for what the host does itself.
#[derive(Clone, Debug, Default)]
pub struct Chain(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    plugin: Arc<str>,
    moment: &'static str,
    registration: usize,
    depth: usize,
    outer: Chain,
}

impl Chain {
    /// Most handlers in a chain.
    pub const DEPTH: usize = 8;

    /// How many handlers are in it.
    pub fn depth(&self) -> usize {
        self.0.as_ref().map_or(0, |link| link.depth)
    }
    /// The chain as that handler's own acts see it.
    pub fn entered(&self, plugin: &Arc<str>, row: &'static Row, registration: usize) -> Self {
        Self(Some(Arc::new(Link {
            plugin: plugin.clone(),
            moment: row.name,
            registration,
            depth: self.depth() + 1,
            outer: self.clone(),
        })))
    }
    /// Whether that handler is in it.
    pub fn holds(&self, plugin: &str, row: &Row, registration: usize) -> bool {
        let mut chain = self;
        while let Some(link) = &chain.0 {
            if &*link.plugin == plugin && link.moment == row.name && link.registration == registration {
                return true;
            }
            chain = &link.outer;
        }
        false
    }
}

/// Where the dispatcher's notes and records go. Neither waits.
pub trait HookReport: Send + Sync {
    /// One English sentence for the operator.
    fn note(&self, text: String);
    /// One handler call.
    fn trace(&self, record: TraceRecord);
    /// Whether records are kept; changes are worked out only then.
    fn wants_trace(&self) -> bool;
}

/// One handler call, for the trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceRecord {
    /// The moment.
    pub event: &'static str,
    /// Whose handler.
    pub plugin: Plugin,
    /// The list it is on.
    pub list: List,
    /// How long the host waited for it.
    pub duration: Duration,
    /// How it ended.
    pub outcome: Outcome,
    /// Why, where there is more to say.
    pub reason: Option<String>,
    /// What it changed, as a diff of at most 16 KiB.
    pub change: Option<String>,
}

/// How a handler call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It changed nothing.
    Unchanged,
    /// It changed the payload.
    Changed,
    /// It blocked what was about to happen.
    Aborted,
    /// Its filter said no.
    Filtered,
    /// Its reply broke a rule.
    Rejected,
    /// It threw, timed out or returned what cannot be read.
    Failed,
    /// It was not called: its own act led here, the chain is too deep, or its plugin is gone.
    Skipped,
    /// The turn was cancelled while it ran.
    Cancelled,
}
names!(Outcome {
    Unchanged = "unchanged",
    Changed = "changed",
    Aborted = "aborted",
    Filtered = "filtered",
    Rejected = "rejected",
    Failed = "failed",
    Skipped = "skipped",
    Cancelled = "cancelled",
});
