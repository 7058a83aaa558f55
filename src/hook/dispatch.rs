//! The one dispatcher: order, replacement, deadlines, what failing means, notes and trace, for every moment alike.
//!
//! A dispatcher is a turn's frozen set of handlers. It never inspects a payload; what a reply may do is the moment's
//! own rule. Where nobody listens, firing costs a look into a table.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::hook::breaker::Breaker;
use crate::hook::context::Context;
use crate::hook::handler::{Group, HOST, Handler, Plugin, Registration};
use crate::hook::judge::{Call, Verdict};
use crate::hook::moment::Moment;
use crate::hook::table::{EVENTS, List, Run};

/// The handlers of one turn.
#[derive(Default)]
pub struct Dispatcher {
    /// By place in the table; empty for a dispatcher without handlers.
    slots: Vec<Vec<Slot>>,
    pub(crate) breaker: Arc<Breaker>,
    /// Plugins whose absence was noted.
    gone: Mutex<HashSet<Arc<str>>>,
}

/// One registration.
pub(crate) struct Slot {
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) registration: usize,
    group: Group,
}

/// A moment after its handlers ran.
#[derive(Clone, Debug)]
#[must_use]
pub struct Fired<M> {
    /// The payload as the handlers left it.
    pub payload: M,
    /// Who blocked it; always none where the moment cannot block.
    pub abort: Option<Abort>,
    /// The plugins that changed the payload, in order, each once.
    pub changed_by: Vec<Plugin>,
    /// What was left out of replies without refusing the rest, one line each.
    pub ignored: Vec<String>,
}

impl<M> Fired<M> {
    fn untouched(payload: M) -> Self {
        Self { payload, abort: None, changed_by: Vec::new(), ignored: Vec::new() }
    }
}

/// A guard's refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abort {
    /// Whose guard.
    pub plugin: Plugin,
    /// Why, in its words, or how it failed.
    pub reason: String,
    /// Whether the guard meant it, or failed and therefore blocks.
    pub cause: Cause,
}

/// What made a guard block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Its own decision.
    Decided,
    /// It failed, and a guard that fails blocks.
    Failed,
    /// The turn was cancelled before it could decide.
    Cancelled,
}

impl Dispatcher {
    /// A set of handlers in load order. The host's own (of the plugin [`HOST`]) come first within an event's group.
    pub fn new(handlers: Vec<Arc<dyn Handler>>, breaker: Arc<Breaker>) -> Self {
        let mut slots: Vec<Vec<Slot>> = EVENTS.iter().map(|_| Vec::new()).collect();
        for handler in handlers {
            for (registration, Registration { row, group, .. }) in handler.registrations().iter().enumerate()
            {
                let place = EVENTS.iter().position(|known| std::ptr::eq(known, *row));
                if let Some(slots) = place.and_then(|place| slots.get_mut(place)) {
                    slots.push(Slot { handler: handler.clone(), registration, group: *group });
                }
            }
        }
        for (slots, row) in slots.iter_mut().zip(EVENTS) {
            if row.list == List::Event {
                slots.sort_by_key(|slot| (slot.group, &*slot.handler.plugin().dir != HOST));
            }
        }
        Self { slots, breaker, gone: Mutex::default() }
    }

    /// No handlers.
    pub fn none() -> Self {
        Self::default()
    }

    /// Whether anyone listens for `M`, and its payload is worth putting together.
    pub fn has<M: Moment>(&self) -> bool {
        !self.slots::<M>().is_empty()
    }

    /// Runs the handlers of a moment.
    pub async fn fire<M: Moment>(&self, cx: &Context, payload: M) -> Fired<M> {
        if !self.has::<M>() {
            return Fired::untouched(payload);
        }
        match M::ROW.run {
            Run::Sequential => self.one_by_one(cx, payload).await,
            Run::Parallel => self.at_once(cx, payload).await,
        }
    }

    fn slots<M: Moment>(&self) -> &[Slot] {
        self.slots.get(M::PLACE).map_or(&[], Vec::as_slice)
    }

    async fn one_by_one<M: Moment>(&self, cx: &Context, payload: M) -> Fired<M> {
        let mut fired = Fired::untouched(payload);
        for slot in self.slots::<M>() {
            match Call::new(self, slot, cx, M::ROW).judge(&fired.payload).await {
                Verdict::Stands { ignored } => fired.ignored.extend(ignored),
                Verdict::Changed { payload, ignored } => {
                    fired.payload = payload;
                    fired.ignored.extend(ignored);
                    let plugin = slot.handler.plugin();
                    if !fired.changed_by.contains(plugin) {
                        fired.changed_by.push(plugin.clone());
                    }
                }
                Verdict::Blocks { reason, cause } => {
                    let plugin = slot.handler.plugin().clone();
                    fired.abort = Some(Abort { plugin, reason, cause });
                    break;
                }
            }
        }
        fired
    }

    /// It has happened already: what the handlers return means nothing.
    async fn at_once<M: Moment>(&self, cx: &Context, payload: M) -> Fired<M> {
        let calls = self.slots::<M>().iter().map(|slot| Call::new(self, slot, cx, M::ROW).watch(&payload));
        futures_util::future::join_all(calls).await;
        Fired::untouched(payload)
    }

    /// Whether this is the first time a plugin turned out to be gone.
    pub(crate) fn first_gone(&self, plugin: &Plugin) -> bool {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).insert(plugin.dir.clone())
    }
}
